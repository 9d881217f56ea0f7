import { afterEach, describe, expect, test } from 'vitest'
import { WorkerPool } from './pool.js'

/** A worker notes that it has begun a job, and does not end it before it is let. */
const HELD = `
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', ({ begun, gates, n }) => {
    const cells = new Int32Array(begun)
    cells[1 + Atomics.load(cells, 0)] = n
    Atomics.add(cells, 0, 1)
    Atomics.notify(cells, 0)
    Atomics.wait(new Int32Array(gates), n, 0)
    parentPort.postMessage({ kind: 'done', n })
  })
  parentPort.postMessage({ account: undefined })`

const MOST = 64

type Held = { readonly begun: SharedArrayBuffer; readonly gates: SharedArrayBuffer; readonly n: number }

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (let close = open.pop(); close !== undefined; close = open.pop()) await close()
})

function bench(size: number, weightOf?: (tenant: string) => number) {
  const pool = new WorkerPool<Held, { readonly kind: 'done'; readonly n: number }>({
    file: new URL(`data:text/javascript,${encodeURIComponent(HELD)}`),
    size,
    timeoutMs: 60_000,
    name: 'held pool',
    ...(weightOf ? { weightOf } : {}),
  })
  const [begun, gates] = [4 * (MOST + 1), 4 * MOST].map(bytes => new SharedArrayBuffer(bytes)) as [
    SharedArrayBuffer,
    SharedArrayBuffer,
  ]
  const owners: string[] = []
  const answers: Promise<unknown>[] = []
  const count = () => Atomics.load(new Int32Array(begun), 0)
  const one = {
    add(tenant: string, times: number) {
      for (let i = 0; i < times; i += 1) {
        answers.push(pool.run({ begun, gates, n: owners.length }, `job ${owners.length}`, tenant))
        owners.push(tenant)
      }
    },
    /** Whose jobs have begun, in that order. */
    order: () => [...new Int32Array(begun, 4, count())].map(n => owners[n]).join(''),
    /** Lets the n-th job that has begun end. */
    release(n: number) {
      const cells = new Int32Array(gates)
      const job = new Int32Array(begun, 4)[n]!
      Atomics.store(cells, job, 1)
      Atomics.notify(cells, job)
    },
    reaches: (n: number) => expect.poll(count, { timeout: 10_000 }).toBe(n),
    /** Ends each in the order in which they have begun, and waits for the next to begin. */
    async drain() {
      for (let ended = 0; ended < owners.length; ended += 1) {
        await one.reaches(Math.min(owners.length, Math.max(count(), ended + 1)))
        one.release(ended)
        if (count() < owners.length) await expect.poll(count, { timeout: 10_000 }).toBeGreaterThan(ended + 1)
      }
      await Promise.all(answers)
      return one.order()
    },
  }
  open.push(async () => {
    new Int32Array(gates).fill(1)
    for (let i = 0; i < MOST; i += 1) Atomics.notify(new Int32Array(gates), i)
    await Promise.allSettled(answers)
    await pool.close()
  })
  return one
}

describe('P1: who is next', () => {
  test('is of the tenant that has had least, however many jobs another has waiting and though they came first', async () => {
    const pool = bench(2)
    pool.add('a', 12)
    pool.add('b', 3)
    await pool.reaches(2)
    const order = await pool.drain()
    expect(order).toHaveLength(15)
    // Both work at once, so their jobs begin in pairs: the three of `b` are among the first six and not the last of all.
    expect(order.slice(0, 7).replaceAll('a', '')).toBe('bbb')
  })

  test('turns are in proportion to what tenants weigh', async () => {
    const pool = bench(3, tenant => (tenant === 'a' ? 3 : 1))
    pool.add('x', 2)
    await pool.reaches(2)
    pool.add('y', 1)
    await pool.reaches(3)
    pool.add('b', 4)
    pool.add('a', 12)
    const order = await pool.drain()
    expect(order.slice(3, 11).replaceAll('b', '').length).toBeGreaterThanOrEqual(5)
    expect(order.slice(3, 11)).toContain('b')
  })
})

test('P2: one tenant’s jobs never take all the workers, however many and however long they are', async () => {
  const pool = bench(3)
  pool.add('a', 10)
  await pool.reaches(2)
  await new Promise(resolve => setTimeout(resolve, 100))
  expect(pool.order()).toBe('aa')
  pool.add('b', 2)
  await pool.reaches(3)
  expect(pool.order()).toBe('aab')
  pool.release(2)
  await pool.reaches(4)
  expect(pool.order()).toBe('aabb')
})
