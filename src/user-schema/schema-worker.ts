import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Job, JobAnswer } from './job.js'

export type JobOutcome = JobAnswer | { readonly kind: 'killed' }

/** Generous for honest schemas; a hostile one ends its thread, not the host. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

/**
 * One worker thread. It is started when it is made, keeps the process alive only while it has a job, and is not used
 * again once it is `gone`.
 *
 *  W1  one job at a time: `run` is called only when the previous job has been answered.
 *  W2  the time of a job counts from when the started thread gets it, so a cold start is nobody's fault.
 *  W3  a job is answered exactly once, whatever the thread does; a thread that ran out of time or memory is `gone`.
 */
export class SchemaWorker {
  readonly #worker: Worker
  readonly #ready: Promise<void>
  #fault: Error | undefined
  #gone = false

  constructor(file: URL) {
    this.#worker = new Worker(file, { resourceLimits: RESOURCE_LIMITS, env: {}, execArgv: [] })
    this.#worker.on('error', error => {
      this.#fault = error instanceof Error ? error : new Error(String(error))
    })
    this.#worker.on('exit', () => {
      this.#gone = true
    })
    this.#worker.unref()
    this.#ready = this.#started(file)
    // Whoever runs a job hears of a failed start; until then it is nobody's unhandled rejection.
    this.#ready.catch(() => undefined)
  }

  get gone(): boolean {
    return this.#gone
  }

  /** Rejects only when the thread cannot be started, which says nothing about any schema. */
  async run(job: Job, timeoutMs: number): Promise<JobOutcome> {
    this.#worker.ref()
    await this.#ready
    return new Promise(resolve => {
      let answered = false
      const settle = (outcome: JobOutcome) => {
        if (answered) return
        answered = true
        clearTimeout(timer)
        this.#worker.off('message', settle).off('exit', died)
        this.#worker.unref()
        resolve(outcome)
      }
      const died = () => settle({ kind: 'killed' })
      const kill = () => {
        if (answered) return
        settle({ kind: 'killed' })
        void this.close()
      }
      // Real time, not the injected clock: this guards CPU that is burning now. If it was this thread that was late, the
      // answer is waiting in its queue and is delivered before setImmediate.
      const timer = setTimeout(() => setImmediate(kill), timeoutMs)
      this.#worker.on('message', settle).on('exit', died)
      this.#worker.postMessage(job)
    })
  }

  async close(): Promise<void> {
    this.#gone = true
    await this.#worker.terminate()
  }

  async #started(file: URL): Promise<void> {
    const first = await Promise.race([once(this.#worker, 'message'), once(this.#worker, 'exit').then(() => undefined)])
    if (first === undefined) throw new Error(`the schema worker ${file.pathname} did not start`, { cause: this.#fault })
  }
}
