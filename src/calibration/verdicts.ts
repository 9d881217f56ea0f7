import type { VerdictRow } from '../engine/ports/run-index.js'
import type { Store } from '../engine/ports/store.js'
import type { Records, Standards } from '../engine/ports/verification.js'
import type { Entry } from './labels.js'
import type { ReadRecord } from './records.js'
import { type CalibrationReport, calibrate } from './report.js'

type Wanted = { readonly since?: number; readonly limit: number }

/** What gates have said so far, for whoever wants to know how good they are or to ask them again. */
export interface Verdicts {
  /** By the latest verdicts, or those since then. */
  calibration(tenant: string, gateId: string, wanted: Wanted): Promise<Calibration>
  /** Of each result the verdict that holds, newest first. */
  list(tenant: string, gateId: string, wanted: Wanted): Promise<readonly JudgedVerdict[]>
}

/** A verdict, where it stands, and everything about the attempt. */
export type JudgedVerdict = Required<Entry> & { readonly sequence: number }

/** `sharedModel`: attempts in which verifiers that were to be independent ran on one model. */
type Calibration = CalibrationReport & { readonly sharedModel: number }

const READ_AT_ONCE = 20
const UNSHOWN = { n: 0, lower: 0 }

export function createVerdicts({
  store,
  standards,
  records,
  readRecord,
}: {
  readonly store: Pick<Store, 'listVerdicts'>
  readonly standards: Pick<Standards, 'gate'>
  readonly records: Records
  readonly readRecord: ReadRecord
}): Verdicts {
  /** Newest first. A verdict that a person gave before anybody had judged says nothing of the judges. */
  async function* told(tenant: string, gateId: string, wanted: Wanted): AsyncGenerator<JudgedVerdict, void, undefined> {
    const rows = await store.listVerdicts({ tenant, gateId, ...wanted })
    for (let from = 0; from < rows.length; from += READ_AT_ONCE)
      yield* (await Promise.all(rows.slice(from, from + READ_AT_ONCE).map(read))).flat()
  }

  async function read({ runId, sequence }: VerdictRow): Promise<JudgedVerdict[]> {
    const found = await readRecord(runId, sequence)
    return found?.verified ? [{ runId, sequence, record: found.record, verified: found.verified }] : []
  }

  return {
    async calibration(tenant, gateId, wanted) {
      const entries: Entry[] = []
      // What was judged is not looked at here, and a thousand of it would be much to hold.
      for await (const { runId, record, verified } of told(tenant, gateId, wanted))
        entries.push({ runId, record: { ...record, output: null, evidence: [] }, verified })
      const bound = await standards.gate(tenant, gateId)
      const standing = bound && (await records.standing(tenant, gateId, bound.hash))
      return {
        ...calibrate(gateId, entries.toReversed()),
        // A licence is for the gate as it is now; the rest tells of what it has been, too.
        standing: { badStopped: standing?.badStopped ?? UNSHOWN, goodPassed: standing?.goodPassed ?? UNSHOWN },
        sharedModel: latestOf(entries).filter(({ record }) => record.sharedModel).length,
      }
    },

    async list(tenant, gateId, wanted) {
      const found: JudgedVerdict[] = []
      for await (const one of told(tenant, gateId, wanted)) found.push(one)
      return latestOf(found)
    },
  }
}

/** One for each attempt, which comes once more for a person's word on it: the first is kept. */
function latestOf<E extends Entry>(entries: readonly E[]): E[] {
  const seen = new Map<string, E>()
  for (const entry of entries) {
    const { nodeId, workerId, target, attempt, resultHash } = entry.record
    const key = JSON.stringify([entry.runId, nodeId, workerId, target, attempt, resultHash])
    if (!seen.has(key)) seen.set(key, entry)
  }
  return [...seen.values()]
}
