import type { RunState } from '../../core/run/state.js'
import { ENGINE_VERSION } from '../../core/run/version.js'
import type { Store } from '../ports/store.js'

/**
 * Names the shape of a state as it is kept. Raised whenever that shape changes, which a test over all recorded histories
 * notices (test/histories/state-shape.test.ts); it has nothing to do with the rules.
 */
export const SNAPSHOT_SCHEMA = '5'

/** Events after which a state is kept again. */
const EVERY = 1_000
/** Larger states are not worth keeping: the log is read instead. */
const MAX_CHARACTERS = 262_144

/** Whether it is time again; `kept` is how long the log was when that was last so. */
export const isTimeToKeep = (state: RunState, kept: number): boolean =>
  state.phase === 'active' && state.next - kept >= EVERY

/** The state as it is kept, unless it is too large for that. */
export function snapshotOf(state: RunState): string | undefined {
  const text = JSON.stringify({ schema: SNAPSHOT_SCHEMA, engine: ENGINE_VERSION, state })
  return text.length > MAX_CHARACTERS ? undefined : text
}

/**
 * The latest kept state of a run that stands for at most `upTo` events. One of another shape, or folded by other rules,
 * is thrown away: the log is read from its beginning.
 */
export async function keptState(store: Store, runId: string, upTo: number): Promise<RunState | undefined> {
  if (upTo < EVERY) return undefined
  const snapshot = await store.readSnapshot(runId, upTo)
  if (!snapshot) return undefined
  const { schema, engine, state } = parsed(snapshot.state)
  return schema === SNAPSHOT_SCHEMA && engine === ENGINE_VERSION ? state : undefined
}

function parsed(text: string): { readonly schema?: string; readonly engine?: string; readonly state?: RunState } {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}
