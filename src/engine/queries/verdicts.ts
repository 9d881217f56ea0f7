import type { AgentVerified, VerifiedSecret } from '../../core/verification/events.js'
import type { VerificationRecord } from '../../core/verification/record.js'
import type { Store } from '../ports/store.js'
import { decode } from '../runtime/encode.js'

/** A verdict and everything that was found, by where the verdict is in which log. */
export const readVerdictIn =
  (store: Pick<Store, 'readEvents'>) =>
  async (
    runId: string,
    sequence: number,
  ): Promise<{ record: VerificationRecord; verified: AgentVerified & VerifiedSecret & { at: number } } | undefined> => {
    const verdict = await eventAt(store, runId, sequence)
    if (verdict?.type !== 'agent.verified' || verdict.secret?.record === undefined) return undefined
    const found = await eventAt(store, runId, verdict.secret.record)
    if (found?.type !== 'artifact.created' || !found.secret) return undefined
    const record = found.secret.content as unknown as VerificationRecord
    return { record, verified: { ...verdict.payload, ...verdict.secret, at: verdict.at } }
  }

async function eventAt(store: Pick<Store, 'readEvents'>, runId: string, sequence: number) {
  const [row] = await store.readEvents(runId, sequence, 1)
  return row && decode(runId, row)
}
