import type { Clock } from '../engine/ports/clock.js'
import type { VerdictRow } from '../engine/ports/run-index.js'
import type { Store } from '../engine/ports/store.js'
import type { Records } from '../engine/ports/verification.js'
import { Lru } from '../lru.js'
import { effectiveVotes } from './agreement.js'
import { casesOf, type Digest, digestOf, type Entry, type LabelledCase } from './labels.js'
import { trackRecordOf } from './licence.js'

/** The latest verdicts say how good the judges are now. */
const LATEST = 500
const FRESH_MS = 5_000
const READ_AT_ONCE = 20
const KEPT_GATES = 200

type Standing = Awaited<ReturnType<Records['standing']>>
type Known = { readonly standing: Promise<Standing>; readonly readAt: number }

/** The record of a verdict, by where the verdict is in which log; undefined when there is none. */
export type ReadRecord = (runId: string, sequence: number) => Promise<Omit<Entry, 'runId'> | undefined>

/** Verdicts never change, so each is read once and only what has come since is read again. */
export function createRecords({
  store,
  clock,
  readRecord,
}: {
  readonly store: Pick<Store, 'listVerdicts'>
  readonly clock: Clock
  readonly readRecord: ReadRecord
}): Records {
  const known = new Lru<Known>(KEPT_GATES)
  const digests = new Lru<ReadonlyMap<string, Digest>>(KEPT_GATES)

  async function read(name: string, tenant: string, gateId: string, gateHash: string): Promise<Standing> {
    const rows = await store.listVerdicts({ tenant, gateId, limit: LATEST })
    const read = digests.get(name)
    const kept = new Map<string, Digest>()
    for (let from = 0; from < rows.length; from += READ_AT_ONCE) {
      const some = rows.slice(from, from + READ_AT_ONCE)
      const found = await Promise.all(
        some.map(async row => ({ key: keyOf(row), digest: read?.get(keyOf(row)) ?? (await digestAt(row)) })),
      )
      for (const { key, digest } of found) if (digest !== undefined) kept.set(key, digest)
    }
    digests.set(name, kept)
    // A licence is for the gate as it was: other criteria, or other verifiers, have to earn their own.
    const earned = [...kept.values()].filter(({ question }) => question.startsWith(`${gateHash} `))
    const cases = onePerQuestion(casesOf(earned.toReversed()))
    const votes = effectiveVotes(cases.map(({ digest }) => digest.votes))
    return { ...trackRecordOf(cases), ...(votes === undefined ? {} : { effectiveVotes: votes }) }
  }

  async function digestAt({ runId, sequence }: VerdictRow): Promise<Digest | undefined> {
    const entry = await readRecord(runId, sequence)
    return entry && digestOf({ runId, ...entry })
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
