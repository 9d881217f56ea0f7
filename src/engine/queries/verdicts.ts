import { isObject, type Json } from '../../core/json.js'
import type { AgentVerified, VerifiedSecret } from '../../core/verification/events.js'
import { RESULT_ARTIFACT, type VerificationRecord } from '../../core/verification/record.js'
import type { Store } from '../ports/store.js'
import { decode } from '../log/encode.js'

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

/**
 * A trial whose output was known to be good or bad: what it was, and what its gate said of it. Where nobody could check
 * it the gate has said nothing, neither for it nor against it.
 */
export const readTrialIn = (store: Pick<Store, 'readEvents'>) => async (runId: string) => {
  const events = (await store.readEvents(runId, 0, TRIAL_EVENTS)).map(row => decode(runId, row))
  const started = events.find(event => event.type === 'run.started')
  const found = events.find(
    event => event.type === 'artifact.created' && event.payload.artifactType === RESULT_ARTIFACT,
  )
  if (started?.type !== 'run.started' || found?.type !== 'artifact.created' || !found.secret) return undefined
  const truth = truthIn(started.payload.inputs.planted)
  if (truth === undefined) return undefined
  const record = found.secret.content as unknown as VerificationRecord
  if (record.verdict === 'could_not_check') return undefined
  const told = { gateId: record.gateId, attempt: record.attempt, resultHash: record.resultHash, at: found.at }
  const verdict = record.verdict === 'fail' ? ('fail' as const) : ('pass' as const)
  return { record, truth, verified: { agentId: `host:gate:${record.gateId}`, target: record.target, verdict, ...told } }
}

/** More than a trial with nine verifiers that are each asked again twice has. */
const TRIAL_EVENTS = 1_000

const truthIn = (planted: Json | undefined): 'good' | 'bad' | undefined => {
  const truth = isObject(planted) ? planted.truth : undefined
  return truth === 'good' || truth === 'bad' ? truth : undefined
}

async function eventAt(store: Pick<Store, 'readEvents'>, runId: string, sequence: number) {
  const [row] = await store.readEvents(runId, sequence, 1)
  return row && decode(runId, row)
}
