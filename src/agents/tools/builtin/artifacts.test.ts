import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../../core/json.js'
import type { Artifacts } from '../../../engine/ports/agents.js'
import { createBuiltins } from './builtins.js'

const KIB = 1024
const signal = new AbortController().signal
const settings = { mcp: {}, rules: {}, httpAllow: [], timeoutMs: 1_000, maxResultBytes: 65_536 }
const egress = { send: () => Promise.reject(new Error('nothing leaves')), close: () => undefined } as never

const REPORT = { artifactId: 'art-7', artifactType: 'report', nodeId: 'a' }
const NOTES = { artifactId: 'art-9', artifactType: 'notes', nodeId: 'b' }
const CONTENTS = new Map<string, Json>([
  ['t/r/art-7', 'a text'],
  ['t/r/art-9', { n: [1, null] }],
  ['t/r/art-11', null],
])

const shelf: Artifacts = {
  list: async (tenant, runId) => (tenant === 't' && runId === 'r' ? [REPORT, NOTES] : []),
  read: async (tenant, runId, artifactId) => CONTENTS.get(`${tenant}/${runId}/${artifactId}`),
}

async function toolsWith(artifacts?: Artifacts, rules = {}) {
  const deps = { settings: { ...settings, rules }, egress }
  return (await createBuiltins(artifacts ? { ...deps, artifacts } : deps).tools(signal))!
}

async function call(toolId: string, args: JsonObject, { tenant = 't', runId = 'r' } = {}) {
  const { invoke } = (await toolsWith(shelf)).get(toolId)!
  return invoke({
    tenant,
    runId,
    id: 'e',
    traceparent: 't',
    agentId: 'a.b.c',
    desk: {},
    args,
    signal,
    timeoutMs: 1_000,
    maxBytes: 65_536,
  })
}

describe('which tools there are', () => {
  test('those that look at artifacts only where the host lets them', async () => {
    expect([...(await toolsWith()).keys()]).toEqual(['assay:artifact.create', 'assay:http.get'])
    expect([...(await toolsWith(shelf)).keys()]).toEqual([
      'assay:artifact.create',
      'assay:artifact.list',
      'assay:artifact.read',
      'assay:http.get',
    ])
  })

  test('R-TOOL-4: reading needs what reading over HTTP needs; a rule of the operator wins', async () => {
    const terms = (tools: Awaited<ReturnType<typeof toolsWith>>) =>
      [...tools.values()]
        .slice(0, 3)
        .map(({ shown: { terms: its, safetyTier } }) => [its.repeat, its.transport, its.scopes, safetyTier])
    expect(terms(await toolsWith(shelf))).toEqual([
      ['safe', 'native', [], 'write'],
      ['safe', 'native', [], 'read'],
      ['safe', 'native', ['artifacts:read'], 'read'],
    ])
    const rules = { 'assay:artifact.create': { scopes: ['x'] }, 'assay:artifact.read': { scopes: [] } }
    expect(terms(await toolsWith(shelf, rules)).map(([, , scopes]) => scopes)).toEqual([['x'], [], []])
  })
})

describe('assay:artifact.create', () => {
  test.each<[string, Json]>([
    ['a text', 'words'],
    ['JSON', { a: [1, { b: null }] }],
    ['null', null],
    ['as much as there may be', 'x'.repeat(256 * KIB - 2)],
  ])('gives the run %s to keep, and says how its id is found', async (_what, content) => {
    expect(await call('assay:artifact.create', { artifactType: 'report', content })).toEqual({
      ok: true,
      text: expect.stringMatching(/^Stored\. .*assay:artifact\.list/),
      artifact: { artifactType: 'report', content },
    })
  })

  test.each<[string, Json]>([
    ['one byte too much', 'x'.repeat(256 * KIB - 1)],
    ['fewer characters but more bytes', 'é'.repeat(128 * KIB)],
    ['a large list', Array.from({ length: 100_000 }, () => 100)],
  ])('does not keep %s', async (_what, content) => {
    const said = await call('assay:artifact.create', { artifactType: 'report', content })
    expect(said).toEqual({ ok: false, code: 'tool_refused', text: expect.stringContaining('at most 262144') })
  })
})

describe('assay:artifact.list', () => {
  test('names the artifacts of the run, the latest first', async () => {
    expect(await call('assay:artifact.list', {})).toEqual({ ok: true, text: JSON.stringify([NOTES, REPORT]) })
  })

  test.each([{ runId: 'r2' }, { tenant: 't2' }])('R-SEC-2: and none of another: %j', async whose => {
    expect(await call('assay:artifact.list', {}, whose)).toEqual({ ok: true, text: '[]' })
  })
})

describe('assay:artifact.read', () => {
  test.each([
    ['art-7', 'a text'],
    ['art-9', '{"n":[1,null]}'],
    ['art-11', 'null'],
  ])('gives %s as %s', async (artifactId, text) => {
    expect(await call('assay:artifact.read', { artifactId })).toEqual({ ok: true, text })
  })

  test.each([{}, { runId: 'r2' }, { tenant: 't2' }])(
    'R-SEC-2: what is not there, or another’s, is not there: %j',
    async whose => {
      const artifactId = Object.keys(whose).length === 0 ? 'art-8' : 'art-7'
      const said = await call('assay:artifact.read', { artifactId }, whose)
      expect(said).toEqual({ ok: false, code: 'tool_failed', text: 'This run has no such artifact.' })
    },
  )
})
