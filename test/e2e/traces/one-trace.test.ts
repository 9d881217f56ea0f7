import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HostProcess, until } from '../../support/host-process.js'
import { findingsOf, storedRuns } from '../../support/stored-runs.js'
import { ended, eventsOf } from '../agents/talk.js'
import { byEffect, type World } from '../agents/world.js'
import { askedBy, gate, makeGatedWorld, PASSES, says, VERIFIER, WORKER } from '../verification/gated-world.js'
import { type Received, type Sink, startSink } from '../webhooks/sink.js'

/** One request from outside, and all that a real host sends because of it, to whomever. */

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const INBOUND = `00-${TRACE}-00f067aa0ba902b7-01`

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-one-trace-'))
let world: World
let host: HostProcess
let sink: Sink

beforeAll(async () => {
  sink = await startSink()
  const calls = [
    { name: 'mcp_files_read', args: { path: 'a' } },
    { name: 'mcp_web_put', args: { key: 'k' } },
    { name: 'assay_http_get', args: { url: `${sink.url}/page` } },
  ]
  world = await makeGatedWorld(
    {
      folder: scratch,
      agents: {
        writer: { systemPrompt: WORKER, toolAllowlist: ['mcp:files.read', 'mcp:web.put', 'assay:http.get'] },
      },
      workflows: [
        {
          id: 'story',
          variables: [{ name: 'draft', type: 'object' }],
          nodes: {
            hand: { type: 'core.subWorkflow', config: { workflowId: 'writer', outputMapping: { draft: 'result' } } },
          },
        },
      ],
      plan: [
        { contains: VERIFIER, reply: PASSES },
        { contains: [WORKER, 'put was called'], reply: says({ text: 'done' }) },
        { contains: WORKER, reply: { kind: 'tools', calls } },
      ],
      settings: { tools: { httpAllow: [`${sink.url}/`] } },
    },
    {
      gates: {
        page: gate(
          { workflow_id: 'story', phase_id: 'hand', placement: 'checkpoint' },
          { probes: [{ type: 'http', url: `${sink.url}/probe` }] },
        ),
      },
      intents: { purpose: { type: 'operational', title: 'Purpose', statement: 'Be so.' } },
      knowledge: { source: { title: 'Source', text: 'It is so.' } },
    },
  )
  const allow = ['webhooks', 'tools', 'probes'].map(what => [`${what}.allowPrivate`, 'true'])
  host = await world.start({ settings: Object.fromEntries(allow) })
  await host.call('POST', '/v1/webhooks', { url: sink.url, events: ['run.*'] })
})

afterAll(async () => {
  await host?.handOver()
  expect(findingsOf(await storedRuns(world.database))).toEqual([])
  await sink?.close()
  await world?.close()
  rmSync(scratch, { recursive: true, force: true })
})

type Row = { readonly runId: string; readonly workflowId: string; readonly parentRunId?: string }

/** The root, its worker and whoever judged that. */
async function familyOf(rootId: string): Promise<readonly Row[]> {
  const { runs } = (await host.call('GET', '/v1/runs?host=true&limit=100')).body as unknown as { runs: readonly Row[] }
  const isIn = ({ runId, parentRunId }: Row): boolean => runId === rootId || parentRunId === rootId
  return runs.filter(isIn)
}

async function tell(headers: Record<string, string>) {
  const from = {
    model: world.model.requests().length,
    tools: new Set(world.toolCalls().map(effectOf)),
    sink: sink.received.length,
  }
  const started = await host.call('POST', '/v1/runs', { workflowId: 'story' }, headers)
  expect(started.status, JSON.stringify(started.body)).toBe(201)
  const runId = started.body.runId as string
  expect((await ended(host, runId)).status).toBe('completed')
  const family = await familyOf(runId)
  const isOfFamily = ({ body }: Received): boolean => family.some(row => row.runId === JSON.parse(body).runId)
  const hooks = () => sink.received.filter(at('/hook')).filter(isOfFamily)
  // Beginning and end of the two runs that subscribers are told of.
  await until('the deliveries', () => hooks().length === 4)
  const logs = await Promise.all(family.map(row => eventsOf(host, row.runId)))
  return {
    runId,
    family,
    traces: logs.map(([first]) => first!.payload.traceparent as string),
    model: world.model.requests().slice(from.model),
    tools: world.toolCalls().filter(call => !from.tools.has(effectOf(call))),
    hooks: hooks(),
    fetched: sink.received.slice(from.sink).filter(request => !at('/hook')(request)),
  }
}

const effectOf = ({ meta }: { readonly meta?: { readonly [name: string]: unknown } }): unknown =>
  meta?.['assay/effectId']

