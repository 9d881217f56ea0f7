import { KILLED, type Killed, PoolWorker } from './pool-worker.js'

export type PoolOptions = {
  /** What the threads run: a compiled module that serves jobs (`serve-jobs.ts`). */
  readonly file: URL
  /** While one worker is held up by a hostile job, the others go on. */
  readonly size: number
  /** How long one job may keep a worker, in CPU time from when the worker gets it. */
  readonly timeoutMs: number
  /** For what is said when it is closed. */
  readonly name: string
}

const BARRED_MS = 10_000

/** Hands jobs to idle workers in order of arrival; workers are started when first needed and replaced when gone. */
export class WorkerPool<Job, Answer> {
  readonly #idle: PoolWorker<Job, Answer>[] = []
  readonly #all = new Set<PoolWorker<Job, Answer>>()
  readonly #waiting: (() => void)[] = []
  readonly #barred = new Set<string>()
  #busy = 0
  #closed = false

  constructor(private readonly options: PoolOptions) {}

  /** `blamed` is what a job that held up a worker is known by: others like it are not begun for a while. */
  async run(job: Job, blamed: string): Promise<Answer | Killed> {
    if (this.#barred.has(blamed)) return KILLED
    const outcome = await this.#run(job, blamed)
    if (outcome === KILLED) this.#bar(blamed)
    return outcome
  }

  /** For a while what held up a worker is answered at once, so that it cannot hold up everybody else's. */
  #bar(blamed: string): void {
    this.#barred.add(blamed)
    setTimeout(() => this.#barred.delete(blamed), BARRED_MS).unref()
  }

  async #run(job: Job, blamed: string): Promise<Answer | Killed> {
    if (this.#busy >= this.options.size) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#busy += 1
    try {
      this.#refuseIfClosed()
      // It may have been found out while this job stood in line.
      if (this.#barred.has(blamed)) return KILLED
      const worker = this.#take()
      const outcome = await worker.run(job, this.options.timeoutMs).finally(() => this.#giveBack(worker))
      this.#refuseIfClosed()
      return outcome
    } finally {
      // The place passes to the next in line, or becomes free.
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy -= 1
      else next()
    }
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
