import { describe, expect, it, test } from 'vitest'
import { type Fork, isReplay } from '../../core/replay/events.js'
import { type Effect, nextTimer, pending } from '../../core/run/effects.js'
import type { Active } from '../../core/run/state.js'
import { gateAt, subFlow, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, atWork, says, tool, wants } from '../../testing/invocations.js'
import { begins, loopOf, next, scripted, terminate } from '../../testing/orchestration.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import type { EffectContext } from './effect-context.js'
import { performEffect } from './perform.js'

const READ = tool('mcp:files.read')
const worked = () => works(given(subFlow()).start({}, undefined, [gateAt('a', 'phase_exit')]), 'child-1', { x: 1 })
const atPeer = () => given(scripted([next('peer:beta/x'), terminate])).start()
const handed = () => given(scripted([next('x'), terminate])).start()

/** A run that is owed an effect of each kind; the compiler asks for one of every kind there is. */
const OWED: { readonly [Kind in Exclude<Effect['kind'], 'replay'>]: () => Scenario } = {
  'start-child': handed,
  'watch-child': () => begins(handed(), 'child-0'),
  'cancel-child': () => begins(handed(), 'child-0').when({ type: 'CancelRun', by: 'p' }),
  'start-peer': atPeer,
  'watch-peer': () => begins(atPeer(), 'peer:beta/r1'),
  'cancel-peer': () => begins(atPeer(), 'peer:beta/r1').when({ type: 'CancelRun', by: 'p' }),
  'gather-evidence': worked,
  'call-provider': () => given(loopOf({ prompt: 'lead', provider: 'p' })).start(),
  'check-schema': () =>
    given({
      nodes: { a: { type: 'core.channelWrite', config: { channelName: 'c', value: 1 } } },
      channels: { c: { reducer: 'append', schema: { type: 'string' } } },
    }).start(),
  'prepare-agent': () => given(agentFlow()).start(),
  'call-model': () => atWork(given(agentFlow())),
  'call-tool': () => says(atWork(given(agentFlow()), { tools: [READ] }), wants(READ.toolId)),
  'use-journal': () => given({ nodes: { a: { type: 'core.memoryGet', config: { memoryRef: 'notes' } } } }).start(),
  continue: () => {
    const nodes = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`n${i}`, 'core.noop']))
    return given({ nodes }).start()
  },
}

const REPLAY: Fork = { sourceRunId: 'run-0', fromSeq: 0, mode: 'replay', sourceLength: 1 }
const BRANCH: Fork = { ...REPLAY, mode: 'branch' }

/** Everything an effect could reach: whatever of it is so much as looked at is noted. */
function world() {
  const touched: string[] = []
  const context = new Proxy({} as EffectContext, {
    get: (_target, name) => {
      touched.push(String(name))
      throw new Error('the world')
    },
  })
  return { touched, context }
}

const as = ({ rules, state }: Scenario, fork: Fork): LoadedRun & { readonly state: Active } => {
  if (state.phase !== 'active') throw new Error('the run is over')
  return { runId: 'r', tenant: 't', rules, state: { ...state, fork }, head: '', kept: 0, characters: 0, epoch: 1 }
}

const NEVER = new AbortController().signal

describe.each(Object.entries(OWED))('R-REPLAY-12: %s', (kind, tell) => {
  const run = tell()
  const effect = run.owed.find(owed => owed.kind === kind)

  it('is not owed to a replay, which is owed nothing but to be told', () => {
    expect(effect).toBeDefined()
    const { rules, state } = as(run, REPLAY)
    expect(pending(rules, state)).toEqual([{ kind: 'replay', since: 0, fork: REPLAY }])
  })

  it('is not performed for one even if it were owed: nothing of the world is touched', async () => {
    const { context, touched } = world()
    await expect(performEffect(context, as(run, REPLAY), effect as Effect, NEVER)).rejects.toThrow(kind)
    expect(touched).toEqual([])
  })

  it('is for a branch, which lives on its own', async () => {
    const { context, touched } = world()
    await expect(performEffect(context, as(run, BRANCH), effect as Effect, NEVER)).rejects.toThrow('the world')
    expect(touched).not.toEqual([])
  })
})

test('R-REPLAY-12: no clock wakes a replay', () => {
  const run = given({ nodes: { wait: { type: 'core.delay', config: { ms: 50 } } } }).start()
  const [replay, branch] = [as(run, REPLAY), as(run, BRANCH)]
  expect([isReplay(replay.state), nextTimer(replay.rules, replay.state)]).toEqual([true, Number.POSITIVE_INFINITY])
  expect([isReplay(branch.state), nextTimer(branch.rules, branch.state)]).toEqual([false, run.now + 50])
})
