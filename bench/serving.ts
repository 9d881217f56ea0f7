import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readLocalKey } from '../src/client/local-key.js'
import { sketch } from '../src/testing/workflow.js'
import { freePort } from '../test/support/free-port.js'
import { until } from '../test/support/host-process.js'
import { WORKFLOWS } from './workflows.js'

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
/** A server under load, in a process of its own. */
export type Server = {
  readonly url: string
  readonly key: string
  readonly pid: number
  stop(signal?: NodeJS.Signals): Promise<void>
}

export async function serveAssay(
  folder: string,
  database: string,
  model: string,
): Promise<Server & { coldStartMs: number }> {
  const workflows = path.join(folder, 'project', 'workflows')
  mkdirSync(workflows, { recursive: true })
  for (const workflow of WORKFLOWS)
    writeFileSync(path.join(workflows, `${workflow.id}.json`), JSON.stringify(sketch(workflow)))
  const agents = path.join(folder, 'project', 'agents')
  mkdirSync(agents, { recursive: true })
  writeFileSync(path.join(agents, 'echo.md'), '---\nmodelClass: general\n---\nSay hello.\n')
  const data = path.join(folder, 'data')
  const port = await freePort()
  const flags = [
    '--port',
    String(port),
    '--data',
    data,
    '--database',
    database,
    '--project',
    path.join(folder, 'project'),
    '--limits-max-loop-iterations',
    '20000',
    '--log-level',
    'warn',
  ]
  const began = performance.now()
  const child = spawn(process.execPath, [here('../bin/assay'), 'serve', ...flags], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, OPENAI_BASE_URL: model, OPENAI_API_KEY: 'bench-key' },
  })
  const url = `http://127.0.0.1:${port}`
  await answers(`${url}/.well-known/openwop`)
  const coldStartMs = Math.round(performance.now() - began)
  await until('the workflows to be registered', async () => (await fetch(`${url}/healthz`)).ok)
  const key = (await readLocalKey(data))!
  await until(
    'the workflows to be registered',
    async () => (await fetch(`${url}/v1/workflows/worker`, { headers: { authorization: `Bearer ${key}` } })).ok,
  )
  return { url, key, pid: child.pid!, coldStartMs, stop: signal => stop(child, signal) }
}

export async function serveBare(): Promise<Server> {
  const port = await freePort()
  const child = spawn(process.execPath, [here('./bare-server.mjs'), String(port)], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await answers(`${url}/v1/runs/x`)
  return { url, key: 'none', pid: child.pid!, stop: signal => stop(child, signal) }
}

export type Load = { readonly runs: number; readonly perSecond: number; readonly p50: number; readonly p99: number }

/** Complete runs per second as a client process of its own sees them. */
export async function load(server: Server, workflowId: string, concurrency: number, seconds: number): Promise<Load> {
  const parameters = [
    here('./load-generator.mjs'),
    server.url,
    server.key,
    workflowId,
    String(concurrency),
    String(seconds),
  ]
  const { stdout } = await promisify(execFile)(process.execPath, parameters)
  return JSON.parse(stdout)
}

export const residentMb = (pid: number): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024)

const answers = (url: string) =>
  until(`${url} to answer`, async () => {
    try {
      return (await fetch(url)).status > 0
    } catch (error) {
      if (error instanceof TypeError) return false
      throw error
    }
  })

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const gone = new Promise(resolve => child.once('exit', resolve))
  child.kill(signal)
  await gone
}
