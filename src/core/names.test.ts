import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isAgentId, isNamed, isWorkflowId, isWorkId, NAMES, type Named, patternOf } from './names.js'

const CONFUSABLE = ['gated\0', '\0gated', 'ga\0ted', 'Gated', 'gаted', 'ｇated', 'gated ', 'gated\n', 'gated\u200b', '']

describe('ids of work', () => {
  test.each(['gated', 'a', 'a-b_c9', 'x'.repeat(128)])('%j names a workflow', id => {
    expect([isWorkflowId(id), isAgentId(id), isWorkId(id)]).toEqual([true, false, true])
  })

  test.each(['acme.writer', 'local.acme.writer', 'core.x:Y', `a.${'x'.repeat(200)}`])('%j names an agent', id => {
    expect([isWorkflowId(id), isAgentId(id), isWorkId(id)]).toEqual([false, true, true])
  })

  test.each([...CONFUSABLE, ...CONFUSABLE.map(id => `acme.${id}`).filter(id => id !== 'acme.Gated'), 'x'.repeat(129)])(
    '%j names nothing',
    id => {
      expect([isWorkflowId(id), isAgentId(id), isWorkId(id)]).toEqual([false, false, false])
    },
  )
})

/** A name of each kind, as it may be. */
const GOOD: { readonly [Name in Named]: string } = {
  workflowId: 'gated',
  agentId: 'acme.writer',
  packageName: 'local.acme.writer',
  actorId: 'abc',
  workId: 'gated',
  nodeType: 'core.noop',
  peerName: 'beta-2',
  workerId: 'peer:beta/draft',
  foreignEventId: 'run_1:7',
  runId: '01J-x',
  keyId: 'key_1',
  webhookId: 'wh_1',
  artifactId: 'art-7',
  gateId: 'g.1',
  intentId: 'i-1',
  entryId: 'K_1',
  criterion: 'grounded',
  probeId: 'p-1',
  tenant: 'acme',
  principal: 'ann',
  hostName: 'host:1',
  hostId: 'acme.example/assay',
  toolServer: 'files',
  toolName: 'files/read',
  promptId: 'triage',
  filePath: 'reports/2026-11.md',
  memoryId: 'wie besprochen',
  memoryRef: 'Leute',
  contentType: 'text/plain; charset=utf-8',
  idempotencyKey: 'k:1',
  nodeId: 'Prüfen 1',
  part: 'größe',
  tag: 'a tag',
  memoryScope: 'team notes',
  scopeId: 'Ordner 7',
  toolId: 'mcp:files.read',
  person: 'Ann Ö.',
}

describe('every name', () => {
  test.each(Object.keys(NAMES) as Named[])('%s has a good one, and none with a control character anywhere', name => {
    const good = GOOD[name]
    expect(isNamed(name, good)).toBe(true)
    const control = fc.constantFrom(
      ...Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)),
      '\u2028',
      '\u2029',
    )
    fc.assert(
      fc.property(control, fc.nat(good.length), (char, at) => {
        const isControl = /[\p{Cc}\u2028\u2029]/u.test(char)
        const text = good.slice(0, at) + char + good.slice(at)
        return !isControl || (!isNamed(name, text) && !new RegExp(patternOf(name)).test(text))
      }),
      { numRuns: 2_000 },
    )
    expect([isNamed(name, ''), isNamed(name, good.padEnd(2_000, 'x'))]).toEqual([false, false])
  })
})
