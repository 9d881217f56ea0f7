import { describe, expect, it } from 'vitest'
import { agentsDouble } from '../../testing/agents.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { gatedFamily, handing, score } from '../../testing/gated-families.js'
import { AGENT, agentFlow, answered, tool, wants } from '../../testing/invocations.js'
import { branchOf, logOf } from '../../testing/run-logs.js'
import type { Store } from '../ports/store.js'

const INBOUND = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const OTHER = '00-11111111111111111111111111111111-2222222222222222-00'
const READ = tool('mcp:files.read')

const traceOf = (traceparent: unknown): string => String(traceparent).split('-')[1] ?? ''
const spanOf = (traceparent: unknown): string => String(traceparent).split('-')[2] ?? ''

async function twoRounds(options: object = {}) {
  const rig = engineRig()
  const agents = agentsDouble({
    agents: { [AGENT]: { tools: [READ] } },
    think: ({ rounds }) => ({ said: rounds.length === 0 ? wants(READ.toolId) : answered() }),
  })
  const engine = await rig.host({ agents })
  await register(engine, agentFlow({}, { id: 'w' }))
  const runId = await startRun(engine, 'w', options)
  await rig.clock.advance(1_000)
  const sent = () => [...agents.thoughts, ...agents.uses].map(({ traceparent }) => traceparent)
  return { rig, engine, runId, sent }
}

describe('the trace of a run', () => {
  it('R-TRACE-1 R-XHOST-5: is recorded once, and every call of a model or tool carries it with a span of its own', async () => {
    const { rig, runId, sent } = await twoRounds({ traceparent: INBOUND })
    const log = await logOf(rig, runId)
    expect(log[0]!.payload).toMatchObject({ traceparent: INBOUND })
    expect(log.slice(1).filter(event => JSON.stringify(event).includes('traceparent'))).toEqual([])
    expect(sent()).toHaveLength(3)
    expect(new Set(sent().map(traceOf))).toEqual(new Set([traceOf(INBOUND)]))
    expect(new Set(sent().map(spanOf)).size).toBe(3)
  })

  it.each(['', 'rubbish', `${INBOUND}-more`, INBOUND.toUpperCase(), `${INBOUND}, ${INBOUND}`])(
    'R-XHOST-8: a run that comes with "%s" is taken, and has one of its own',
    async traceparent => {
      const { rig, runId, sent } = await twoRounds({ traceparent })
      const own = (await logOf(rig, runId))[0]!.payload.traceparent
      expect(own).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      expect(traceOf(own)).not.toBe(traceOf(INBOUND))
      expect(new Set(sent().map(traceOf))).toEqual(new Set([traceOf(own)]))
    },
  )

  it('R-TRACE-1: is that of its children, and of those who judge them', async () => {
    const { rig, runId } = await gatedFamily({ workflow: handing, votes: [score(9)] })
    const rows = await rig.store.listRuns({ tenant: 't1', limit: 100 } as never)
    const family = await Promise.all(
      rows.map(async row => ({ row, started: (await logOf(rig, row.runId))[0]!.payload })),
    )
    expect(family.map(({ row }) => row.parentRunId).filter(parent => parent !== null)).toHaveLength(2)
    expect(family.map(({ started }) => started.workflowId)).toContain('assay-verifier')
    const own = family.find(({ row }) => row.runId === runId)!.started.traceparent
    expect(own).toMatch(/^00-/)
    expect(new Set(family.map(({ started }) => started.traceparent))).toEqual(new Set([own]))
  })
})

