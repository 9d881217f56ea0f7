import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { charactersIn, type PackedCommit, packCommit, unpackCommit } from './packed.js'
import type { Task } from './tasks.js'
import { WriterThread } from './writer-thread.js'

/** A writer that answers when it is told to, and what it was sent. */
class Pen extends EventEmitter {
  readonly batches: Task[][] = []

  postMessage(tasks: Task[] | null): void {
    if (tasks === null) this.emit('exit')
    else this.batches.push(tasks)
  }

  answer(): void {
    const values = (this.batches.at(-1) ?? []).map(() => null)
    this.emit('message', { values, failures: [], transactions: 1 })
  }
}

function desk() {
  const pen = new Pen()
  const thread = new WriterThread({ path: '', maxBytes: null }, () => pen as unknown as Worker)
  let made = 0
  const written: string[] = []
  const commit = (tenant: string, characters: number): void => {
    made += 1
    const name = `${tenant}${made}`
    const event = {
      sequence: 0,
      type: 'run.started',
      nodeId: null,
      payload: 'x'.repeat(characters),
      secret: null,
      cause: null,
      foreignCause: null,
      at: 0,
      input: null,
      salt: null,
      hash: '',
      erased: null,
    }
    const stream = { runId: name, expected: 0, epoch: 1, status: 'running', wakeAt: null, events: [event], head: '' }
    const packed = packCommit({ appendId: name, hostId: 'h', tenant, streams: [stream as never], wakes: [] })
    void thread.run('commit', packed).then(() => written.push(name))
  }
  /** Answers until nothing is left; the ids of what each batch wrote. */
  const drain = async (): Promise<string[][]> => {
    for (let seen = -1; seen !== pen.batches.length; ) {
      seen = pen.batches.length
      pen.answer()
      await Promise.resolve()
    }
    await new Promise(resolve => setImmediate(resolve))
    const nameOf = (input: unknown) => (input ? unpackCommit(input as PackedCommit).appendId : 'probe')
    return pen.batches.map(tasks => tasks.map(([, input]) => nameOf(input)))
  }
  return { pen, thread, commit, drain, written }
}

const MIB = 1_048_576

test('T2: of what waits, tenants have had equally much by size; a flood of large writes delays a small one by one', async () => {
  const { commit, drain, written } = desk()
  for (let i = 0; i < 50; i += 1) commit('a', MIB)
  for (let i = 0; i < 3; i += 1) commit('b', 300)
  const batches = await drain()
  expect(batches[0]).toEqual(['a1'])
  expect(batches[1]?.slice(0, 3)).toEqual(['b51', 'b52', 'b53'])
  expect(written).toHaveLength(53)
  expect(batches.flat().filter(name => name.startsWith('a'))).toEqual(Array.from({ length: 50 }, (_, i) => `a${i + 1}`))
})

test('a batch holds no more than its rows, each with its characters; what is longer is written alone', async () => {
  const { commit, drain, pen } = desk()
  commit('a', 10)
  for (let i = 0; i < 40; i += 1) commit('abc'[i % 3]!, [100, 50_000, 100, 2 * MIB][i % 4]!)
  await drain()
  const sizes = pen.batches.map(tasks => tasks.map(([, input]) => charactersIn(input as PackedCommit)))
  for (const batch of sizes)
    if (batch.length > 1) expect(batch.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(768 * 1_024)
  expect(sizes.filter(batch => batch.some(size => size > MIB)).map(batch => batch.length)).toEqual(Array(10).fill(1))
  expect(sizes.some(batch => batch.length > 3)).toBe(true)
  expect(sizes.flat()).toHaveLength(41)
})

test('many small writes still share one transaction, and those of the host itself are not kept waiting', async () => {
  const { commit, drain, thread } = desk()
  commit('a', 10)
  for (let i = 0; i < 1_000; i += 1) commit('a', 200)
  const probed = thread.run('probe', null)
  const batches = await drain()
  await probed
  expect(batches.length).toBeLessThan(7)
  expect(batches[1]).toContain('probe')
})
