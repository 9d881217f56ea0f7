import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Effect } from '../../../src/core/run/effects.js'
import type { RunInput } from '../../../src/core/run/input.js'
import type { Work } from './moves.js'
import type { Setup } from './setup.js'

export type Input = RunInput extends infer Each ? (Each extends unknown ? Omit<Each, 'now'> : never) : never

type Worked = Extract<Effect, { kind: 'start-child' | 'watch-child' }>

/** A worker that does what it is asked to. */
export const WORK: Work = { do: 'work', pick: 0, start: 'start', watch: 'complete', brings: [], twice: false }

export const childIdOf = ({ since, worker }: Worked, prefix = 'child'): string => `${prefix}-${since}-${worker}`

type World = { readonly setup: Setup; readonly given?: JsonObject; readonly prefix?: string }

/** What the world has to say about work that is owed. */
export function outcomeOf(effect: Worked, move: Work, { setup, given = {}, prefix }: World): Input {
  const { nodeId, since, worker } = effect
  if (effect.kind === 'start-child') {
    const agent = move.agent === undefined ? {} : { agentId: move.agent }
    const childRunId = childIdOf(effect, prefix)
    if (move.start === 'start') return { type: 'ChildStarted', nodeId, since, worker, childRunId, ...agent }
    const error = { code: 'unknown_child_workflow', message: 'there is no such workflow' }
    return { type: 'ChildRefused', nodeId, since, worker, error }
  }
  const { childRunId } = effect
  if (move.watch === 'wait' || move.watch === 'rest') {
    const status = move.watch === 'rest' ? 'running' : move.pick % 2 === 0 ? 'waiting-approval' : 'waiting-input'
    return { type: 'ChildWaits', nodeId, childRunId, status }
  }
  const status = ({ complete: 'completed', fail: 'failed', cancel: 'cancelled' } as const)[move.watch]
  const attested = setup.handing.outputAttestation?.checksum && status === 'completed'
  const checksum = attested ? { checksum: `sum-of-${childRunId}` } : {}
  const error = status === 'failed' && move.pick % 2 === 0 ? { error: { code: 'worker_gave_up', message: 'no' } } : {}
  return { type: 'ChildEnded', nodeId, childRunId, status, ...brought(effect, move, given), ...checksum, ...error }
}

/** `gone` is what no worker has. */
function brought({ wanted }: Extract<Effect, { kind: 'watch-child' }>, { brings }: Work, given: JsonObject) {
  const variables: { [name: string]: Json } = {}
  const hidden: string[] = []
  for (const [i, name] of [...new Set(wanted)].sort().entries()) {
    const one = brings[i] ?? 'given'
    if (name === 'gone' || one === 'nothing') continue
    variables[name] = one === 'given' ? (Object.values(given)[0] ?? 'basis') : one.value
    if (typeof one === 'object' && one.hidden) hidden.push(name)
  }
  return { variables, hidden }
}
