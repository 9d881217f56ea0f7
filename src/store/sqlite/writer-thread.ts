import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { StoreUnavailable, UnstorableText, UnverifiedMerge } from '../../engine/ports/event-log.js'
import { TenantErased } from '../../engine/ports/tenants.js'
import { writerUrl } from './driver.js'
import { type PackedCommit, rowsIn } from './packed.js'
import type { BatchReply, Task, TaskFailure, TaskInput, TaskName, TaskResult, WriterSettings } from './tasks.js'

type Waiter = { readonly resolve: (value: never) => void; readonly reject: (error: Error) => void }
type Batch = { readonly tasks: Task[]; readonly waiters: Waiter[] }

/**
 * One transaction is kept this short, in rows or so: a flood of writes must not delay those that come after it, and
 * while one is written the callers of the one before prepare the next.
 */
const MAX_ROWS = 768

const rowsOf = ([name, input]: Task): number => (name === 'commit' ? rowsIn(input as PackedCommit) : 1)

export type SpawnWriter = (settings: WriterSettings) => Worker

const spawnWriter: SpawnWriter = settings =>
  new Worker(writerUrl(), { workerData: settings, name: 'assay-sqlite-writer' })

/**
 * Group commit. Tasks that arrive while a batch is with the writer form the next batch, which leaves the moment the
 * writer answers: no timer, so a lone write waits for nothing.
 *
 * A writer that dies is replaced when there is work. The batch it held is sent once more: its transaction died with
 * it or was committed, and every task finds out which (commits by their append id, claims by their own token).
 */
export class WriterThread {
  readonly #settings: WriterSettings
  readonly #spawn: SpawnWriter
  #worker: Worker | undefined
  #next: Batch = { tasks: [], waiters: [] }
  #sent: Batch | undefined
  #sentTwice = false
  #closed = false
  #idle: (() => void) | undefined
  transactions = 0

  constructor(settings: WriterSettings, spawn: SpawnWriter = spawnWriter) {
    this.#settings = settings
    this.#spawn = spawn
  }

  run<Name extends TaskName>(name: Name, input: TaskInput<Name>): Promise<TaskResult<Name>> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise<TaskResult<Name>>((resolve, reject) => {
      this.#next.tasks.push([name, input])
      this.#next.waiters.push({ resolve, reject })
      if (this.#sent === undefined) this.#send()
    })
  }

  /** Writes what was asked for before, then ends the thread. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#sent)
      await new Promise<void>(resolve => {
        this.#idle = resolve
      })
    const worker = this.#worker
    this.#worker = undefined
    if (!worker) return
    const exit = once(worker, 'exit')
    worker.postMessage(null)
    await exit
  }

  #send(): void {
    const { tasks, waiters } = this.#next
    let count = 0
    for (let rows = 0; count < tasks.length && rows < MAX_ROWS; count += 1) rows += rowsOf(tasks[count]!)
    this.#sent = { tasks: tasks.splice(0, count), waiters: waiters.splice(0, count) }
    this.#sentTwice = false
    this.#post(this.#sent.tasks)
  }

  #post(tasks: Task[]): void {
    try {
      this.#worker ??= this.#start()
      this.#worker.postMessage(tasks)
    } catch (error) {
      this.#finish(({ reject }) => reject(error as Error))
    }
  }

  #start(): Worker {
    const worker = this.#spawn(this.#settings)
    let reason = 'it stopped'
    worker.on('message', (reply: BatchReply) => this.#answered(reply))
    worker.on('error', error => {
      reason = error.message
    })
    worker.on('exit', () => this.#died(worker, reason))
    return worker
  }

  #answered({ values, failures, transactions }: BatchReply): void {
    this.transactions += transactions
    const failed = new Map(failures.map(failure => [failure.index, failure]))
    this.#finish(({ resolve, reject }, i) => {
      const failure = failed.get(i)
      if (failure === undefined) resolve(values[i] as never)
      else reject(errorOf(failure))
    })
  }

  #died(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    if (this.#sent === undefined) return
    if (!this.#sentTwice) {
      this.#sentTwice = true
      this.#post(this.#sent.tasks)
      return
    }
    this.#finish(({ reject }) => reject(new StoreUnavailable(`the SQLite writer died twice: ${reason}`)))
  }

  #finish(settle: (waiter: Waiter, index: number) => void): void {
    const waiters = this.#sent?.waiters ?? []
    this.#sent = undefined
    // Before the callers run, so that the writer works while they do.
    if (this.#next.tasks.length > 0) this.#send()
    waiters.forEach(settle)
    if (this.#sent === undefined) this.#idle?.()
  }
}

function errorOf({ kind, message }: TaskFailure): Error {
  switch (kind) {
    case 'unavailable':
      return new StoreUnavailable(message)
    case 'unverified':
      return new UnverifiedMerge(`no gate has passed what was to be merged: ${message}`)
    case 'unstorable':
      return new UnstorableText()
    case 'erased':
      return new TenantErased()
    case 'fault':
      return new Error(message)
  }
}
