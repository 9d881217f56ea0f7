import { ENGINE_VERSION } from '../../core/run/version.js'
import type { StreamKindName, StreamState } from '../../core/standing/stream.js'
import type { Store } from '../ports/store.js'

/** Names the shape of a stream's state as it is kept; raised whenever that changes. */
const SCHEMA = '1'
/** Events after which a state is kept again. */
const EVERY = 1_000
/** Larger states are not worth keeping: the log is read instead. */
const MAX_CHARACTERS = 262_144

/** Whether it is time again; `kept` is how long the log was when that was last so. */
export const isTimeToKeepStream = (state: StreamState, kept: number): boolean =>
  state.phase === 'open' && state.next - kept >= EVERY

/** The state as it is kept, unless it is too large for that. */
export function keptText(kind: StreamKindName, state: StreamState): string | undefined {
  const text = JSON.stringify({ schema: nameOf(kind), state })
  return text.length > MAX_CHARACTERS ? undefined : text
}

/** The latest kept state, if it has the shape that is known here; else the log is read from its beginning. */
export async function keptStream<State>(
  store: Pick<Store, 'readSnapshot'>,
  kind: StreamKindName,
  streamId: string,
  upTo: number,
): Promise<State | undefined> {
  if (upTo < EVERY) return undefined
  const snapshot = await store.readSnapshot(streamId, upTo)
  if (!snapshot) return undefined
  const { schema, state } = JSON.parse(snapshot.state) as { schema: string; state: State }
  return schema === nameOf(kind) ? state : undefined
}

const nameOf = (kind: StreamKindName): string => `${kind}.${SCHEMA}.${ENGINE_VERSION}`
