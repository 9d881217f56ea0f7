import { JUDGE_WORKFLOW } from '../core/workflow/nodes/judge.js'
import type { Clock } from '../engine/ports/clock.js'
import type { VerdictRow } from '../engine/ports/run-index.js'
import type { Store } from '../engine/ports/store.js'
import type { Records } from '../engine/ports/verification.js'
import { Lru } from '../lru.js'
import { effectiveVotes } from './agreement.js'
import { casesOf, type Digest, digestOf, type Entry, type LabelledCase, type Truth } from './labels.js'
import { trackRecordOf } from './licence.js'
import { ballotsOf } from './report.js'

/** The latest verdicts say how good the judges are now. */
const LATEST = 500
const FRESH_MS = 5_000
const READ_AT_ONCE = 20
const KEPT_GATES = 200

type Standing = Awaited<ReturnType<Records['standing']>>
type Known = { readonly standing: Promise<Standing>; readonly readAt: number }

/** The record of a verdict, by where the verdict is in which log; undefined when there is none. */
export type ReadRecord = (runId: string, sequence: number) => Promise<Omit<Entry, 'runId'> | undefined>

/** What a gate said of a planted output; undefined while it has said nothing, or where nothing was planted. */
export type ReadTrial = (runId: string) => Promise<(Omit<Entry, 'runId'> & { readonly truth: Truth }) | undefined>

/** The tag of a trial whose output is known to be good or bad. */
export const plantedTag = (gateId: string): string => `planted:${gateId}`

/** Verdicts never change, so each is read once and only what has come since is read again. */
export function createRecords({
  store,
  clock,
  readRecord,
  readTrial,
}: {
  readonly store: Pick<Store, 'listVerdicts' | 'listRuns'>
  readonly clock: Clock
  readonly readRecord: ReadRecord
  readonly readTrial: ReadTrial
}): Records {
  const known = new Lru<Known>(KEPT_GATES)
  const digests = new Lru<Kept>(KEPT_GATES)

  async function read(name: string, tenant: string, gateId: string, gateHash: string): Promise<Standing> {
    const rows = await store.listVerdicts({ tenant, gateId, limit: LATEST })
    const runs = await store.listRuns({ tenant, workflowId: JUDGE_WORKFLOW, tag: plantedTag(gateId), limit: LATEST })
    const before = digests.get(name)
    const kept: Kept = {
      work: await readAll(rows, keyOf, before?.work, digestAt),
      trials: await readAll(runs, ({ runId }) => runId, before?.trials, trialAt),
    }
    digests.set(name, kept)
    return standingOf(kept, gateHash)
  }

  async function digestAt({ runId, sequence }: VerdictRow): Promise<Digest | undefined> {
    const entry = await readRecord(runId, sequence)
    return entry && digestOf({ runId, ...entry })
  }

  async function trialAt({ runId }: { readonly runId: string }): Promise<PlantedDigest | undefined> {
    const trial = await readTrial(runId)
    return trial && { digest: digestOf({ runId, ...trial }), truth: trial.truth }
  }

  return {
    async standing(tenant, gateId, gateHash) {
      const name = `${tenant}\0${gateId}\0${gateHash}`
      const now = clock.monotonic()
      const latest = known.get(name)
      if (latest && now - latest.readAt < FRESH_MS) return latest.standing
      const standing = read(name, tenant, gateId, gateHash)
      known.set(name, { standing, readAt: now })
      try {
        return await standing
      } catch (error) {
        if (known.get(name)?.standing === standing) known.delete(name)
        throw error
      }
    },
  }
}

type PlantedDigest = { readonly digest: Digest; readonly truth: Truth }
type Kept = {
  readonly work: ReadonlyMap<string, Digest>
  readonly trials: ReadonlyMap<string, PlantedDigest>
}

/** A few at a time; what was read before is not read again. */
async function readAll<Row, T>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  before: ReadonlyMap<string, T> | undefined,
  read: (row: Row) => Promise<T | undefined>,
): Promise<ReadonlyMap<string, T>> {
  const kept = new Map<string, T>()
  for (let from = 0; from < rows.length; from += READ_AT_ONCE) {
    const some = rows.slice(from, from + READ_AT_ONCE)
    const found = await Promise.all(some.map(async row => ({ row, is: before?.get(nameOf(row)) ?? (await read(row)) })))
    for (const { row, is } of found) if (is !== undefined) kept.set(nameOf(row), is)
  }
  return kept
}

/**
 * A licence is for the gate as it is: other criteria, another model or another prompt of a verifier have to earn their
 * own. Who judges now is who judged last.
 */
function standingOf({ work, trials }: Kept, gateHash: string): Standing {
  const isOfGate = ({ question }: Digest) => question.startsWith(`${gateHash} `)
  // The store tells the newest first.
  const judged = [...work.values()].filter(isOfGate).toReversed()
  const planted = [...trials.values()].filter(({ digest }) => isOfGate(digest)).toReversed()
  const judges = new Map<string, string>()
  for (const digest of [...judged, ...planted.map(one => one.digest)].sort((a, b) => a.at - b.at))
    for (const [agentId, judge] of digest.judges) judges.set(agentId, judge)
  const isByThem = (digest: Digest) => [...digest.judges].every(([agentId, judge]) => judges.get(agentId) === judge)
  const ours = casesOf(
    judged.filter(isByThem),
    planted.filter(({ digest }) => isByThem(digest)),
  )
  const cases = onePerQuestion(ours)
  const votes = effectiveVotes(ballotsOf(cases))
  return {
    ...trackRecordOf(cases),
    judges: Object.fromEntries(judges),
    ...(votes === undefined ? {} : { effectiveVotes: votes.value }),
  }
}

/** A result that was judged again, in a replay or a branch for one, shows nothing new about its judges. */
function onePerQuestion(cases: readonly LabelledCase[]): readonly LabelledCase[] {
  const kept = new Map<string, LabelledCase>()
  for (const one of cases) {
    const { question } = one.digest
    // One of which the truth is known says more than one of which it is not.
    if (one.label !== undefined || kept.get(question)?.label === undefined) kept.set(question, one)
  }
  return [...kept.values()]
}

const keyOf = ({ runId, sequence }: VerdictRow): string => `${runId} ${sequence}`
