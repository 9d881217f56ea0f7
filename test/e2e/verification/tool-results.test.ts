import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readLocalKey } from '../../../src/client/local-key.js'
import { loadConfig } from '../../../src/config.js'
import { createHost, type Host } from '../../../src/host.js'
import { repository } from '../../cli/assay-process.js'
import { freePort } from '../../support/free-port.js'
import { isTerminal, until } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import type { Event } from '../agents/talk.js'

/** `examples/tool-results` over HTTP, offline: a gate between a tool and its agent, judged by real runs of verifiers. */

const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-tool-results-'))
const project = path.join(folder, 'project')
const data = path.join(folder, 'data')
const ANSWER = { answer: 'A kettle is 24.90 EUR at south.' }
/** Words of the result that is withheld, of the one that passes, and of what was found. */
const WITHHELD = 'trust me'
const PASSED = 'within three days'
const FOUND = 'Nobody sells a kettle'

let host: Host
let key: string

async function serve(): Promise<void> {
  const flags = { project, data, port: String(await freePort()), 'log.level': 'silent' }
  host = await createHost(loadConfig(flags, {}, folder))
  await host.start()
}

beforeAll(async () => {
  cpSync(path.join(repository, 'examples/tool-results'), project, { recursive: true })
  await serve()
  key = (await readLocalKey(data))!
})

