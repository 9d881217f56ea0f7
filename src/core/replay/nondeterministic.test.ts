import { expect, test } from 'vitest'
import { Scenario } from '../../testing/given-when-then.js'
import { LIMITS } from '../../testing/limits.js'
import { sketch } from '../../testing/workflow.js'
import type { Rules } from '../run/decide.js'
import type { Recorded } from '../run/events.js'
import { Closed } from '../schema/kinds.js'
import { compile, isPlan } from '../workflow/compile.js'
import { completed, type NodeType } from '../workflow/node-type.js'
import { coreNodeTypes } from '../workflow/nodes/registry.js'
import { Replay } from './decide.js'
import type { Fork } from './events.js'

/** Brings something else each time. */
function counting(): NodeType {
  let n = 0
  return {
    typeId: 'test.count',
    about: '',
    config: Closed({}),
    start: () => {
      n += 1
      return completed({ n }, [{ kind: 'variable', name: 'n', value: n }])
    },
  }
}

function rulesWith(config: { readonly nondeterministic?: boolean }): Rules {
  const nodeTypes = new Map([...coreNodeTypes, counting()].map(type => [type.typeId, type]))
  const nodes = { a: { type: 'test.count', config }, b: 'core.noop' }
  const plan = compile(sketch({ nodes, edges: ['a > b'] }), 'digest', { nodeTypes, capabilities: new Set() })
  if (!isPlan(plan)) throw new Error(plan.message)
  return { plan, limits: LIMITS, capabilities: new Set() }
}

function replayed(run: Scenario): Recorded[] {
  const fork: Fork = { sourceRunId: 'run-1', fromSeq: 0, mode: 'replay', sourceLength: run.log.length }
  const replay = new Replay(run.rules, { phase: 'absent', fork }, fork, 'run-2', run.log)
  const told: Recorded[] = []
  for (let events = replay.next(); events !== undefined; events = replay.next()) told.push(...events)
  return told
}

const said = ({ type, payload }: Recorded) => JSON.stringify([type, payload])

test('R-REPLAY-15 R-REPLAY-6: a node that is not deterministic brings in a replay what it brought then, state included', () => {
  const run = new Scenario(rulesWith({ nondeterministic: true })).start()
  expect(replayed(run).slice(1).map(said)).toEqual(run.log.slice(1).map(said))
})

test('R-REPLAY-10: without the mark what it brings now is told, and that it differs', () => {
  const run = new Scenario(rulesWith({})).start()
  const told = replayed(run)
  expect(told.map(({ type }) => type)).toContain('replay.diverged')
  expect(told.find(({ type }) => type === 'node.completed')?.payload).toEqual({ nodeId: 'a', outputs: { n: 2 } })
})

test('R-REPLAY-15: any node may say so, in true and false', () => {
  expect(() => rulesWith({ nondeterministic: 'yes' as never })).toThrow('config.nondeterministic must be true or false')
  expect(() => rulesWith({ nondeterministic: false })).not.toThrow()
})
