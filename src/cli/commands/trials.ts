import { NO_TRIAL_COST, type Trial } from '../../calibration/trials.js'
import type { AssayClient } from '../../client/assay-client.js'
import { AssayError } from '../../client/assay-error.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Terminal } from '../terminal/terminal.js'

const AT_ONCE = 4

/** `truth`: what it is known to be, where what the gate says is to count for it. `context`: its sources, by entry. */
type Tried = { readonly output: Json; readonly context?: JsonObject; readonly truth?: 'good' | 'bad' }

/** Puts outputs to a gate, a few at a time, and waits for what it says. The answers are in the order of the cases. */
export async function holdTrials<Case extends Tried>(
  terminal: Pick<Terminal, 'draw' | 'isLive'>,
  client: AssayClient,
  gateId: string,
  cases: readonly Case[],
): Promise<Trial<Case>[]> {
  const trials: Trial<Case>[] = []
  let [next, ended] = [0, 0]
  const show = () => {
    if (terminal.isLive) terminal.draw(`\r${ended} of ${cases.length} judged${ended === cases.length ? '\n' : ''}`)
  }
  const judge = async () => {
    while (next < cases.length) {
      const i = next
      next += 1
      trials[i] = await holdTrial(client, gateId, cases[i]!)
      ended += 1
      show()
    }
  }
  show()
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, judge))
  } finally {
    // Where one could not be held, no more are begun.
    next = cases.length
  }
  return trials
}

async function holdTrial<Case extends Tried>(client: AssayClient, gateId: string, one: Case): Promise<Trial<Case>> {
  const runId = await begun(client, gateId, one)
  if (runId === undefined) return { case: one, faults: ['payload_too_large'], spent: NO_TRIAL_COST }
  const faults: string[] = []
  for await (const { type, payload } of client.followEvents(runId)) {
    const { fault } = Object(payload) as { fault?: unknown }
    if (type === 'assay.verifier.ended' && typeof fault === 'string') faults.push(fault)
  }
  const { error, assay } = await client.getRun(runId)
  const spent = assay?.spend ?? NO_TRIAL_COST
  const [first] = (await client.listVerifications(runId)).verifications
  if (first !== undefined) {
    const { verdict, ...judged } = await client.getVerification(runId, first.n)
    if (verdict !== 'could_not_check') return { case: one, runId, judged: { ...judged, verdict }, faults, spent }
  }
  return { case: one, runId, faults: error === undefined ? faults : [...faults, error.code], spent }
}

/** One output that is too large for the server says nothing against the others. */
async function begun(client: AssayClient, gateId: string, { output, ...given }: Tried): Promise<string | undefined> {
  const { context, truth } = given
  try {
    return (await client.tryGate(gateId, output, { ...(context && { context }), ...(truth && { truth }) })).runId
  } catch (error) {
    if (error instanceof AssayError && error.code === 'payload_too_large') return undefined
    throw error
  }
}
