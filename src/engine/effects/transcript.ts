import type { Json } from '../../core/json.js'
import type { TranscriptEvent } from '../ports/performer.js'
import type { EffectContext } from './effect-context.js'

/** R-STATE-5, R-STATE-7: what the log says up to the turn, as readers see it; the same again after a crash. */
export async function readTranscript(
  { store }: Pick<EffectContext, 'store'>,
  runId: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<TranscriptEvent[]> {
  const events = await store.readEvents(runId, from, to - from)
  return events.map(({ sequence, type, nodeId, payload }) => ({
    sequence,
    type,
    ...(nodeId === null ? {} : { nodeId }),
    payload: JSON.parse(payload) as Json,
  }))
}