describe('the trace of a fork', () => {
  it('R-TRACE-1 R-REPLAY-5: a replay tells its source’s, whatever it was asked for under, and sends nothing', async () => {
    const { rig, engine, runId, sent } = await twoRounds({ traceparent: INBOUND })
    const before = sent().length
    for (const fromSeq of [0, 4]) {
      const answer = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq, traceparent: OTHER })
      if (!answer.ok) throw new Error('refused')
      await rig.clock.advance(1_000)
      const log = await logOf(rig, answer.value.runId)
      expect(log.at(-1)!.type).toBe('run.completed')
      expect(log[0]!.payload.traceparent).toBe(INBOUND)
      expect(JSON.stringify(log)).not.toContain(traceOf(OTHER))
    }
    expect(sent()).toHaveLength(before)
  })

  it.each([0, 4])('R-TRACE-1: a branch from %i is a tree of its own, with a trace of its own', async fromSeq => {
    const { rig, engine, runId, sent } = await twoRounds({ traceparent: INBOUND })
    const source = new Set(sent())
    const own = await branchOf(engine, { runId, fromSeq })
    await rig.clock.advance(1_000)
    const told = toldBy(await logOf(rig, own), fromSeq)
    expect(told).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(traceOf(told)).not.toBe(traceOf(INBOUND))
    expect(new Set(sentSince(source, sent()).map(traceOf))).toEqual(new Set([traceOf(told)]))
  })

  it.each([0, 4])('R-TRACE-1: a branch from %i goes on with the trace it was asked for under', async fromSeq => {
    const { rig, engine, runId, sent } = await twoRounds({ traceparent: INBOUND })
    const source = new Set(sent())
    const answer = await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq, traceparent: OTHER })
    if (!answer.ok) throw new Error('refused')
    await rig.clock.advance(1_000)
    expect(toldBy(await logOf(rig, answer.value.runId), fromSeq)).toBe(OTHER)
    const ownCalls = sentSince(source, sent())
    expect(ownCalls.length).toBeGreaterThan(0)
    for (const call of ownCalls) expect([traceOf(call), call.slice(-2)]).toEqual([traceOf(OTHER), '00'])
  })
})

const sentSince = (before: ReadonlySet<string>, sent: readonly string[]): readonly string[] =>
  sent.filter(call => !before.has(call))

describe('a run of before traces were recorded', () => {
  it('R-XHOST-5: goes on, with one trace for all it sends; its children have one of theirs', async () => {
    const rig = engineRig()
    const agents = agentsDouble({ agents: { [AGENT]: {} }, think: () => ({ said: answered() }) })
    const engine = await rig.host({ agents })
    const later = { wait: { type: 'core.delay', config: { delayMs: 60_000 } } }
    const twice = {
      a: { type: 'core.agent', config: { agentId: AGENT } },
      b: { type: 'core.agent', config: { agentId: AGENT } },
      c: { type: 'core.subWorkflow', config: { workflowId: 'child' } },
    }
    await register(engine, agentFlow({}, { id: 'child' }), {
      id: 'old',
      nodes: { ...later, ...twice },
      edges: ['wait > a', 'a > b', 'b > c'],
    })
    const runId = await startRun(engine, 'old')
    // As its log would have been: the host that goes on with it has never seen more of it.
    const store = withoutTraces(rig.store)
    await rig.host({ agents, store })
    await rig.clock.advance(120_000)
    const log = await logOf(rig, runId)
    expect(log.at(-1)!.type).toBe('run.completed')
    const [child] = await rig.store.childrenOf(runId, 10)
    expect((await logOf(rig, child!.runId))[0]!.payload).not.toHaveProperty('traceparent')
    const sent = agents.thoughts.map(({ traceparent }) => traceOf(traceparent))
    expect(sent).toHaveLength(3)
    expect([sent[0] === sent[1], sent[1] === sent[2]]).toEqual([true, false])
    expect(sent[0]).toMatch(/^[0-9a-f]{32}$/)
  })
})

const withoutTraces = (store: Store): Store =>
  new Proxy(store, {
    get(whole, name) {
      const value = Reflect.get(whole, name)
      if (typeof value !== 'function') return value
      if (name !== 'readEvents') return value.bind(whole)
      return async (...asked: Parameters<Store['readEvents']>) =>
        (await whole.readEvents(...asked)).map(event => {
          const { traceparent: _, ...payload } = JSON.parse(event.payload) as { traceparent?: string }
          return { ...event, payload: JSON.stringify(payload) }
        })
    },
  })

/** Where a branch says it: in the first event that is its own. */
const toldBy = (log: Awaited<ReturnType<typeof logOf>>, fromSeq: number): unknown => {
  const { type, payload } = log[fromSeq]!
  expect(type).toBe(fromSeq === 0 ? 'run.started' : 'assay.run.forked')
  return payload.traceparent
}
