// What another tenant sees, in a process of its own: a keyed read, a create and GET /healthz, one after the other, for so
// many seconds. Prints the longest and the median of each as one JSON line, in milliseconds. A create of `effect` is timed until
// the run has ended, because what it waits for is a place for its effect.
import http from 'node:http'

const [, , url, key, secondsText, workflowId] = process.argv
const { hostname, port } = new URL(url)
const agent = new http.Agent({ keepAlive: true })
const PATIENCE_MS = 60_000

function timed(method, path, payload) {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    if (payload !== undefined) headers['content-length'] = Buffer.byteLength(payload)
    const request = http.request({ agent, hostname, port, method, path, headers, timeout: PATIENCE_MS }, response => {
      let text = ''
      response.on('data', chunk => (text += chunk))
      response.on('end', () => resolve({ ms: performance.now() - began, status: response.statusCode, text }))
    })
    request.on('timeout', () => request.destroy(new Error('no answer for a minute')))
    request.on('error', error =>
      error.message === 'no answer for a minute' ? resolve({ ms: PATIENCE_MS, status: 0, text: '' }) : reject(error),
    )
    request.end(payload)
  })
}

async function untilEnded(runId) {
  const began = performance.now()
  while (performance.now() - began < PATIENCE_MS) {
    const { text } = await timed('GET', `/v1/runs/${runId}`)
    if (JSON.parse(text).status === 'completed') break
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  return performance.now() - began
}

const create = JSON.stringify({ workflowId, inputs: {} })
const first = await timed('POST', '/v1/runs', create)
// Without an answer there is no run to read; that nothing was said for a minute is figure enough.
const { runId = 'none' } = first.status === 0 ? {} : JSON.parse(first.text)
const seen = { read: [], create: first.status === 0 ? [first.ms] : [], healthz: [] }
const until = performance.now() + Number(secondsText) * 1_000
let refused = 0
while (performance.now() < until) {
  for (const [name, method, path, payload] of [
    ['healthz', 'GET', '/healthz'],
    ['read', 'GET', `/v1/runs/${runId}`],
    ['create', 'POST', '/v1/runs', create],
  ]) {
    const { ms, status, text } = await timed(method, path, payload)
    if (status >= 400) refused += 1
    const isTimedToEnd = name === 'create' && workflowId === 'effect' && status < 400
    seen[name].push(isTimedToEnd ? ms + (await untilEnded(JSON.parse(text).runId)) : ms)
  }
  await new Promise(resolve => setTimeout(resolve, 20))
}
const figures = list => {
  const sorted = list.sort((a, b) => a - b)
  return { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0, n: sorted.length }
}
console.log(JSON.stringify({ ...Object.fromEntries(Object.entries(seen).map(([k, v]) => [k, figures(v)])), refused }))
process.exit(0)
