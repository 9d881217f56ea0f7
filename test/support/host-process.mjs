// A real host in a process of its own, for tests that kill it. It runs the build in dist/, or in the folder it is given,
// and wraps the store port to die, by SIGKILL and so without any clean-up, right before or right after the n-th write it
// is told. Reads what to host from a line of its input and prints its URL when it serves; another line may tell a serving
// host when to die, counted from then on. On SIGTERM it stops, prints how many counted writes it made, and what each was,
// and reads on, until there is no more input.

import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { decider } from './decider.mjs'

const [, , folder] = process.argv
const build = folder === undefined ? new URL('../../dist/', import.meta.url) : pathToFileURL(`${folder}/`)
const { loadConfig } = await import(new URL('config.js', build).href)
const { createHost } = await import(new URL('host.js', build).href)
const { systemClock } = await import(new URL('system.js', build).href)

let host
let writes
let trace
let crash

const counting = (store, { counted }) =>
  new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (!counted.includes(name)) return value.bind(target)
      return async (...parameters) => {
        writes += 1
        const mine = writes
        trace.push([name, ...namesIn(parameters[0])].join(' '))
        if (crash?.when === 'before' && crash.at === mine) process.kill(process.pid, 'SIGKILL')
        const result = await value.apply(target, parameters)
        if (crash?.when === 'after' && crash.at === mine) process.kill(process.pid, 'SIGKILL')
        return result
      }
    },
  })

/** A clock that is ahead, and on which what is done once a minute or more rarely is done several times a second. */
const aheadBy = aheadMs => ({
  ...systemClock,
  now: () => systemClock.now() + aheadMs,
  after: (ms, callback) => systemClock.after(ms >= 60_000 ? 200 : ms, callback),
})

/** What a commit is about. */
const namesIn = ({ streams = [] }) =>
  streams.map(({ events }) =>
    events.map(({ type, nodeId }) => (nodeId === null ? type : `${type}:${nodeId}`)).join(','),
  )

process.on('SIGTERM', async () => {
  await host.stop()
  console.log(JSON.stringify({ writes, trace }))
})

for await (const line of createInterface({ input: process.stdin })) {
  const { overrides, env, cwd, arm, aheadMs, ...faults } = JSON.parse(line)
  writes = 0
  trace = []
  crash = arm ?? faults.crash
  if (arm !== undefined) {
    console.log(JSON.stringify({ armed: arm }))
    continue
  }
  host = await createHost(loadConfig(overrides, env, cwd), {
    wrapStore: store => counting(store, faults),
    ...(aheadMs !== undefined && { clock: aheadBy(aheadMs) }),
    performers: new Map([['decider', decider]]),
  })
  await host.start()
  console.log(JSON.stringify({ url: host.url }))
}
process.exit(0)
