import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { expect } from 'vitest'
import { readLocalKey } from '../../src/client/local-key.js'
import { loadConfig, type Overrides } from '../../src/config.js'
import type { HostParts } from '../../src/ground.js'
import { createHost, type Host } from '../../src/host.js'
import { SCOPES } from '../../src/wire/key.js'
import { temporaryFolder } from '../cli/assay-process.js'
import { at, writeProject } from '../e2e/judging/project.js'
import { node, workflow } from '../http/harness.js'
import { freePort } from '../support/free-port.js'

/** A whole host with the offline model, served over a socket, and keys of three tenants to attack it with. */
export type LiveHost = Awaited<ReturnType<typeof startLiveHost>>

export type Reply = {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  readonly json: any
}

export type Ask = {
  readonly method?: string
  readonly body?: unknown
  /** As it is, in place of `body`. */
  readonly bytes?: string | Buffer
  readonly headers?: http.OutgoingHttpHeaders
}

export type KeyOf = 'admin' | 'alice' | 'bob' | 'tester' | 'reader' | 'canceller' | null

export type ProjectFiles = { readonly [name: string]: string | object }

const TENANT_SCOPES = SCOPES.filter(scope => scope !== 'tenants:manage')

const WORKFLOWS = [
  workflow('hello', [node('only', 'core.noop')], { variables: [{ name: 'name', type: 'string' }] }),
  workflow('asks', [node('gate', 'core.approvalGate', { config: { artifactData: { text: 'draft' } } })]),
  workflow('waits', [node('wait', 'core.delay', { config: { delayMs: 3_600_000 } })]),
]

/** `files`: of the project, besides or in place of those of the judged worker; an object is written as JSON. */
export async function startLiveHost(settings: Overrides = {}, parts: HostParts = {}, files: ProjectFiles = {}) {
  const folder = temporaryFolder()
  const [project, data] = [path.join(folder, 'project'), path.join(folder, 'data')]
  writeProject(project)
  for (const one of WORKFLOWS as readonly { readonly id: string }[])
    fs.writeFileSync(path.join(project, 'workflows', `${one.id}.json`), JSON.stringify(one))
  for (const [name, content] of Object.entries(files))
    fs.writeFileSync(path.join(project, name), typeof content === 'string' ? content : JSON.stringify(content))
  const overrides = { project, data, port: String(await freePort()), 'log.level': 'silent', ...settings }
  const host: Host = await createHost(loadConfig(overrides, {}, folder), parts)
  await host.start()
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  const keys = new Map<KeyOf, string>([['admin', (await readLocalKey(data)) ?? '']])
  const target = new URL(host.url)
  let sent = 0

  const call = (who: KeyOf | { readonly key: string }, url: string, ask: Ask = {}): Promise<Reply> => {
    sent += 1
    const key = who === null ? undefined : typeof who === 'object' ? who.key : keys.get(who)
    const bytes = ask.bytes ?? (ask.body === undefined ? undefined : JSON.stringify(ask.body))
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(bytes === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
      ...ask.headers,
    }
    return send(
      { host: target.hostname, port: target.port, path: url, method: ask.method ?? 'GET', headers, agent },
      bytes,
    )
  }

  const made = async (name: KeyOf, body: object) => {
    const reply = await call('admin', '/v1/keys', { method: 'POST', body })
    expect(reply.status, reply.text).toBe(201)
    keys.set(name, reply.json.key)
  }
  await made('alice', { tenant: 'acme', principal: 'alice', scopes: TENANT_SCOPES })
  await made('bob', { tenant: 'beta', principal: 'bob', scopes: TENANT_SCOPES })
  await made('tester', { tenant: 'acme', principal: 'tester', scopes: TENANT_SCOPES, test: true })
  await made('reader', { tenant: 'acme', principal: 'reader', scopes: ['runs:read'] })
  await made('canceller', { tenant: 'acme', principal: 'canceller', scopes: ['runs:cancel'] })
  await call('alice', '/v1/host/assay/gates', { method: 'POST', body: at(4) })

  return {
    host,
    folder,
    data,
    project,
    port: Number(target.port),
    call,
    /** Requests so far. */
    sent: () => sent,
    keyOf: (name: KeyOf) => keys.get(name) ?? '',
    /** A run that has begun, by its id. */
    async start(who: KeyOf, workflowId: string, inputs: object = {}): Promise<string> {
      const reply = await call(who, '/v1/runs', { method: 'POST', body: { workflowId, inputs } })
      expect(reply.status, reply.text).toBe(201)
      return reply.json.runId
    },
    async until(who: KeyOf, runId: string, isSo: (status: string) => boolean): Promise<Reply['json']> {
      for (;;) {
        const { json } = await call(who, `/v1/runs/${runId}`)
        if (isSo(json.status)) return json
        await call(who, `/v1/runs/${runId}/events/poll?timeout=1&lastSequence=100000`)
      }
    },
    async stop() {
      agent.destroy()
      await host.stop()
      fs.rmSync(folder, { recursive: true })
    },
  }
}

export const isOver = (status: string): boolean => ['completed', 'failed', 'cancelled'].includes(status)

function send(options: http.RequestOptions, bytes: string | Buffer | undefined): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = http.request(options, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = String(response.headers['content-type']).startsWith('application/json')
        const json = isJson && text !== '' ? JSON.parse(text) : undefined
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
      })
    })
    request.on('error', reject)
    request.end(bytes)
  })
}
