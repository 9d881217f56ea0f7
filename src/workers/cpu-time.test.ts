import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { accountOfThisThread, startCpuMeter } from './cpu-time.js'

const workers: Worker[] = []
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.terminate()
})

function start(code: string): Worker {
  const worker = new Worker(code, { eval: true })
  workers.push(worker)
  return worker
}

const BURN = 'for (;;) {}'
const TELL_ACCOUNT = `
  const { readlinkSync } = require('node:fs')
  const { parentPort } = require('node:worker_threads')
  parentPort.postMessage('/proc/' + readlinkSync('/proc/thread-self') + '/schedstat')
`

/** Where to read what a thread uses that from now on does as it is told. */
async function accountOf(afterwards: string): Promise<string> {
  const [account] = await once(start(TELL_ACCOUNT + afterwards), 'message')
  return account
}

const used = (meter: () => number, ms: number) => expect.poll(meter, { timeout: 15_000 }).toBeGreaterThan(ms)

test.runIf(accountOfThisThread())(
  'a thread is charged with what it burns itself, not with what others burn',
  async () => {
    const idle = startCpuMeter(await accountOf('parentPort.on("message", () => undefined)'))
    const busy = startCpuMeter(await accountOf(BURN))
    await used(busy, 300)
    expect(idle()).toBeLessThan(100)
  },
)

test.runIf(accountOfThisThread())('a thread that is gone uses nothing more', async () => {
  const gone = startCpuMeter(await accountOf(BURN))
  await workers[0]?.terminate()
  expect(gone()).toBe(0)
})

test('without an account it is what other threads of the process burn', async () => {
  const meter = startCpuMeter()
  start(BURN)
  await used(meter, 100)
})
