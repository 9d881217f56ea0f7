import { setImmediate } from 'node:timers/promises'
import type { AuditAdmin, AuditAnomaly, AuditPlace, AuditRange, AuditReport } from '../engine/api.js'
import type { Checkpoint, SealedRun } from '../engine/ports/audit.js'
import type { RunRow } from '../engine/ports/run-index.js'
import type { Store } from '../engine/ports/store.js'
import { follows, isUnchanged, judgeSignature } from './checkpoint.js'
import type { TrustedKeys } from './signing-key.js'
import type { Walk } from './verify-log.js'
import { isVerdict, type RunVerdict, verifyPart } from './verify-run.js'

/** Reads only. */
export type AuditedStore = Pick<
  Store,
  | 'readEvents'
  | 'readRun'
  | 'readPurged'
  | 'readErasure'
  | 'listRuns'
  | 'listCheckpoints'
  | 'latestCheckpoint'
  | 'readGateRows'
  | 'getDefinition'
>

type VerifierDeps = {
  readonly store: AuditedStore
  /** Asked at every verification, so that a key that is added counts at once. */
  readonly keys: () => Promise<TrustedKeys>
}

/** What was looked at, and what is wrong with it. */
export type Integrity = {
  runs: number
  events: number
  /** Events that were written before logs were chained: nothing can be said of them. */
  older: number
  /** Runs whose time was over: their rows are gone, or may go, and a checkpoint says so. */
  purged: number
  /** Runs whose content was erased with their tenant's: what is left of them is as it was written. */
  erased: number
  /** Events among theirs that are older than salted digests: only the links that follow tell of them. */
  unproven: number
  checkpoints: number
  /** Valid ones. */
  signatures: number
  readonly anomalies: AuditAnomaly[]
}

/** A checkpoint names up to 500 runs. */
const CHECKPOINT_PAGE = 20
const RUN_PAGE = 500
const REMEMBERED_CHECKPOINTS = 32

/** Events that one slice follows at most; a run that is looked up, or a few that a checkpoint lists, cost as much as one. */
const SLICE = 5_000
const RUNS_HASHED = 10

/** What is left to do in one slice, in which runs of a tenant alone are followed, and to whom checkpoints are shown. */
type Slice = {
  readonly place: AuditPlace
  readonly work: number
  readonly tenant?: string | undefined
  readonly show?: (checkpoint: Checkpoint) => void
}
type Part = { readonly tenant: string | undefined; readonly from: Walk | undefined; readonly work: number }

/**
 * Checks logs against their chain, the chain's ends against signed checkpoints, and what the store keeps of gates against
 * the logs. What only a chain vouches for can
 * be rewritten by whoever may write to the database; what a checkpoint vouches for cannot without the signing key.
 */
export class AuditVerifier implements AuditAdmin {
  constructor(private readonly deps: VerifierDeps) {}

  async verify({ from, to, tenant, place }: AuditRange): Promise<AuditReport> {
    const newest = (await this.deps.store.latestCheckpoint())?.seq ?? -1
    const toSeq = place?.to ?? to ?? Math.max(from, newest)
    const checkpoints: AuditReport['checkpoints'][number][] = []
    const found = nothing()
    const show = (checkpoint: Checkpoint) => {
      const { runs: _runs, purged: _purged, ...shown } = checkpoint
      checkpoints.push(shown)
    }
    // What is not there yet is not missing.
    const slice = { place: place ?? { seq: from, run: 0, to: toSeq }, work: SLICE, tenant, show }
    const next = await this.#verifyCheckpoints(slice, Math.min(toSeq, newest), found)
    const { anomalies } = found
    return {
      fromSeq: place?.seq ?? from,
      toSeq,
      chainValid: !anomalies.some(({ kind }) => !BESIDE_THE_CHAIN.has(kind)),
      checkpointsValid: found.signatures === checkpoints.length,
      checkpoints,
      anomalies,
      ...(next && { next }),
    }
  }

  /** These runs, each against the checkpoint that covers it, if one does. */
  async verifyRuns(runIds: readonly string[]): Promise<Integrity> {
    const found = nothing()
    const checkpointOf = this.#rememberingCheckpoints()
    const counted = new Set<number>()
    for (const runId of runIds) {
      const row = await this.deps.store.readRun(null, runId)
      if (row === undefined) {
        const isPurged = (await this.deps.store.readPurged(null, runId)) !== undefined
        const message = isPurged ? await this.#whyGone(runId, undefined) : 'there is no such run'
        if (message === undefined) found.purged += 1
        else found.anomalies.push({ kind: 'run-missing', runId, message })
        continue
      }
      const checkpoint = await checkpointOf(row.checkpoint)
      if (checkpoint !== undefined && !counted.has(checkpoint.seq)) {
        counted.add(checkpoint.seq)
        judgeCheckpoint(found, checkpoint, await this.deps.keys())
      }
      await this.#verifyRow(found, row, checkpoint)
    }
    return found
  }

