import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { expect } from 'vitest'
import { AssayClient } from '../../../src/client/assay-client.js'
import { ensureLocalKey } from '../../../src/client/local-key.js'
import { loadConfig } from '../../../src/config.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Log } from '../../../src/engine/ports/log.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { createHost, type Host } from '../../../src/host.js'
import { checkLog } from '../../../src/log-check/check-log.js'
import { runsIn } from '../../support/stored-runs.js'

/** A host with a project of a test's own, whose plain steps act for real: on files, processes and a receiver. */

export type Files = { readonly [file: string]: string | object }

export type StepHost = {
  readonly client: AssayClient
  readonly host: Host
  readonly store: Store
  readonly project: string
  readonly logged: readonly { readonly message: string; readonly fields: object }[]
  /** Runs the workflow to its end. */
  run(workflowId: string, inputs?: JsonObject): Promise<Ended>
  ended(runId: string): Promise<Ended>
  write(files: Files): void
  /** What the log checker has to say of all that was stored. */
  findings(): Promise<readonly unknown[]>
}

export type Ended = {
  readonly runId: string
  readonly status: string
  readonly outputs: JsonObject
  readonly error: { readonly code: string; readonly message: string } | undefined
  readonly events: readonly { readonly type: string; readonly nodeId?: string; readonly payload: JsonObject }[]
}

const closing: (() => unknown)[] = []

/** To be called after each test. */
export async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close()
}

export function writeFiles(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
}

export function newFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-steps-'))
  closing.push(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function startStepHost(
  files: Files,
  settings: { readonly [name: string]: string | boolean | number } = {},
  env: { readonly [name: string]: string } = {},
): Promise<StepHost> {
  const folder = newFolder()
  const project = path.join(folder, 'project')
  fs.mkdirSync(path.join(project, 'workflows'), { recursive: true })
  writeFiles(project, files)
  const logged: { message: string; fields: object }[] = []
  const note = (fields: object, message: string) => void logged.push({ message, fields })
  const log: Log = { info: note, warn: note, error: note }
  const config = loadConfig(
    { project, data: path.join(folder, 'data'), database: 'memory:', port: 0, 'steps.allowPrivate': true, ...settings },
    env,
  )
  let store: Store | undefined
  const host = await createHost(config, {
    log,
    wrapStore: opened => {
      store = opened
      return opened
    },
  })
  closing.push(() => host.stop())
  await host.start()
  const client = new AssayClient({ url: host.url, key: await ensureLocalKey(config.data) })
  const ended = async (runId: string): Promise<Ended> => {
    // Followers are let go when it has ended.
    for await (const { runId: followed } of client.followEvents(runId)) expect(followed).toBe(runId)
    const [run, events] = [await client.getRun(runId), await client.readEvents(runId)]
    const { status, outputs, error } = run as unknown as Ended
    return { runId, status, outputs: outputs ?? {}, error, events: events as unknown as Ended['events'] }
  }
  return {
    client,
    host,
    store: store as Store,
    project,
    logged,
    ended,
    run: async (workflowId, inputs = {}) => ended((await client.createRun({ workflowId, inputs })).runId),
    write: more => writeFiles(project, more),
    findings: async () => checkLog({ runs: await runsIn(store as Store), complete: true }),
  }
}

/** A workflow of one node, and an end that gives on what the node gave. */
export const single = (id: string, typeId: string, node: JsonObject, variables: readonly JsonObject[] = []) => ({
  id,
  variables,
  nodes: [
    { id: 'work', typeId, ...node },
    {
      id: 'end',
      typeId: 'core.end',
      inputs: { done: { type: 'expression', expression: 'nodes.work' } },
    },
  ],
  edges: [{ sourceNodeId: 'work', targetNodeId: 'end' }],
})

export type Received = {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

type Reply = { readonly status?: number; readonly headers?: http.OutgoingHttpHeaders; readonly body?: string | Buffer }

/** Takes whatever comes, and answers as it is told; `undefined` cuts the connection. */
export async function startReceiver(answer: (request: Received, count: number) => Reply | undefined = () => ({})) {
  const received: Received[] = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const got = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body }
    received.push(got)
    const reply = answer(got, received.length)
    if (reply === undefined) return response.destroy()
    response.writeHead(reply.status ?? 200, reply.headers).end(reply.body ?? '')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise(resolve => server.close(resolve)))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

export const told = ({ events }: Ended, type: string, nodeId = 'work') =>
  events.filter(event => event.type === type && event.nodeId === nodeId)

/** Whether the process is there and at work; one that nobody has taken note of yet is not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^\d+ \(.*\) Z/.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
