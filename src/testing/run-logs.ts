import type { JsonObject } from '../core/json.js'
import type { ForkRun } from '../engine/api.js'
import type { Engine } from '../engine/runtime/engine.js'
import type { Rig } from './engine-rig.js'
import { settled } from './manual-clock.js'

/** What is durable of a run, as a test reads it. */

export type ToldRow = { readonly type: string; readonly payload: JsonObject }

export async function logOf({ store }: Rig, runId: string): Promise<ToldRow[]> {
  const rows = await store.readEvents(runId, 0)
  return rows.map(({ type, payload }) => ({ type, payload: JSON.parse(payload) as JsonObject }))
}

/** The run of a test that has one, also when the host that took it on did not live to say its name. */
export async function onlyRun({ store }: Rig): Promise<string> {
  const [run, ...others] = await store.listRuns({ tenant: 't1', limit: 10 })
  if (run === undefined || others.length > 0) throw new Error('there is not exactly one run')
  return run.runId
}

export const payloadsOf = (log: readonly ToldRow[], type: string): JsonObject[] =>
  log.filter(event => event.type === type).map(({ payload }) => payload)

export const spendOf = async (engine: Engine, runId: string) => {
  const state = (await engine.inspect('t1', runId))?.state
  return state === undefined || state.phase === 'absent' ? undefined : state.spend
}

/** What nobody knows the cost of. */
export const heldOf = async (engine: Engine, runId: string) => {
  const state = (await engine.inspect('t1', runId))?.state
  return state === undefined || state.phase === 'absent' ? undefined : state.held
}

/** Branches off and lets everything that can happen at once happen. */
export async function branchOf(engine: Engine, fork: Omit<ForkRun, 'tenant' | 'mode'>): Promise<string> {
  const answer = await engine.fork({ tenant: 't1', mode: 'branch', ...fork })
  if (!answer.ok) throw new Error('refusal' in answer ? answer.refusal.message : 'replayed')
  await settled()
  return answer.value.runId
}
