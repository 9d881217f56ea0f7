// Complete runs against a server: create, then read until terminal. One process of its own, so that it competes with
// the server for the machine and not for the event loop. Prints one JSON line.
import http from 'node:http'

const [, , url, key, workflowId, concurrencyText, secondsText] = process.argv
const concurrency = Number(concurrencyText)
const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency })
const { hostname, port } = new URL(url)
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' }
const body = JSON.stringify({ workflowId, inputs: {} })

function call(method, path, payload) {
  return new Promise((resolve, reject) => {
    const more = payload === undefined ? {} : { 'content-length': Buffer.byteLength(payload) }
    const request = http.request(
      { agent, hostname, port, method, path, headers: { ...headers, ...more } },
      response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', chunk => {
          text += chunk
        })
        response.on('end', () => {
          if (response.statusCode >= 400) reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`))
          else resolve(JSON.parse(text))
        })
      },
    )
    request.on('error', reject)
    request.end(payload)
  })
}

const TERMINAL = new Set(['completed', 'failed', 'cancelled'])

async function completeRun() {
  const { runId } = await call('POST', '/v1/runs', body)
  for (;;) {
    const { status } = await call('GET', `/v1/runs/${runId}`)
    if (TERMINAL.has(status)) return status
  }
}

async function worker(until, times) {
  while (performance.now() < until) {
    const began = performance.now()
    if ((await completeRun()) !== 'completed') throw new Error('a run did not complete')
    times.push(performance.now() - began)
  }
}

async function measure(seconds) {
  const times = []
  const began = performance.now()
  await Promise.all(Array.from({ length: concurrency }, () => worker(began + seconds * 1000, times)))
  return { times, elapsed: (performance.now() - began) / 1000 }
}

const warm = await measure(1)
const { times, elapsed } = await measure(Number(secondsText))
times.sort((a, b) => a - b)
const quantile = q => Number(times[Math.min(times.length - 1, Math.floor(times.length * q))].toFixed(3))
const result = {
  runs: times.length,
  /** With those of the warm-up. */
  all: times.length + warm.times.length,
  perSecond: Math.round(times.length / elapsed),
  p50: quantile(0.5),
  p99: quantile(0.99),
}
console.log(JSON.stringify(result))
agent.destroy()
