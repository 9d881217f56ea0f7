import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readLocalKey } from '../../../src/client/local-key.js'
import { loadConfig } from '../../../src/config.js'
import { createHost, type Host } from '../../../src/host.js'
import { sketch } from '../../../src/testing/workflow.js'
import { freePort } from '../../support/free-port.js'
import { isTerminal, until } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import type { Event } from './talk.js'

/** A host, its offline model and its own tools: an agent keeps something, another finds and reads it. */

const WRITER = 'local.live.writer'
const READER = 'local.live.reader'
const REPORT = { title: 'Rain', lines: ['petrichor'] }

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'assay-artifacts-'))
const project = path.join(folder, 'project')
const data = path.join(folder, 'data')
let host: Host
let key: string
/** The id that the writer's artifact gets: the same workflow makes the same log every time. */
let kept: string

const write = (name: string, value: object) => {
  fs.mkdirSync(path.dirname(path.join(project, name)), { recursive: true })
  fs.writeFileSync(path.join(project, name), JSON.stringify(value))
}

const uses = (tool: string, args: object) => ({ reply: { tools: [{ tool, args }] } })

/** What the agents do; the reader reads `artifactId`. */
const writeScript = (artifactId: string) =>
  write('script.json', [
    {
      agent: WRITER,
      when: { round: 1 },
      ...uses('assay:artifact.create', { artifactType: 'report', content: REPORT }),
    },
    { agent: WRITER, when: { contains: 'Stored' }, reply: { text: 'kept' } },
    { agent: READER, when: { round: 1 }, ...uses('assay:artifact.list', {}) },
    {
      agent: READER,
      when: { round: 2, contains: `"artifactId":"${artifactId}"` },
      ...uses('assay:artifact.read', { artifactId }),
    },
    { agent: READER, when: { contains: JSON.stringify(REPORT) }, reply: { text: 'read it' } },
    { reply: { text: 'lost' } },
  ])

beforeAll(async () => {
  write('assay.config.json', { models: { script: 'script.json' } })
  const agent = { persona: 'A', modelClass: 'general', systemPrompt: 'Do it.' }
  write('agents/writer.json', { ...agent, agentId: WRITER, toolAllowlist: ['assay:artifact.create'] })
  const toolAllowlist = ['assay:artifact.list', 'assay:artifact.read']
  write('agents/reader.json', { ...agent, agentId: READER, toolAllowlist })
  const node = (agentId: string) => ({ type: 'core.agent', config: { agentId } })
  const nodes = { keep: node(WRITER), look: node(READER) }
  write('workflows/pass-on.json', sketch({ id: 'pass-on', nodes, edges: ['keep > look'] }))
  write('workflows/look.json', sketch({ id: 'look', nodes: { look: node(READER) } }))
  writeScript('art-0')
  const flags = { project, data, port: String(await freePort()), 'log.level': 'silent' }
  host = await createHost(loadConfig(flags, {}, folder))
  await host.start()
  key = (await readLocalKey(data))!
  kept = (await run('pass-on')).made!.payload.artifactId
})

afterAll(async () => {
  await host.stop()
  expect(findingsOf(await storedRuns(`sqlite:${data}/assay.db`))).toEqual([])
  fs.rmSync(folder, { recursive: true })
})

