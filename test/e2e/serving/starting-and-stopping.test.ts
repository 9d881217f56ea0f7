import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config.js'
import type { Store } from '../../../src/engine/ports/store.js'
import { createHost, type Host } from '../../../src/host.js'
import { sketch } from '../../../src/testing/workflow.js'
import { freePort } from '../../support/free-port.js'
import { until } from '../../support/host-process.js'

const KEY = 'a key of this test alone'.replaceAll(' ', '-')

let folder: string
let port: number
const closing: (() => unknown)[] = []

beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-serving-'))
  closing.push(() => fs.rmSync(folder, { recursive: true }))
  fs.mkdirSync(path.join(folder, 'project', 'workflows'), { recursive: true })
  const hello = sketch({ id: 'hello', nodes: { a: 'core.noop' } })
  fs.writeFileSync(path.join(folder, 'project', 'workflows', 'hello.json'), JSON.stringify(hello))
  port = await freePort()
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A host whose store stands still in one method until it is let go. */
async function hostHeldAt(method: keyof Store) {
  let [reached, held] = [0, true]
  let letGo: () => void = () => undefined
  const gone = new Promise<void>(resolve => {
    letGo = resolve
  })
  const wrapStore = (store: Store) =>
    new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== method) return value.bind(target)
        return async (...parameters: unknown[]) => {
          reached += 1
          if (held) await gone
          return value.apply(target, parameters)
        }
      },
    })
  const overrides = { port: String(port), data: path.join(folder, 'data'), project: path.join(folder, 'project') }
  const config = loadConfig({ ...overrides, 'log.level': 'silent' }, { ASSAY_API_KEY: KEY }, folder)
  const host: Host = await createHost(config, { wrapStore })
  const release = () => {
    held = false
    letGo()
  }
  closing.push(() => host.stop(), release)
  return { host, release, isReached: () => reached > 0 }
}

const ask = async (at: string, body?: object, key?: string) => {
  const response = await fetch(`http://127.0.0.1:${port}${at}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${KEY}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { status, headers } = response
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  return { status, retryAfter: headers.get('retry-after'), body: (await response.json()) as any }
}

const create = (key?: string) => ask('/v1/runs', { workflowId: 'hello' }, key)

/** Everything but probes is asked to come back; probes say why. */
async function expectClosed(phase: 'starting' | 'stopping'): Promise<void> {
  const wrongKey = fetch(`http://127.0.0.1:${port}/v1/runs`, { headers: { authorization: 'Bearer no-such-key' } })
  expect((await wrongKey).status).toBe(503)
  for (const reply of [
    await create(),
    await create('key'),
    await ask('/v1/runs'),
    await ask('/v1/workflows/hello'),
    await ask('/v1/openapi.json'),
    await ask('/.well-known/openwop'),
  ]) {
    expect([reply.status, reply.body.error, reply.retryAfter]).toEqual([503, 'service_unavailable', '1'])
    expect(reply.body.message).toContain(`The host is ${phase}`)
  }
  for (const at of ['/ready', '/healthz']) {
    const { status, body, retryAfter } = await ask(at)
    expect([status, body.error, retryAfter]).toEqual([503, 'service_unavailable', '1'])
    expect(body.details.reasons).toContain(`the host is ${phase}`)
  }
  expect(await ask('/live')).toMatchObject({ status: 200, body: { status: 'live' } })
}

async function expectOpen(): Promise<void> {
  for (const at of ['/live', '/ready', '/healthz']) expect((await ask(at)).status).toBe(200)
  expect((await create()).status).toBe(201)
}

test.each(['putWorkflow', 'registerHost', 'listWebhooks'] as const)(
  'E62: nothing is served before everything is loaded, held at %s: 503 with Retry-After, never 400; probes tell',
  async method => {
    const { host, release, isReached } = await hostHeldAt(method)
    const started = host.start()
    await until('the host to be held', isReached)
    await expectClosed('starting')
    release()
    await started
    await expectOpen()
  },
)

test.each(['getWorkflow', 'commit'] as const)(
  'E62: a host that stops refuses what is new, and answers what it has let in, held at %s',
  async method => {
    const { host, release, isReached } = await hostHeldAt(method)
    await host.start()
    const letIn = create('let-in')
    await until('the create to be under way', isReached)
    const stopped = host.stop()
    await expectClosed('stopping')
    release()
    expect((await letIn).status).toBe(201)
    await stopped
    await expect(create()).rejects.toThrow('fetch failed')
  },
)

test('E62: a request that was let in and lost its caller does not hold a stop up', async () => {
  const { host, release, isReached } = await hostHeldAt('commit')
  await host.start()
  const away = new AbortController()
  const left = fetch(`http://127.0.0.1:${port}/v1/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ workflowId: 'hello' }),
    signal: away.signal,
  })
  await until('the create to be under way', isReached)
  away.abort()
  await expect(left).rejects.toThrow('aborted')
  release()
  await host.stop()
})
