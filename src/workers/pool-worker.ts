import { Worker } from 'node:worker_threads'
import { startCpuMeter } from './cpu-time.js'

/** The first word of a worker. `account` is where its use of CPU can be read, if anywhere. */
export type Ready = { readonly account: string | undefined }

/** What is answered for a job that took too long or too much memory. */
export type Killed = { readonly kind: 'killed' }

export const KILLED: Killed = { kind: 'killed' }

/** Generous for honest jobs; a hostile one ends its thread, not the host. */
const MEMORY_MB = 128
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }

/** How many times the limit a job may last on the wall clock while the machine gives its thread too little CPU. */
const PATIENCE = 120

/**
 * One worker thread. It is started when it is made, keeps the process alive only while it has a job, and is not used
 * again once it is `gone`.
 *
 *  W1  one job at a time: `run` is called as soon as the thread is made, and then only when the previous job has been
 *      answered.
 *  W2  the time of a job counts from when the started thread gets it, so a cold start is nobody's fault; and an honest
 *      job is not condemned because the machine is busy with something else.
 *  W3  a job is answered exactly once, whatever the thread does; a thread that ran out of time or memory is `gone`.
 */
export class PoolWorker<Job, Answer> {
  readonly #worker: Worker
  #ready: Promise<Ready> | undefined
  #fault: Error | undefined
  #gone = false

  constructor(
    private readonly file: URL,
    memoryMb = MEMORY_MB,
  ) {
    // Not the parent's execArgv: flags such as --input-type do not suit a file.
    this.#worker = new Worker(file, {
      resourceLimits: { ...RESOURCE_LIMITS, maxOldGenerationSizeMb: memoryMb },
      env: {},
      execArgv: [],
    })
    this.#worker.on('error', error => {
      this.#fault = error instanceof Error ? error : new Error(String(error))
    })
    this.#worker.on('exit', () => {
      this.#gone = true
    })
  }

  get gone(): boolean {
    return this.#gone
  }

  /** Rejects only when the thread cannot be started, which says nothing about any job. */
  async run(job: Job, timeoutMs: number): Promise<Answer | Killed> {
    this.#worker.ref()
    this.#ready ??= this.#started()
    const { account } = await this.#ready
    return new Promise(resolve => {
      const settle = (outcome: Answer | Killed) => {
        stopWatch()
        this.#worker.off('message', settle).off('exit', died)
        this.#worker.unref()
        resolve(outcome)
      }
      const died = () => settle(KILLED)
      const stopWatch = watch(timeoutMs, account, () => {
        settle(KILLED)
        void this.close()
      })
      this.#worker.on('message', settle).on('exit', died)
      this.#worker.postMessage(job)
    })
  }

  async close(): Promise<void> {
    this.#gone = true
    await this.#worker.terminate()
  }

  #started(): Promise<Ready> {
    return new Promise((resolve, reject) => {
      this.#worker.once('message', resolve)
      this.#worker.once('exit', () =>
        reject(new Error(`the worker ${this.file.pathname} did not start`, { cause: this.#fault })),
      )
    })
  }
}

/**
 * Calls `expire` once the thread has computed for `ms`. Uses setTimeout directly, not the injected clock: it guards real
 * CPU time. Returns a function that ends the watch.
 */
function watch(ms: number, account: string | undefined, expire: () => void): () => void {
  const spent = startCpuMeter(account)
  let over = false
  let waited = 0
  const look = () => {
    if (over) return
    const left = ms - spent()
    if (left > 0 && waited < ms * PATIENCE) wait(Math.max(left, ms / 10))
    // If this thread was the one that was late, the answer is in its queue and is delivered before setImmediate.
    else setImmediate(() => over || expire())
  }
  const wait = (time: number) => {
    waited += time
    timer = setTimeout(look, time)
  }
  let timer: NodeJS.Timeout | undefined
  wait(ms)
  return () => {
    over = true
    clearTimeout(timer)
  }
}
