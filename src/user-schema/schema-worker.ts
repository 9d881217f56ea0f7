import { Worker } from 'node:worker_threads'
import type { Job, JobAnswer } from './job.js'

export type JobOutcome = JobAnswer | { readonly kind: 'killed' }

/** Generous for honest schemas; a hostile one ends its worker, not the host. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

type Pending = { readonly resolve: (outcome: JobOutcome) => void; readonly reject: (error: Error) => void }

/**
 * One worker thread, one job at a time. Starts at the first job; a job that takes longer than `timeoutMs` kills the
 * thread, and the next job starts another. The thread keeps the process alive only while it has a job.
 *
 *  W1  `run` is called only when the previous job has been answered.
 *  W2  the time of a job counts from when a started worker gets it, so a cold start is nobody's fault.
 *  W3  a job is answered exactly once, whatever the thread does.
 */
export class SchemaWorker {
  #thread: Promise<Worker> | undefined
  #pending: Pending | undefined
  #closed = false

  constructor(
    private readonly file: URL,
    private readonly timeoutMs: number,
  ) {}

  async run(job: Job): Promise<JobOutcome> {
    if (this.#pending !== undefined) throw new Error('the worker already has a job')
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#hand(job).catch((error: Error) => this.#settle(pending => pending.reject(error)))
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#settle(pending => pending.reject(new Error('the schema checker was closed')))
    await this.#discard()
  }

  async #hand(job: Job): Promise<void> {
    this.#thread ??= this.#start()
    const thread = await this.#thread
    if (this.#pending === undefined) return
    thread.ref()
    // Real time, not the injected clock: this guards CPU that is burning now, also when a test's clock stands still.
    const timer = setTimeout(() => {
      // If this thread was the one that was late, the answer is already there: it is delivered before setImmediate.
      setImmediate(() => this.#settle(pending => pending.resolve({ kind: 'killed' }), 'discard'))
    }, this.timeoutMs)
    const { resolve, reject } = this.#pending
    this.#pending = {
      resolve: outcome => {
        clearTimeout(timer)
        thread.unref()
        resolve(outcome)
      },
      reject: error => {
        clearTimeout(timer)
        reject(error)
      },
    }
    thread.postMessage(job)
  }

  /** Resolves when the thread says it is ready. */
  #start(): Promise<Worker> {
    if (this.#closed) return Promise.reject(new Error('the schema checker was closed'))
    const thread = new Worker(this.file, { resourceLimits: RESOURCE_LIMITS, env: {}, stdin: false })
    return new Promise((resolve, reject) => {
      thread.on('message', (answer: JobAnswer) => {
        if (answer.kind === 'ready') resolve(thread)
        else this.#settle(pending => pending.resolve(answer))
      })
      const gone = (error: Error) => {
        // Before it was ready: a fault of the installation, which no answer about a schema may hide.
        reject(new Error(`the schema worker ${this.file.pathname} did not start`, { cause: error }))
        this.#forget(thread)
      }
      thread.on('error', gone)
      thread.on('exit', code => gone(new Error(`it exited with code ${code}`)))
    })
  }

  /** The thread ended by itself, for instance out of memory: whatever it had in hand was too much for it. */
  async #forget(thread: Worker): Promise<void> {
    const current = await this.#thread?.catch(() => undefined)
    if (current !== thread) return
    this.#thread = undefined
    this.#settle(pending => pending.resolve({ kind: 'killed' }))
  }

  #settle(answer: (pending: Pending) => void, then?: 'discard'): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    answer(pending)
    if (then === 'discard') void this.#discard()
  }

  async #discard(): Promise<void> {
    const thread = await this.#thread?.catch(() => undefined)
    this.#thread = undefined
    await thread?.terminate()
  }
}