// biome-ignore lint/suspicious/noExplicitAny: answers have no type until the test looks at them
async function call(method: string, route: string, body?: object, as = key): Promise<{ status: number; body: any }> {
  const headers = { authorization: `Bearer ${as}`, accept: 'application/json', 'content-type': 'application/json' }
  const response = await fetch(host.url + route, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return { status: response.status, body: await response.json() }
}

const ended = (runId: string) =>
  until(`run ${runId} to end`, async () => {
    const { body } = await call('GET', `/v1/runs/${runId}`)
    return isTerminal(body.status) && body
  })

async function run(workflowId: string, as = key) {
  const { body } = await call('POST', '/v1/runs', { workflowId, inputs: { task: 'rain' } }, as)
  const { status } = await ended(body.runId)
  const events: readonly Event[] = (await call('GET', `/v1/runs/${body.runId}/events`)).body.events
  const made = events.find(({ type }) => type === 'artifact.created')
  const results = events.filter(({ type }) => type === 'agent.decided').map(({ payload }) => payload.decision)
  return { runId: body.runId as string, status, events, made, results }
}

describe('artifacts of agents', () => {
  test('R-TOOL-3 R-TOOL-8 R-REPLAY-12: one keeps it, the next lists and reads it, HTTP gives it, a replay says the same', async () => {
    writeScript(kept)
    const { runId, status, events, made, results } = await run('pass-on')
    expect([status, results]).toEqual(['completed', ['kept', 'read it']])
    expect(made!.payload).toEqual({ artifactId: `art-${made!.sequence}`, artifactType: 'report', nodeId: 'keep' })
    const calls = events.filter(({ type }) => type === 'agent.toolReturned')
    expect(calls.map(({ payload }) => [payload.toolName, payload.status])).toEqual([
      ['assay:artifact.create', 'ok'],
      ['assay:artifact.list', 'ok'],
      ['assay:artifact.read', 'ok'],
    ])
    expect(events[made!.sequence - 1]).toMatchObject({ type: 'agent.toolReturned' })
    expect(JSON.stringify(events)).not.toContain('petrichor')

    const { artifactId } = made!.payload
    expect(await call('GET', `/v1/runs/${runId}/artifacts/${artifactId}`)).toMatchObject({
      status: 200,
      body: { artifactId, artifactType: 'report', nodeId: 'keep', content: REPORT },
    })

    const forked = await call('POST', `/v1/runs/${runId}:fork`, { mode: 'replay' })
    await ended(forked.body.runId)
    const diff = await call('GET', `/v1/runs/${runId}:diff?against=${forked.body.runId}`)
    expect(diff).toMatchObject({ status: 200, body: { divergedAtSeq: null } })
    const again = await call('GET', `/v1/runs/${forked.body.runId}/artifacts/${artifactId}`)
    expect(again).toMatchObject({ status: 200, body: { content: REPORT } })
  })

  test('R-SEC-2: a run without artifacts has none, whatever other runs have', async () => {
    write('script.json', [
      { agent: READER, when: { round: 1 }, ...uses('assay:artifact.read', { artifactId: kept }) },
      { agent: READER, when: { contains: 'no such artifact' }, reply: { text: 'not there' } },
    ])
    expect((await run('look')).results).toEqual(['not there'])
  })

  test('the host says that it has these tools', async () => {
    const { body } = await call('GET', '/v1/tools')
    const mine = body.tools.filter(({ toolId }: { toolId: string }) => toolId.startsWith('assay:artifact.'))
    expect(
      mine.map((tool: { [name: string]: unknown }) => [tool.toolId, tool.safetyTier, tool.replayPolicy, tool.auth]),
    ).toEqual([
      ['assay:artifact.create', 'write', 'idempotent', undefined],
      ['assay:artifact.list', 'read', 'idempotent', undefined],
      ['assay:artifact.read', 'read', 'idempotent', { scopes: ['artifacts:read'] }],
    ])
  })

  test('R-TOOL-4: who may not read artifacts cannot have an agent read them', async () => {
    const narrow = await call('POST', '/v1/keys', { scopes: ['runs:create', 'runs:read'] })
    writeScript(kept)
    const { runId, events, made, results } = await run('pass-on', narrow.body.key)
    const read = events.find(({ type, payload }) => type === 'agent.toolReturned' && payload.toolId.endsWith('.read'))
    expect(read!.payload).toMatchObject({
      status: 'forbidden',
      error: { code: 'forbidden', details: { requiredScopes: ['artifacts:read'] } },
    })
    expect(results).toEqual(['kept', 'lost'])
    const asked = await call(
      'GET',
      `/v1/runs/${runId}/artifacts/${made!.payload.artifactId}`,
      undefined,
      narrow.body.key,
    )
    expect(asked.status).toBe(403)
  })
})