  /** All checkpoints, the runs they cover, and then the runs that none covers. */
  async verifyAll(): Promise<Integrity> {
    const found = nothing()
    const newest = await this.deps.store.latestCheckpoint()
    const everything = { place: { seq: 0, run: 0, to: Number.POSITIVE_INFINITY }, work: Number.POSITIVE_INFINITY }
    if (newest !== undefined) await this.#verifyCheckpoints(everything, newest.seq, found)
    const checkpointOf = this.#rememberingCheckpoints()
    for await (const row of this.#allRuns()) {
      const checkpoint = await checkpointOf(row.checkpoint)
      // Those that are listed were checked above, or have been sealed since.
      if (sealOf(checkpoint, row.runId) === undefined) await this.#verifyRow(found, row, checkpoint)
    }
    return found
  }

  /** From a place on until the range or the slice is over; where to go on, if it was the slice. */
  async #verifyCheckpoints(slice: Slice, to: number, found: Integrity): Promise<AuditPlace | undefined> {
    const { place, tenant, show } = slice
    const keys = await this.deps.keys()
    const missing = (seq: number) =>
      found.anomalies.push(ofCheckpoint('checkpoint-missing', seq, `checkpoint ${seq} is missing`))
    let before = await this.#checkpoint(place.seq - 1)
    let next = place.seq
    let { work } = slice
    for await (const checkpoint of this.#checkpoints(
      next,
      to,
      work === Number.POSITIVE_INFINITY ? CHECKPOINT_PAGE : 1,
    )) {
      const { seq, runs } = checkpoint
      // What was said of a checkpoint in the slice before is not said again.
      const isBegun = seq === place.seq && (place.run > 0 || place.walk !== undefined)
      if (!isBegun) {
        if (seq > next) missing(next)
        else if (next > 0 && before === undefined) missing(next - 1)
        else if (!follows(before, checkpoint)) {
          const message = `checkpoint ${next} does not follow the one before it`
          found.anomalies.push(ofCheckpoint('checkpoint-changed', next, message))
        }
        show?.(checkpoint)
      }
      const isWhole = isBegun ? isUnchanged(checkpoint) : judgeCheckpoint(found, checkpoint, keys)
      work -= 1 + Math.ceil(runs.length / RUNS_HASHED)
      for (let run = isBegun ? place.run : 0; run < runs.length; run += 1) {
        if (work <= 0) return { seq, run, to: place.to }
        const { runId, ...sealed } = runs[run] as SealedRun
        const from = isBegun && run === place.run ? place.walk : undefined
        // What a changed checkpoint says of its runs is no evidence against them.
        const part = await this.#verifyCovered(found, runId, seq, isWhole ? sealed : undefined, { tenant, from, work })
        work -= part.work
        if (part.walk) return { seq, run, to: place.to, walk: part.walk }
        if (run % 100 === 99) await setImmediate()
      }
      before = checkpoint
      next = seq + 1
      if (work <= 0 && next <= to) return { seq: next, run: 0, to: place.to }
    }
    if (next <= to) missing(next)
    return undefined
  }

  async #verifyCovered(
    found: Integrity,
    runId: string,
    checkpoint: number,
    sealed: Omit<SealedRun, 'runId'> | undefined,
    { tenant, from, work = Number.POSITIVE_INFINITY }: Partial<Part> = {},
  ): Promise<{ readonly work: number; readonly walk?: Walk }> {
    const { store } = this.deps
    const row = await store.readRun(null, runId)
    if (row === undefined) {
      const message = await this.#whyGone(runId, sealed)
      if (message === undefined) found.purged += 1
      else found.anomalies.push({ kind: 'run-missing', checkpoint, runId, message })
      return { work: 1 }
    }
    if (tenant !== undefined && row.tenant !== tenant) return { work: 1 }
    const result = await verifyPart(this.deps, row, sealed, { atMost: work, ...(from && { from }) })
    if (!isVerdict(result)) return { work: result.next - (from?.next ?? 0), walk: result }
    enter(found, runId, checkpoint, result)
    return { work: 1 + result.events - (from?.next ?? 0) }
  }

  /** What is wrong with a run that cannot be found; nothing, if a checkpoint tells that it was purged as it was sealed. */
  async #whyGone(runId: string, sealed: Omit<SealedRun, 'runId'> | undefined): Promise<string | undefined> {
    const { store } = this.deps
    const purged = await store.readPurged(null, runId)
    if (purged === undefined) return 'the run is gone'
    if (sealed && (purged.length !== sealed.length || purged.head !== sealed.head))
      return 'the record of its purge is not as the run was sealed'
    if (purged.checkpoint === null) {
      // Between the mark and the checkpoint nothing is deleted.
      const [last] = await store.readEvents(runId, purged.length - 1, 1)
      return last?.hash === purged.head ? undefined : 'the run is gone, and no checkpoint tells that it was purged'
    }
    const checkpoint = await this.#checkpoint(purged.checkpoint)
    const isTold = checkpoint?.purged.some(one => one.runId === runId && one.head === purged.head)
    return isTold ? undefined : `checkpoint ${purged.checkpoint}, which should tell of its purge, does not`
  }

  /** A run by its row, which may claim a checkpoint that knows nothing of it. */
  async #verifyRow(found: Integrity, row: RunRow, checkpoint: Checkpoint | undefined): Promise<void> {
    const { runId } = row
    const seal = sealOf(checkpoint, runId)
    if (checkpoint !== undefined && seal !== undefined) {
      await this.#verifyCovered(found, runId, checkpoint.seq, isUnchanged(checkpoint) ? seal : undefined)
      return
    }
    if (row.checkpoint !== null) {
      const message = `checkpoint ${row.checkpoint}, which should cover the run, does not`
      found.anomalies.push({ ...ofCheckpoint('checkpoint-missing', row.checkpoint, message), runId })
    }
    const result = await verifyPart(this.deps, row, undefined, { atMost: Number.POSITIVE_INFINITY })
    if (isVerdict(result)) enter(found, runId, undefined, result)
  }

  async *#checkpoints(from: number, to: number, atATime: number): AsyncGenerator<Checkpoint> {
    for (let next = from; next <= to; ) {
      const page = await this.deps.store.listCheckpoints(next, Math.min(atATime, to - next + 1))
      const within = page.filter(({ seq }) => seq <= to)
      yield* within
      const last = within.at(-1)
      if (last === undefined) return
      next = last.seq + 1
    }
  }

  async #checkpoint(seq: number): Promise<Checkpoint | undefined> {
    if (seq < 0) return undefined
    const [checkpoint] = await this.deps.store.listCheckpoints(seq, 1)
    return checkpoint?.seq === seq ? checkpoint : undefined
  }

  async *#allRuns(): AsyncGenerator<RunRow> {
    let page = await this.deps.store.listRuns({ tenant: null, limit: RUN_PAGE })
    for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
      yield* page
      page = await this.deps.store.listRuns({ tenant: null, limit: RUN_PAGE, before: last.runId })
    }
  }

  /** Runs that were made together were mostly sealed together, so few checkpoints are read more than once. */
  #rememberingCheckpoints(): (seq: number | null) => Promise<Checkpoint | undefined> {
    const known = new Map<number, Checkpoint | undefined>()
    return async seq => {
      if (seq === null) return undefined
      if (!known.has(seq)) {
        if (known.size >= REMEMBERED_CHECKPOINTS) known.clear()
        known.set(seq, await this.#checkpoint(seq))
      }
      return known.get(seq)
    }
  }
}

