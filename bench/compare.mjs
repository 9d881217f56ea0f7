// Two checkouts side by side: `node bench/compare.mjs /path/to/other-checkout [rounds] [noop|long]`. Both hosts are
// started, and the same load goes to one and then the other, round after round and each first in turn, so that what the
// machine does meanwhile touches both alike. Prints per round, and as medians, this checkout by the other: complete runs
// per second, and what both spend of the processor for a run (the other by this, so that more is better there too). On a
// machine that others use, only the second says much. A process is compiled a little differently every time it starts:
// what is to be believed to five parts in a hundred is measured in several sessions.
import { execFile, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const [, , other, rounds = '9', only] = process.argv
const here = path.resolve(import.meta.dirname, '..')
const LOADS = [
  { workflowId: 'noop', concurrency: 64, seconds: 3 },
  { workflowId: 'long', concurrency: 4, seconds: 3 },
]
const node = (id, typeId, config = {}) => ({ id, typeId, name: id, position: { x: 0, y: 0 }, config, inputs: {} })
const edge = (id, sourceNodeId, targetNodeId, more = {}) => ({ id, sourceNodeId, targetNodeId, ...more })
const PROJECT = [
  { id: 'noop', nodes: [node('a', 'core.noop')], edges: [] },
  {
    id: 'long',
    nodes: [node('loop', 'core.loop', { maxIterations: 100 }), node('body', 'core.noop'), node('end', 'core.noop')],
    edges: [
      edge('e1', 'loop', 'body', { sourceOutput: 'body' }),
      edge('e2', 'body', 'loop'),
      edge('e3', 'loop', 'end', { sourceOutput: 'done' }),
    ],
  },
]

async function serve(checkout, port) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-compare-'))
  const workflows = path.join(folder, 'project', 'workflows')
  fs.mkdirSync(workflows, { recursive: true })
  for (const { id, ...graph } of PROJECT) {
    const definition = { id, name: id, version: '1.0', variables: [], settings: {}, ...graph }
    fs.writeFileSync(path.join(workflows, `${id}.json`), JSON.stringify(definition))
  }
  const data = path.join(folder, 'data')
  const flags = ['--port', String(port), '--data', data, '--project', path.join(folder, 'project')]
  const child = spawn(process.execPath, [path.join(checkout, 'bin/assay'), 'serve', ...flags, '--log-level', 'warn'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  const key = () => fs.readFileSync(path.join(data, 'local-key'), 'utf8').trim()
  await answering(async () => (await fetch(`${url}/v1/workflows/long`, headersOf(key()))).ok)
  return { url, key: key(), pid: child.pid, stop: () => child.kill('SIGTERM') }
}

const headersOf = key => ({ headers: { authorization: `Bearer ${key}` } })

async function answering(probe) {
  const deadline = Date.now() + 60_000
  while (!(await probe().catch(() => false))) {
    if (Date.now() > deadline) throw new Error('a host does not answer')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

/** Time of all threads on a processor, in ticks. */
function ticksOf(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return Number(fields[11]) + Number(fields[12])
}

async function measure({ url, key, pid }, { workflowId, concurrency, seconds }) {
  const parameters = [url, key, workflowId, String(concurrency), String(seconds)]
  const generator = path.join(here, 'bench/load-generator.mjs')
  const before = ticksOf(pid)
  const { stdout } = await promisify(execFile)(process.execPath, [generator, ...parameters])
  const { perSecond, all } = JSON.parse(stdout)
  return { perSecond, cost: (ticksOf(pid) - before) / all }
}

const median = numbers => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

const hosts = { this: await serve(here, 21_411), other: await serve(path.resolve(other), 21_412) }
for (const load of LOADS.filter(({ workflowId }) => (only ?? workflowId) === workflowId)) {
  const [speeds, costs] = [[], []]
  for (let round = 0; round < Number(rounds); round += 1) {
    const found = {}
    for (const name of round % 2 === 0 ? ['this', 'other'] : ['other', 'this'])
      found[name] = await measure(hosts[name], load)
    speeds.push(found.this.perSecond / found.other.perSecond)
    costs.push(found.other.cost / found.this.cost)
    console.log(
      `${load.workflowId} round ${round + 1}: speed ${speeds.at(-1).toFixed(3)}, cost ${costs.at(-1).toFixed(3)}`,
    )
  }
  console.log(`${load.workflowId}: median of speed ${median(speeds).toFixed(3)}, of cost ${median(costs).toFixed(3)}`)
}
for (const host of Object.values(hosts)) host.stop()