afterAll(async () => {
  await host.stop()
  expect(findingsOf(await storedRuns(`sqlite:${data}/assay.db`))).toEqual([])
  rmSync(folder, { recursive: true })
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

const eventsOf = async (runId: string, as = key): Promise<readonly Event[]> =>
  (await call('GET', `/v1/runs/${runId}/events`, undefined, as)).body.events

async function run() {
  const { body } = await call('POST', '/v1/runs', { workflowId: 'price' })
  const snapshot = await ended(body.runId)
  return { runId: body.runId as string, snapshot, events: await eventsOf(body.runId) }
}

describe('a gate between a tool and its agent', () => {
  it('R-VERIFY-2 R-VERIFY-10 R-VERIFY-23: the bad quote never reaches the model, the good one does', async () => {
    const { runId, snapshot, events } = await run()
    expect([snapshot.status, snapshot.outputs]).toEqual(['completed', ANSWER])
    const calls = events.flatMap(({ type, payload }) => (type === 'agent.toolReturned' ? [payload.callId] : []))
    const told = events.flatMap(({ type, payload }) =>
      type === 'agent.verified' || type.startsWith('assay.tool.')
        ? [[type, payload.callId ?? payload.target, payload.verdict]]
        : [],
    )
    expect(told).toEqual([
      ['agent.verified', calls[0], 'fail'],
      ['assay.tool.withheld', calls[0], undefined],
      ['agent.verified', calls[1], 'pass'],
      ['assay.tool.delivered', calls[1], undefined],
    ])
    for (const verified of events.filter(({ type }) => type === 'agent.verified')) {
      const cause = events.find(({ sequence }) => `${runId}:${sequence}` === verified.causationId)
      expect(cause).toMatchObject({ type: 'agent.toolReturned', payload: { callId: verified.payload.target } })
    }
    const { body } = await call('GET', `/v1/runs/${runId}/verifications`)
    expect(body.verifications).toMatchObject([
      { toolId: 'local:quote', target: calls[0], attempt: 1, verdict: 'fail', outcome: 'fail', label: 'unverified' },
      { toolId: 'local:quote', target: calls[1], attempt: 1, verdict: 'pass', outcome: 'pass', label: 'verified' },
    ])
    const first = await call('GET', `/v1/runs/${runId}/verifications/1`)
    expect(first.body).toMatchObject({ placement: 'checkpoint', output: { supplier: 'north', price: 0.01 } })
    // A later quote has passed, so nothing stands against the goal; and a gate over a tool does not say that it was reached.
    expect(snapshot.convergence).not.toHaveProperty('goalSatisfied')
  })

  it('R-SEC-1 R-VERIFY-5: whoever may read runs alone sees neither results nor bundles nor findings, in any log of the family', async () => {
    const { runId } = await run()
    const reader = (await call('POST', '/v1/keys', { scopes: ['runs:read'], principal: 'reader' })).body.key
    const listed = await call('GET', '/v1/runs?host=true', undefined, reader)
    const family: string[] = listed.body.runs
      .filter((row: { runId: string; parentRunId?: string }) => row.runId === runId || row.parentRunId === runId)
      .map((row: { runId: string }) => row.runId)
    expect(family).toHaveLength(3)
    const seen: string[] = []
    for (const id of family) {
      seen.push(JSON.stringify(await eventsOf(id, reader)))
      seen.push(JSON.stringify((await call('GET', `/v1/runs/${id}`, undefined, reader)).body))
      for (const route of ['verifications', 'withheld', 'artifacts/art-0'])
        expect((await call('GET', `/v1/runs/${id}/${route}`, undefined, reader)).status, route).toBe(403)
    }
    for (const words of [WITHHELD, PASSED, FOUND]) expect(seen.join('\n')).not.toContain(words)
    // The same words are where they belong.
    const opened = await call('GET', `/v1/runs/${runId}/verifications/1`)
    expect(JSON.stringify(opened.body)).toContain(WITHHELD)
    expect(JSON.stringify(opened.body)).toContain(FOUND)
    const bundle = await call('GET', `/v1/runs/${family.find(id => id !== runId)}/withheld`)
    expect(JSON.stringify(bundle.body)).toMatch(new RegExp(`${WITHHELD}|${PASSED}`))
  })

  it('R-REPLAY-12 R-VERIFY-22: a replay says the same, and a branch from within the judgement goes on by itself', async () => {
    const { runId, events } = await run()
    const replay = await call('POST', `/v1/runs/${runId}:fork`, { mode: 'replay' })
    await ended(replay.body.runId)
    const diff = await call('GET', `/v1/runs/${runId}:diff?against=${replay.body.runId}`)
    expect(diff).toMatchObject({ status: 200, body: { divergedAtSeq: null } })
    for (const type of ['assay.result.staged', 'assay.verifier.started', 'agent.verified']) {
      const fromSeq = events.find(event => event.type === type)!.sequence + 1
      const branch = await call('POST', `/v1/runs/${runId}:fork`, { mode: 'branch', fromSeq })
      expect(await ended(branch.body.runId), type).toMatchObject({ status: 'completed', outputs: ANSWER })
    }
  })

  it('R-DWS-2 R-DWS-5: a document that cannot be is refused, with what to do', async () => {
    const { body } = await call('GET', '/v1/host/assay/gates/credible-quote')
    const { position, gate_behaviour } = body.document
    const put = (change: object) =>
      call('POST', '/v1/host/assay/gates', { ...body.document, gate_id: 'another', ...change })
    for (const [change, why] of [
      [{ gate_behaviour: { ...gate_behaviour, max_attempts: 2 } }, 'max_attempts is 2, and a tool is not asked'],
      [{ position: { ...position, placement: 'phase_exit' } }, 'position.tool_name is for a checkpoint'],
      [{ position: { ...position, phase_id: 'end' } }, 'name a core.agent'],
      [{ position: { ...position, tool_name: 'assay:artifact.create' } }, 'brings back nothing to judge'],
    ] as const) {
      const reply = await put(change)
      expect([reply.status, JSON.stringify(reply.body)]).toEqual([400, expect.stringContaining(why)])
    }
  })

  it('S1: hosts that go away at any time leave the rest to the next, and nobody is asked twice', async () => {
    const { body } = await call('POST', '/v1/runs', { workflowId: 'price' })
    await until('the first judgement', async () =>
      (await eventsOf(body.runId)).some(({ type }) => type === 'dws.verification.started'),
    )
    await host.stop()
    await serve()
    expect(await ended(body.runId)).toMatchObject({ status: 'completed', outputs: ANSWER })
    const told = (await eventsOf(body.runId)).map(({ type }) => type)
    expect(told.filter(type => type === 'agent.verified')).toHaveLength(2)
    expect(told.filter(type => type === 'agent.toolCalled')).toHaveLength(2)
  })
})
