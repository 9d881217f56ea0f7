// A real host in a process of its own, for tests that kill it. It runs the build in dist/ and wraps the store port to
// die, by SIGKILL and so without any clean-up, right before or right after the n-th write it is told. Prints its URL
// when it serves and, on SIGTERM, how many counted writes it made.

import { loadConfig } from '../../dist/config.js'
import { createHost } from '../../dist/host.js'

const { overrides, env, cwd, crash, counted } = JSON.parse(process.argv[2])
let writes = 0

const wrapStore = store =>
  new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (!counted.includes(name)) return value.bind(target)
      return async (...parameters) => {
        writes += 1
        const mine = writes
        if (crash?.when === 'before' && crash.at === mine) process.kill(process.pid, 'SIGKILL')
        const result = await value.apply(target, parameters)
        if (crash?.when === 'after' && crash.at === mine) process.kill(process.pid, 'SIGKILL')
        return result
      }
    },
  })

const host = await createHost(loadConfig(overrides, env, cwd), { wrapStore })
await host.start()
process.on('SIGTERM', async () => {
  await host.stop()
  console.log(JSON.stringify({ writes }))
  process.exit(0)
})
console.log(JSON.stringify({ url: host.url }))
