// One tenant exhausts a resource while another's requests are timed by a process of its own. Three figures for each, in one
// run: idle, attacked, and attacked with that bound taken away. `node bench/fairness.mjs [resource …]`, after a build.
import { execFile, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const SECONDS = 6
const here = name => fileURLToPath(new URL(name, import.meta.url))
const members = n => Object.fromEntries(Array.from({ length: n }, (_, i) => [`key${i}`, `value${i}`]))
const letters = n => Array.from({ length: n }, (_, i) => 'ab'[(Math.imul(i, 2_654_435_761) >>> 13) & 1]).join('')
const numbers = n => Array.from({ length: n }, (_, i) => i)

const workflow = (id, nodes, edges = []) => ({
  id,
  name: id,
  version: '1.0',
  nodes: Object.entries(nodes).map(([nodeId, { type, config = {}, inputs = {} }], i) => ({
    id: nodeId,
    typeId: type,
    name: nodeId,
    position: { x: i * 100, y: 0 },
    config,
    inputs,
  })),
  edges: edges.map(([from, to, sourceOutput], i) => ({
    id: `e${i}`,
    sourceNodeId: from,
    targetNodeId: to,
    ...(sourceOutput ? { sourceOutput } : {}),
  })),
  triggers: [],
  variables: [],
  metadata: {},
  settings: {},
})
const loop = (id, condition, value, passes) =>
  workflow(
    id,
    {
      loop: { type: 'core.loop', config: { ...(condition ? { condition } : {}), maxIterations: passes } },
      body: {
        type: 'core.setVariable',
        config: { name: 'x' },
        inputs: { value: { type: 'expression', expression: value } },
      },
    },
    [
      ['loop', 'body', 'body'],
      ['body', 'loop'],
    ],
  )
const one = (id, expression) =>
  workflow(id, { a: { type: 'core.identity', inputs: { v: { type: 'expression', expression } } } })

/** What the attacker does, and which bound is there for it. */
const RESOURCES = {
  'regular expressions': {
    unbounded: { decisions: true },
    workflow: one('attack', 'inputs.t.matches(inputs.p)'),
    // Each state of it leads to two others: the engine cannot keep them, and goes through all parts for each character.
    inputs: { t: letters(100_000), p: '[ab]*a[ab]{600}[yz]$' },
  },
  loops: {
    unbounded: { decisions: true },
    workflow: loop('attack', 'inputs.a == inputs.b', 'inputs.a == inputs.b', 100),
    inputs: { a: members(8_000), b: members(8_000) },
  },
  'deep JSON': {
    unbounded: { decisions: true },
    workflow: one('attack', 'inputs.l.map(x, inputs.m).size() == 0 ? [] : inputs.l.map(x, inputs.m)'),
    inputs: { l: numbers(400), m: members(2_000) },
  },
  'long texts': {
    unbounded: { decisions: true },
    workflow: one('attack', 'inputs.l.all(x, inputs.t.size() > 0)'),
    inputs: { l: numbers(500), t: 'x'.repeat(800_000) },
  },
  'huge outputs': {
    unbounded: { decisions: true },
    workflow: loop('attack', undefined, 'inputs.t', 60),
    inputs: { t: 'x'.repeat(900_000) },
  },
  histories: { unbounded: { streams: true }, readers: 20, reads: true },
  'slow readers': { unbounded: { streams: true }, readers: 20, reads: false },
}

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

async function started(unbounded) {
  const data = mkdtempSync(path.join(tmpdir(), 'assay-fair-'))
  const port = await freePort()
  const child = fork(here('./fair-host.mjs'), [data, String(port), JSON.stringify(unbounded)], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  children.add(child)
  await new Promise((resolve, reject) =>
    child.once('message', resolve).once('exit', () => reject(new Error('the host ended'))),
  )
  const url = `http://127.0.0.1:${port}`
  const key = readFileSync(path.join(data, 'local-key'), 'utf8').trim()
  const tenant = async name => {
    const scopes = ['runs:create', 'runs:read', 'workflows:write']
    const made = await call(url, key, 'POST', '/v1/keys', { tenant: name, scopes })
    if (made.status !== 201) throw new Error(made.text)
    return JSON.parse(made.text).key
  }
  const [attacker, other] = [await tenant('attacker'), await tenant('other')]
  await put(url, other, workflow('noop', { a: { type: 'core.noop' } }))
  const stop = async () => {
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    rmSync(data, { recursive: true, force: true })
  }
  const rss = () =>
    Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024)
  return { url, attacker, other, stop, rss }
}

async function put(url, key, definition) {
  const answer = await call(url, key, 'POST', '/v1/workflows', definition)
  if (answer.status >= 300) throw new Error(answer.text)
}

async function seenByOther({ url, other }, seconds) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    here('./other-tenant.mjs'),
    url,
    other,
    String(seconds),
  ])
  return JSON.parse(stdout)
}