/** What says nothing against a log or the order of checkpoints. */
const BESIDE_THE_CHAIN: ReadonlySet<AuditAnomaly['kind']> = new Set([
  'signature-invalid',
  'key-unknown',
  'gate-row-missing',
  'gate-row-changed',
  'gate-row-extra',
  'merge-unverified',
  'definition-missing',
])

const nothing = (): Integrity => ({
  runs: 0,
  events: 0,
  older: 0,
  purged: 0,
  erased: 0,
  unproven: 0,
  checkpoints: 0,
  signatures: 0,
  anomalies: [],
})

const ofCheckpoint = (kind: AuditAnomaly['kind'], checkpoint: number, message: string): AuditAnomaly => ({
  kind,
  checkpoint,
  message,
})

const sealOf = (checkpoint: Checkpoint | undefined, runId: string): SealedRun | undefined =>
  checkpoint?.runs.find(run => run.runId === runId)

/** Counts and judges one checkpoint by itself; true when it says what it said when it was made. */
function judgeCheckpoint(found: Integrity, checkpoint: Checkpoint, keys: TrustedKeys): boolean {
  const { seq, keyId } = checkpoint
  found.checkpoints += 1
  const isWhole = isUnchanged(checkpoint)
  const trouble = judgeSignature(checkpoint, keys)
  if (!isWhole) found.anomalies.push(ofCheckpoint('checkpoint-changed', seq, `checkpoint ${seq} was changed`))
  if (isWhole && trouble === undefined) found.signatures += 1
  if (trouble === 'key-unknown') {
    const message = `checkpoint ${seq} is signed with key ${keyId}, which is not known here`
    found.anomalies.push(ofCheckpoint(trouble, seq, message))
  }
  if (trouble === 'signature-invalid') {
    const message = `checkpoint ${seq} does not bear a signature of key ${keyId}`
    found.anomalies.push(ofCheckpoint(trouble, seq, message))
  }
  return isWhole
}

function enter(found: Integrity, runId: string, checkpoint: number | undefined, verdict: RunVerdict): void {
  found.runs += 1
  found.events += verdict.events
  found.older += verdict.older
  found.erased += Number(verdict.erased > 0)
  found.unproven += verdict.unproven
  for (const anomaly of verdict.anomalies)
    found.anomalies.push({ ...anomaly, ...(checkpoint !== undefined && { checkpoint }), runId })
}
