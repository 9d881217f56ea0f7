import { FairQueue, type QueueLoad } from '../timing/fair-queue.js'
import { KILLED, type Killed, PoolWorker } from './pool-worker.js'

export type PoolOptions = {
  /** What the threads run: a compiled module that serves jobs (`serve-jobs.ts`). */
  readonly file: URL
  /** While one worker is held up by a hostile job, the others go on: two at least, one of them for everybody else. */
  readonly size: number
  /** How long one job may keep a worker, in CPU time from when the worker gets it. */
  readonly timeoutMs: number
  /** For what is said when it is closed. */
  readonly name: string
  /** A tenant's turns, in proportion to others'; where absent, all have the same. */
  readonly weightOf?: WeightOf
}

export type WeightOf = (tenant: string) => number

/** Whose the jobs of the host itself are: no tenant has this name. */
const HOST = ''

const BARRED_MS = 10_000

/**
 * Hands jobs to idle workers; workers are started when first needed and replaced when gone.
 *
 *  P1  where jobs wait, tenants take turns (`fair-queue.ts`), however many jobs each has waiting; those of one tenant are in
 *      order of arrival.
 *  P2  no tenant has all the workers: one is left to whoever comes next, however long the jobs of the others take.
 */
export class WorkerPool<Job, Answer> {
  readonly #idle: PoolWorker<Job, Answer>[] = []
  readonly #all = new Set<PoolWorker<Job, Answer>>()
  readonly #places: FairQueue
  readonly #barred = new Set<string>()
  #closed = false

  constructor(private readonly options: PoolOptions) {
    const { size, weightOf = () => 1 } = options
    const atOnce = Math.max(1, size - 1)
    this.#places = new FairQueue(size, name => ({ weight: name === HOST ? 1 : weightOf(name), atOnce }))
  }

  /**
   * `blamed` is what a job that held up a worker is known by: others like it are not begun for a while. `tenant` is for whom
   * it is done; null for the host itself.
   */
  async run(job: Job, blamed: string, tenant: string | null): Promise<Answer | Killed> {
    if (this.#barred.has(blamed)) return KILLED
    const outcome = await this.#places.run(tenant ?? HOST, () => this.#run(job, blamed))
    if (outcome === KILLED) this.#bar(blamed)
    return outcome
  }

  /** For a while what held up a worker is answered at once, so that it cannot hold up everybody else's. */
  #bar(blamed: string): void {
    this.#barred.add(blamed)
    setTimeout(() => this.#barred.delete(blamed), BARRED_MS).unref()
  }

  async #run(job: Job, blamed: string): Promise<Answer | Killed> {
    this.#refuseIfClosed()
    // It may have been found out while this job stood in line.
    if (this.#barred.has(blamed)) return KILLED
    const worker = this.#take()
    const outcome = await worker.run(job, this.options.timeoutMs).finally(() => this.#giveBack(worker))
    this.#refuseIfClosed()
    return outcome
  }

  get load(): QueueLoad {
    return this.#places.load
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#all].map(worker => worker.close()))
    this.#all.clear()
  }

  #take(): PoolWorker<Job, Answer> {
    for (let worker = this.#idle.pop(); worker !== undefined; worker = this.#idle.pop()) {
      if (!worker.gone) return worker
      this.#all.delete(worker)
    }
    const fresh = new PoolWorker<Job, Answer>(this.options.file)
    this.#all.add(fresh)
    return fresh
  }

  #giveBack(worker: PoolWorker<Job, Answer>): void {
    if (worker.gone) this.#all.delete(worker)
    else this.#idle.push(worker)
  }

  /** A closed pool has no opinion on anything: an answer given because it was closed would be a false verdict. */
  #refuseIfClosed(): void {
    if (this.#closed) throw new Error(`the ${this.options.name} was closed`)
  }
}
