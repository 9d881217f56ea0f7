// One tenant exhausts a resource while another's requests are timed by a process of its own. Three figures for each, in one
// run: idle, attacked, and attacked with that bound taken away. `node bench/fairness.mjs [resource …]`, after a build.
import { execFile, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ATTACKS, loop, workflow } from './attacks.mjs'

const IDLE_SECONDS = 3
const SECONDS = 6
/** For runs of the attacker to come to their end once nobody starts more. */
const SETTLE_MS = 15_000
/** A key may not have more than 256. */
const STREAMS_OF_KEY = 250
const here = name => fileURLToPath(new URL(name, import.meta.url))

const children = new Set()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

const freePort = () =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

function call(url, key, method, where, payload) {
  return new Promise((resolve, reject) => {
    const body = payload === undefined ? undefined : JSON.stringify(payload)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    if (body !== undefined) headers['content-length'] = Buffer.byteLength(body)
    const request = http.request(`${url}${where}`, { method, headers }, response => {
      let text = ''
      response.on('data', chunk => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

async function put(url, key, where, document) {
  const answer = await call(url, key, 'POST', where, document)
  if (answer.status >= 300) throw new Error(answer.text)
  return JSON.parse(answer.text)
}

async function started(unbounded = {}, settings = {}) {
  const data = mkdtempSync(path.join(tmpdir(), 'assay-fair-'))
  const port = await freePort()
  const child = fork(
    here('./fair-host.mjs'),
    [data, String(port), JSON.stringify(unbounded), JSON.stringify(settings)],
    { execArgv: ['--expose-gc'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
  )
  children.add(child)
  const heard = () =>
    new Promise((resolve, reject) => {
      const gone = () => reject(new Error('the host ended'))
      child.once('exit', gone).once('message', message => {
        child.off('exit', gone)
        resolve(message)
      })
    })
  await heard()
  const url = `http://127.0.0.1:${port}`
  const key = readFileSync(path.join(data, 'local-key'), 'utf8').trim()
  const tenant = async name => {
    const scopes = ['runs:create', 'runs:read', 'workflows:write', 'manifest:read']
    return (await put(url, key, '/v1/keys', { tenant: name, scopes })).key
  }
  const [attacker, other] = [await tenant('attacker'), await tenant('other')]
  const more = () => tenant('attacker')
  await put(url, other, '/v1/workflows', workflow('noop', { a: { type: 'core.noop' } }))
  const effect = { type: 'core.conformance.side-effect', config: { ms: 1 } }
  await put(url, other, '/v1/workflows', workflow('effect', { a: effect }))
  const stop = async () => {
    children.delete(child)
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    rmSync(data, { recursive: true, force: true })
  }
  const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) * 1024
  /** What is left after a collection of garbage. */
  const memory = () => {
    child.send('collect')
    return heard()
  }
  return { url, attacker, other, more, stop, rss, memory }
}

async function seenByOther({ url, other }, seconds, { isTimedToEnd }) {
  const args = [here('./other-tenant.mjs'), url, other, String(seconds), isTimedToEnd ? 'effect' : 'noop']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

/** Begins the attack; what is returned ends it, and says what it came to, beside the time that others have waited. */
async function attacked({ url, attacker, more, rss }, attack) {
  let over = false
  let guesses = 0
  const began = performance.now()
  let [before, peak] = [rss(), 0]
  const sampling = setInterval(() => (peak = Math.max(peak, rss())), 50)
  const sockets = []
  const end = () => {
    over = true
    clearInterval(sampling)
    for (const socket of sockets) socket.destroy()
    return { guesses: (guesses * 1_000) / (performance.now() - began), grown: peak - before }
  }
  const again = async request => {
    while (!over) await request().catch(() => undefined)
  }
  if (attack.strangers !== undefined) {
    let keys = 0
    const guess = async () => {
      keys += 1
      const { status } = await call(url, `ask_${String(keys).padStart(43, 'x')}`, 'GET', '/v1/runs')
      if (status === 401) guesses += 1
    }
    for (let i = 0; i < attack.strangers; i += 1) void again(guess)
    return end
  }
  const definitions = [...(attack.also ?? []), attack.workflow ?? loop('attack', undefined, 'inputs.t', 2_500)]
  for (const definition of definitions) await put(url, attacker, '/v1/workflows', definition)
  for (const [kind, document] of attack.standards ?? []) await put(url, attacker, `/v1/host/assay/${kind}`, document)
  const start = inputs => call(url, attacker, 'POST', '/v1/runs', { workflowId: 'attack', inputs })
  if (attack.readers === undefined) {
    if (attack.runs !== undefined) for (let i = 0; i < attack.runs; i += 1) await start(attack.inputs)
    else for (let i = 0; i < 2; i += 1) void again(() => start(attack.inputs))
    return end
  }
  const { runId } = JSON.parse((await start({ t: 'x'.repeat(attack.text) })).text)
  // A history is read when it is over; what goes on is followed.
  while (
    !attack.workflow &&
    JSON.parse((await call(url, attacker, 'GET', `/v1/runs/${runId}`)).text).status === 'running'
  )
    await sleep(50)
  const open = key => {
    if (over) return
    const request = http.get(
      `${url}/v1/runs/${runId}/events?streamMode=debug`,
      { headers: { authorization: `Bearer ${key}` }, agent: false },
      response => {
        if (attack.reads) response.resume()
        response.on('end', () => setTimeout(open, response.statusCode === 200 ? 0 : 1_000, key))
        response.on('error', () => undefined)
      },
    )
    request.on('error', () => undefined)
    sockets.push(request)
  }
  before = rss()
  peak = 0
  let key = attacker
  for (let i = 0; i < attack.readers; i += 1) {
    if (i % STREAMS_OF_KEY === STREAMS_OF_KEY - 1) key = await more()
    open(key)
  }
  return end
}

/** Until the attacker's runs have ended, or for so long. */
async function settled({ url, attacker }) {
  const until = Date.now() + SETTLE_MS
  while (Date.now() < until) {
    const { used } = JSON.parse((await call(url, attacker, 'GET', '/v1/quotas')).text)
    if (used.activeRuns === 0) return
    await sleep(200)
  }
}

/** Idle, attacked, and what memory the attack has cost. */
async function measuredBounded(attack) {
  const host = await started()
  const idle = await seenByOther(host, IDLE_SECONDS, attack)
  const before = await host.memory()
  let peak = host.rss()
  const sampling = setInterval(() => (peak = Math.max(peak, host.rss())), 50)
  const end = await attacked(host, attack)
  const bounded = await seenByOther(host, SECONDS, attack)
  const came = end()
  await settled(host)
  clearInterval(sampling)
  const after = await host.memory()
  await host.stop()
  return { idle, bounded: { ...bounded, ...came }, memory: { before, peak, after } }
}

async function measuredUnbounded(attack) {
  const host = await started(attack.unbounded, attack.settings)
  const end = await attacked(host, attack)
  const figures = await seenByOther(host, SECONDS, attack)
  const came = end()
  await host.stop()
  return { ...figures, ...came }
}

const NAMES = ['read', 'create', 'healthz']
const worst = figures => Math.max(...NAMES.map(name => figures[name].max))
/** What the bound is there for: the longest answer, unless an attack is on something else. */
const MEASURES = {
  answers: { of: worst, show: ms => `${ms.toFixed(0)} ms` },
  memory: { of: ({ grown }) => grown, show: bytes => `${mb(bytes).trim()} MB` },
  guesses: { of: ({ guesses }) => guesses, show: rate => `${rate.toFixed(0)} keys/s` },
}
const show = figures => NAMES.map(name => figures[name].max.toFixed(0).padStart(6)).join('')
const mb = bytes => (bytes / 1_048_576).toFixed(0).padStart(5)

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !(name in ATTACKS))
if (unknown.length > 0)
  throw new Error(`no such resource: ${unknown.join(', ')}; there are ${Object.keys(ATTACKS).join(', ')}`)
const load = loadavg().map(n => n.toFixed(1))
console.log(`load of the machine before: ${load.join(' ')}; the longest answer to another tenant, in ms; memory in MB`)
console.log(
  [
    'resource            ',
    'idle: read create health',
    'attacked              ',
    'beyond idle',
    'bound taken away      ',
    'times',
    'resident: before, peak, after',
    'held: before, after',
  ].join('  '),
)
for (const [name, attack] of Object.entries(ATTACKS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const { idle, bounded, memory } = await measuredBounded(attack)
  const free = await measuredUnbounded(attack)
  const beyond = Math.max(...NAMES.map(one => bounded[one].max - idle[one].max))
  const { before, peak, after } = memory
  const { of, show: shown } = MEASURES[attack.measure ?? 'answers']
  console.log(
    [
      name.padEnd(20),
      `      ${show(idle)}`,
      `    ${show(bounded)}`,
      beyond.toFixed(0).padStart(11),
      `    ${show(free)}`,
      (of(free) / of(bounded)).toFixed(1).padStart(5),
      `${mb(before.rss)}${mb(peak)}${mb(after.rss)}`.padStart(29),
      `${mb(before.held)}${mb(after.held)}`.padStart(19),
      attack.measure === undefined ? '' : `${shown(of(bounded))} → ${shown(of(free))}`,
      bounded.refused > 0 ? `${bounded.refused} refused` : '',
    ].join('  '),
  )
}
process.exit(0)