const at =
  (route: string) =>
  ({ path: asked }: Received): boolean =>
    asked.endsWith(route)

const headerOf = ({ headers }: { readonly headers: { readonly [name: string]: unknown } }) =>
  String(headers.traceparent)
const traceIn = (traceparent: string): string => {
  expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  return traceparent.split('-')[1]!
}

describe('one request, one trace', () => {
  it('R-TRACE-1 R-XHOST-5 R-XHOST-8: the run, its worker, its verifier and all they send have the trace of the caller', async () => {
    const { family, traces, model, tools, hooks, fetched } = await tell({ traceparent: INBOUND })
    expect(family.map(({ workflowId }) => workflowId).sort()).toEqual(['assay-verifier', 'story', 'writer'])
    expect(new Set(traces)).toEqual(new Set([INBOUND]))

    expect(askedBy(model, WORKER)).toHaveLength(2)
    expect(askedBy(model, VERIFIER)).toHaveLength(1)
    expect(tools.map(({ name }) => name).sort()).toEqual(['put', 'read'])
    expect(fetched.map(request => request.path)).toEqual(['/hook/page', '/hook/probe'])
    const sent = [
      ...model.map(headerOf),
      ...tools.map(({ meta }) => String(meta?.traceparent)),
      ...fetched.map(headerOf),
      ...hooks.map(headerOf),
    ]
    expect(new Set(sent.map(traceIn))).toEqual(new Set([TRACE]))
    // Each is a span of its own, and none is the caller's.
    expect(new Set([...sent, INBOUND]).size).toBe(
      byEffect(model).size + tools.length + fetched.length + hooks.length + 1,
    )
    // R-XHOST-8: over HTTP the header says what the message says.
    const put = tools.find(({ name }) => name === 'put')!
    expect(put.headers!.traceparent).toBe(put.meta!.traceparent)
  })

  it('R-TRACE-1 R-XHOST-8: what is malformed is no refusal; the tree has a trace of its own, another one each time', async () => {
    const seen = new Set<string>()
    for (const traceparent of ['rubbish', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, `${INBOUND}-x`]) {
      const { traces, model, tools, hooks, fetched } = await tell({ traceparent })
      expect(new Set(traces).size).toBe(1)
      const own = traceIn(traces[0]!)
      const sent = [...model, ...fetched, ...hooks].map(headerOf)
      expect(new Set([...sent, ...tools.map(({ meta }) => String(meta?.traceparent))].map(traceIn))).toEqual(
        new Set([own]),
      )
      seen.add(own)
    }
    expect(seen.size).toBe(3)
    expect(seen).not.toContain(TRACE)
  })

  it('R-TRACE-1 R-REPLAY-13: a replay sends nothing, a branch sends under a trace of its own', async () => {
    const { runId } = await tell({ traceparent: INBOUND })
    const before = [world.model.requests().length, world.toolCalls().length, sink.received.length]
    const replay = await host.call('POST', `/v1/runs/${runId}:fork`, { mode: 'replay' }, { traceparent: other(1) })
    await ended(host, replay.body.runId)
    expect((await eventsOf(host, replay.body.runId))[0]!.payload.traceparent).toBe(INBOUND)
    expect([world.model.requests().length, world.toolCalls().length, sink.received.length]).toEqual(before)

    const fork = { mode: 'branch', fromSeq: 1 }
    const branch = await host.call('POST', `/v1/runs/${runId}:fork`, fork, { traceparent: other(2) })
    await ended(host, branch.body.runId)
    const events = await eventsOf(host, branch.body.runId)
    expect(events[1]).toMatchObject({ type: 'assay.run.forked', payload: { traceparent: other(2) } })
    const own = world.model.requests().slice(before[0])
    expect(own).toHaveLength(3)
    expect(new Set(own.map(headerOf).map(traceIn))).toEqual(new Set([traceIn(other(2))]))
    const told = () =>
      sink.received.filter(request => at('/hook')(request) && JSON.parse(request.body).runId === branch.body.runId)
    await until('the end of the branch to be delivered', () => told().length > 0)
    expect(new Set(told().map(headerOf).map(traceIn))).toEqual(new Set([traceIn(other(2))]))
  })

  it('R-TRACE-1: a message to an agent goes on with the trace it comes with, too', async () => {
    const chat = { message: '@local.live.writer put was called' }
    const { status, body } = await host.call('POST', '/v1/host/assay/chat', chat, { traceparent: other(3) })
    expect(status, JSON.stringify(body)).toBe(201)
    await ended(host, body.runId)
    expect((await eventsOf(host, body.runId))[0]!.payload.traceparent).toBe(other(3))
  })
})

const other = (n: number): string => `00-${String(n).repeat(32)}-${'7'.repeat(16)}-01`
