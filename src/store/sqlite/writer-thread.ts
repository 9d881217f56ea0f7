import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { MissingContent, StoreUnavailable, UnstorableText, UnverifiedMerge } from '../../engine/ports/event-log.js'
import { TenantErased } from '../../engine/ports/tenants.js'
import { FairLines } from '../../timing/fair-lines.js'
import { writerUrl } from './driver.js'
import { charactersIn, type PackedCommit, rowsIn, tenantIn } from './packed.js'
import type { BatchReply, Task, TaskFailure, TaskInput, TaskName, TaskResult, WriterSettings } from './tasks.js'

type PackedContent = { readonly body: Uint8Array }

type Waiter = { readonly resolve: (value: never) => void; readonly reject: (error: Error) => void }
type Batch = { readonly tasks: Task[]; readonly waiters: Waiter[] }
/** A task that waits, and how much it writes, in rows. */
type Waiting = { readonly task: Task; readonly waiter: Waiter; readonly rows: number }

/**
 * One transaction is kept this short, in rows or so: a flood of writes must not delay those that come after it, and
 * while one is written the callers of the one before prepare the next. What is longer by itself is written alone.
 */
const MAX_ROWS = 768

/** Characters that take as long to write as a row does besides them. */
const CHARACTERS_PER_ROW = 1_024

const rowsOf = ([name, input]: Task): number => {
  if (name === 'commit') {
    const commit = input as PackedCommit
    return rowsIn(commit) + charactersIn(commit) / CHARACTERS_PER_ROW
  }
  const { outcome, content } = Object(input) as { readonly outcome?: unknown; readonly content?: PackedContent }
  const length = typeof outcome === 'string' ? outcome.length : (content?.body.byteLength ?? 0)
  return 1 + length / CHARACTERS_PER_ROW
}

/** Whose write it is; the host's own have a line of their own. */
const lineOf = ([name, input]: Task): string => (name === 'commit' ? tenantIn(input as PackedCommit) : '')

export type SpawnWriter = (settings: WriterSettings) => Worker

const spawnWriter: SpawnWriter = settings =>
  new Worker(writerUrl(), { workerData: settings, name: 'assay-sqlite-writer' })

/**
 * Group commit. Tasks that arrive while a batch is with the writer form the next batch, which leaves the moment the
 * writer answers: no timer, so a lone write waits for nothing. What does not fit into one batch waits in turns: tenants have
 * had about equally much of what was written, by size, since there was a queue.
 *
 * A writer that dies is replaced when there is work. The batch it held is sent once more: its transaction died with
 * it or was committed, and every task finds out which (commits by their append id, claims by their own token).
 */
export class WriterThread {
  readonly #settings: WriterSettings
  readonly #spawn: SpawnWriter
  #worker: Worker | undefined
  readonly #next = new FairLines<Waiting>()
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
      const task: Task = [name, input]
      this.#next.add(lineOf(task), { task, waiter: { resolve, reject }, rows: rowsOf(task) })
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
    const batch: Batch = { tasks: [], waiters: [] }
    let rows = 0
    for (let [, first] = this.#next.first() ?? []; first !== undefined; [, first] = this.#next.first() ?? []) {
      if (rows > 0 && rows + first.rows > MAX_ROWS) break
      this.#next.take(first.rows)
      batch.tasks.push(first.task)
      batch.waiters.push(first.waiter)
      rows += first.rows
    }
    this.#sent = batch
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
    if (this.#next.size > 0) this.#send()
    else this.#next.settle()
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
    case 'contentless':
      return new MissingContent(message)
    case 'fault':
      return new Error(message)
  }
}
