import type { AssayClient } from '../client/assay-client.js'
import { AssayError } from '../client/assay-error.js'
import type { Spent, Verification } from '../client/wire-shapes.js'
import type { Json } from '../core/json.js'
import type { Terminal } from './terminal.js'

/** What a gate said of an output that it was shown to learn just that. */
export type Trial<Case> = {
  readonly case: Case
  /** Absent where the server would not even take the output. */
  readonly runId?: string
  /** Absent where nobody could judge. */
  readonly judged?: Verification
  /** Why nobody could, as codes. */
  readonly faults: readonly string[]
  readonly spent: Pick<Spent, 'tokens' | 'costUsd'>
}

const AT_ONCE = 4
const NOTHING = { tokens: 0, costUsd: 0 }

/** Puts outputs to a gate, a few at a time, and waits for what it says. The answers are in the order of the cases. */
export async function holdTrials<Case extends { readonly output: Json }>(
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

async function holdTrial<Case extends { readonly output: Json }>(
  client: AssayClient,
  gateId: string,
  one: Case,
): Promise<Trial<Case>> {
  const runId = await begun(client, gateId, one.output)
  if (runId === undefined) return { case: one, faults: ['payload_too_large'], spent: NOTHING }
  const faults: string[] = []
  for await (const { type, payload } of client.followEvents(runId)) {
    const { fault } = Object(payload) as { fault?: unknown }
    if (type === 'assay.verifier.ended' && typeof fault === 'string') faults.push(fault)
  }
  const { error, assay } = await client.getRun(runId)
  const spent = assay?.spend ?? NOTHING
  const [first] = (await client.listVerifications(runId)).verifications
  if (first !== undefined)
    return { case: one, runId, judged: await client.getVerification(runId, first.n), faults, spent }
  return { case: one, runId, faults: error === undefined ? faults : [...faults, error.code], spent }
}

/** One output that is too large for the server says nothing against the others. */
async function begun(client: AssayClient, gateId: string, output: Json): Promise<string | undefined> {
  try {
    return (await client.tryGate(gateId, output)).runId
  } catch (error) {
    if (error instanceof AssayError && error.code === 'payload_too_large') return undefined
    throw error
  }
}

export const passes = ({ verdict }: Pick<Verification, 'verdict'>): boolean => verdict !== 'fail'

export const failedIn = ({ criteria }: Verification): string[] =>
  criteria.flatMap(({ dimension, passed }) => (passed ? [] : [dimension]))

export const spentOn = (trials: readonly Pick<Trial<unknown>, 'spent'>[]): Trial<unknown>['spent'] =>
  trials.reduce(
    (sum, { spent }) => ({ tokens: sum.tokens + spent.tokens, costUsd: sum.costUsd + spent.costUsd }),
    NOTHING,
  )

/** Outputs that nobody could judge are neither good nor bad. */
export type Unjudged = { readonly count: number; readonly faults: { readonly [code: string]: number } }

export function unjudgedIn(trials: readonly Trial<unknown>[]): Unjudged {
  const missing = trials.filter(({ judged }) => judged === undefined)
  const faults: { [code: string]: number } = {}
  for (const code of missing.flatMap(trial => (trial.faults.length > 0 ? [...new Set(trial.faults)] : ['no_quorum'])))
    faults[code] = (faults[code] ?? 0) + 1
  return { count: missing.length, faults }
}
