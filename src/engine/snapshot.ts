import type { RunState } from '../core/run/state.js'
import { ENGINE_VERSION } from '../core/run/version.js'
import type { Store } from './ports.js'

/** Events after which a state is kept again. */
const EVERY = 1_000
/** Larger states are not worth keeping: the log is read instead. */
const MAX_CHARACTERS = 262_144

/** Whether it is time again; `kept` is how long the log was when that was last so. */
export const isTimeToKeep = (state: RunState, kept: number): boolean =>
  state.phase === 'active' && state.next - kept >= EVERY

/** The state as it is kept, unless it is too large for that. */
export function snapshotOf(state: RunState): string | undefined {
  const text = JSON.stringify({ engine: ENGINE_VERSION, state })
  return text.length > MAX_CHARACTERS ? undefined : text
}

/** The latest kept state of a run that stands for at most `upTo` events; undefined when today's rules cannot go by it. */
export async function keptState(store: Store, runId: string, upTo: number): Promise<RunState | undefined> {
  if (upTo < EVERY) return undefined
  const snapshot = await store.readSnapshot(runId, upTo)
  if (!snapshot) return undefined
  const { engine, state } = JSON.parse(snapshot.state) as { engine: string; state: RunState }
  return engine === ENGINE_VERSION ? state : undefined
}