/** Begins the attack; what is returned ends it. */
async function attacked({ url, attacker }, resource) {
  let over = false
  const sockets = []
  if (resource.readers === undefined) {
    await put(url, attacker, resource.workflow)
    const again = async () => {
      while (!over)
        await call(url, attacker, 'POST', '/v1/runs', { workflowId: 'attack', inputs: resource.inputs }).catch(
          () => undefined,
        )
    }
    void again()
    void again()
  } else {
    await put(url, attacker, loop('attack', undefined, 'inputs.t', 2_500))
    const made = await call(url, attacker, 'POST', '/v1/runs', {
      workflowId: 'attack',
      inputs: { t: 'x'.repeat(2_000) },
    })
    const { runId } = JSON.parse(made.text)
    for (;;) {
      const { text } = await call(url, attacker, 'GET', `/v1/runs/${runId}`)
      if (JSON.parse(text).status !== 'running') break
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    const open = () => {
      if (over) return
      const request = http.get(
        `${url}/v1/runs/${runId}/events?streamMode=debug`,
        { headers: { authorization: `Bearer ${attacker}` }, agent: false },
        response => {
          if (resource.reads) response.resume()
          response.on('end', open)
          response.on('error', () => undefined)
        },
      )
      request.on('error', () => undefined)
      sockets.push(request)
    }
    for (let i = 0; i < resource.readers; i += 1) open()
  }
  return () => {
    over = true
    for (const socket of sockets) socket.destroy()
  }
}

const worst = figures => Math.max(figures.read.max, figures.create.max, figures.healthz.max)
const show = figures => ['read', 'create', 'healthz'].map(name => figures[name].max.toFixed(0).padStart(6)).join(' ')

const wanted = process.argv.slice(2)
const names = Object.keys(RESOURCES).filter(name => wanted.length === 0 || wanted.includes(name))
console.log(
  `load of the machine before: ${loadavg()
    .map(n => n.toFixed(1))
    .join(' ')}; longest answer in ms to another tenant's read, create, GET /healthz`,
)
console.log(
  'resource              idle                  attacked              bound taken away      times  MB before, after',
)
for (const name of names) {
  const resource = RESOURCES[name]
  const measured = []
  const memory = []
  for (const unbounded of [{}, resource.unbounded]) {
    const host = await started(unbounded)
    if (measured.length === 0) {
      measured.push(await seenByOther(host, 3))
      memory.push(host.rss())
    }
    const end = await attacked(host, resource)
    measured.push(await seenByOther(host, SECONDS))
    end()
    if (measured.length === 2) {
      await seenByOther(host, 3)
      memory.push(host.rss())
    }
    await host.stop()
  }
  const [idle, bounded, free] = measured
  const times = (worst(free) / worst(bounded)).toFixed(1)
  console.log(
    `${name.padEnd(20)} ${[idle, bounded, free].map(show).join('  ')}  ${times.padStart(5)}  ${memory.join(', ')}${bounded.refused ? ` (${bounded.refused} refused)` : ''}`,
  )
}
process.exit(0)
