// A host in a process of its own, with or without some of its bounds. What takes bounds away is a part that only a program
// which embeds a host can give; no setting, flag or variable of a served host leads there.
import { setTimeout as sleep } from 'node:timers/promises'
import { loadConfig } from '../dist/config.js'
import { createHost } from '../dist/host.js'

const [, , data, port, unbounded, settings] = process.argv
const config = loadConfig({ data, port, 'log.level': 'error', conformance: true, ...JSON.parse(settings) }, {}, data)

/** An effect that takes as long as its input says. */
const slow = {
  async perform({ input: { ms = 1 }, signal }) {
    await sleep(ms, undefined, { signal }).catch(() => undefined)
    return { ok: true, output: {} }
  },
}
const performers = new Map([['conformance.side-effect', slow]])
const host = await createHost(config, { unbounded: JSON.parse(unbounded), performers })
await host.start()

process.on('message', async () => {
  // What is held by nobody goes; twice, because finalizers of the first round let go of more.
  for (let i = 0; i < 2; i += 1) {
    globalThis.gc()
    await sleep(50)
  }
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send({ rss, held: heapUsed + external })
})
process.on('SIGTERM', () => host.stop().then(() => process.exit(0)))
process.send?.('ready')
