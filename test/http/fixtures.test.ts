import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { createHost, type Host } from '../../src/host.js'
import { node, workflow } from './harness.js'

let folder: string
let host: Host | undefined
const lines: { readonly level: string; readonly fields: Any }[] = []

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
type Any = any

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'assay-fixtures-'))
  mkdirSync(path.join(folder, 'suite'))
  lines.length = 0
})
afterEach(async () => {
  await host?.stop()
  host = undefined
  rmSync(folder, { recursive: true })
})

const KEY = 'a key for the tests of fixtures'.replaceAll(' ', '-')

async function serve(fixtures: string): Promise<void> {
  const settings = { conformance: true, fixtures, port: '0', database: 'memory:', data: path.join(folder, 'data') }
  const at = (level: string) => (fields: object) => void lines.push({ level, fields })
  const log = { info: at('info'), warn: at('warn'), error: at('error') }
  host = await createHost(loadConfig(settings, { ASSAY_API_KEY: KEY }, folder), { log })
  await host.start()
}

const call = async (url: string, init: object = {}): Promise<Any> => {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  return (await fetch(`${host?.url}${url}`, { headers, ...init })).json()
}

test('R-CAP-3 R-DISC-4: what a host has taken of a suite is advertised and can be run, what it refused is logged', async () => {
  const suite = path.join(folder, 'suite')
  writeFileSync(path.join(suite, 'a.json'), JSON.stringify(workflow('suite-noop', [node('n', 'core.noop')])))
  writeFileSync(path.join(suite, 'b.json'), JSON.stringify(workflow('suite-odd', [node('n', 'core.nonsense')])))
  await serve(suite)
  const discovery = await call('/.well-known/openwop')
  expect([discovery.fixtures, discovery.capabilities.fixtures]).toEqual([['suite-noop'], ['suite-noop']])
  expect(discovery.conformance).toEqual({ mockAgent: true })
  const left = lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields.fixture)
  expect(left).toEqual(['b.json'])
  const run = await call('/v1/runs', { method: 'POST', body: '{"workflowId":"suite-noop"}' })
  expect((await call(run.statusUrl)).status).toBe('completed')
})

test('R-CAP-3 R-FLOW-4: core.delay waits for config.durationMs, as the suite spells it', async () => {
  const suite = path.join(folder, 'suite')
  const late = workflow('suite-late', [node('n', 'core.delay', { config: { durationMs: 3_600_000 } })])
  writeFileSync(path.join(suite, 'a.json'), JSON.stringify(late))
  await serve(suite)
  const run = await call('/v1/runs', { method: 'POST', body: '{"workflowId":"suite-late"}' })
  expect((await call(run.statusUrl)).status).toBe('running')
})

test('a folder that is not there stops the start', async () => {
  await expect(serve(path.join(folder, 'nowhere'))).rejects.toThrow('check --fixtures')
})

const FIXTURES = '/work/shared/openwop/fixtures'

test.skipIf(!existsSync(FIXTURES))('the protocol’s fixtures of the loop are all taken', async () => {
  await serve(FIXTURES)
  const { fixtures } = await call('/.well-known/openwop')
  expect(fixtures).toEqual(
    expect.arrayContaining([
      'conformance-multi-agent-handoff',
      'conformance-multi-agent-handoff-child',
      'conformance-multi-agent-confidence-escalation',
      'conformance-orchestrator-dispatch',
      'conformance-orchestrator-terminate',
      'conformance-dispatch-loop',
      'conformance-dispatch-input-mapping',
      'conformance-dispatch-output-mapping',
      'conformance-subworkflow-input-mapping',
      'conformance-agent-identity',
      'conformance-agent-reasoning',
      'conformance-agent-low-confidence',
      'conformance-noop',
    ]),
  )
  expect(fixtures).toContain('conformance-dispatch-cancellable-child')
  for (const inert of [
    'conformance-agent-channel-dispatch',
    'conformance-agent-memory-roundtrip',
    'conformance-agent-memory-ttl',
    'conformance-agent-memory-redaction',
    'conformance-agent-pack-handoff-schema-validation',
  ])
    expect(fixtures).not.toContain(inert)
})
