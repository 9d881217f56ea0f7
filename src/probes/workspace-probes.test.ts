import { describe, expect, test } from 'vitest'
import { meansOf } from '../../test/e2e/probes/rig.js'
import type { BoundGate, Probe } from '../core/verification/gate.js'
import type { ProbeResult } from '../core/verification/voting/judgement.js'
import { sha256 } from '../digest.js'
import { createRunDesk } from '../engine/journal/run-desk.js'
import type { ToolCallRequest } from '../engine/ports/agents.js'
import type { OutsideWrite } from '../engine/ports/journal.js'
import type { Inspector } from '../engine/ports/verification.js'
import { agentsDouble, glassVault, type Said } from '../testing/agents.js'
import { DESK_SETTINGS, engineRig, type Rig, register, startRun } from '../testing/engine-rig.js'
import { boundGate } from '../testing/gates.js'
import { AGENT, agentFlow, agentNode, answered, tool, wants } from '../testing/invocations.js'
import { settled } from '../testing/manual-clock.js'
import { MortalHost } from '../testing/mortal-host.js'
import { branchOf, logOf, payloadsOf } from '../testing/run-logs.js'
import { standardsDouble } from '../testing/verification.js'
import type { Sketch } from '../testing/workflow.js'
import { NO_TURNS } from '../timing/turns.js'
import { createInspector } from './inspector.js'

/** What gates find of files: a real inspector and a real desk, and agents that do as they are told. */

const WRITE = 'assay:workspace.write'
const REMOVE = 'assay:workspace.remove'

const put = (path: string, content: string) => ({ toolId: WRITE, args: { path, content } })
const remove = (path: string) => ({ toolId: REMOVE, args: { path, content: '' } })

/** What an agent does before it answers, attempt by attempt: tools that it calls, and what others do meanwhile. */
type Step = ReturnType<typeof put> | (() => Promise<unknown>)
type Attempts = readonly (readonly Step[])[]

const fileProbe = (file: string, more: object = {}) =>
  ({ probe_id: file, type: 'file', file, in: 'workspace', exists: true, ...more }) as Probe

type Position = BoundGate['gate']['position']
const AT_AGENT: Position = { workflow_id: 'w', phase_id: 'a', placement: 'phase_exit' }
const AT_WORKER: Position = { workflow_id: 'p', phase_id: 's', placement: 'phase_exit' }
const AT_EXIT: Position = { workflow_id: 'p', phase_id: 's', placement: 'workflow_exit' }

const gateAt = (position: Position, probes: readonly Probe[], behaviour: object = {}): BoundGate =>
  boundGate({ position, criteria: [{ dimension: 'files', probes }], behaviour: { max_attempts: 3, ...behaviour } })

const work = agentFlow({ config: { resultVariable: 'got' } }, { id: 'w' })
/** Hands the work to `w`. */
const handed: Sketch = {
  id: 'p',
  nodes: { s: { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'got' } } } },
}

async function useTool({ store }: Rig, { tenant, runId, id, desk, toolId, args }: ToolCallRequest) {
  const journal = createRunDesk({
    turns: NO_TURNS,
    store,
    vault: glassVault,
    redact: { text: text => text },
    settings: DESK_SETTINGS,
  })
  const seat = { tenant, runId, id, desk }
  const { path, content } = args as { path: string; content: string }
  const done =
    toolId === WRITE
      ? await journal.put(seat, { space: 'workspace', ref: '', id: path, content, tags: [] })
      : await journal.forget(seat, 'workspace', { ref: '', id: path })
  if (!done.ok) throw new Error(done.message)
  return { status: 'ok' as const, durationMs: 1, resultTokens: 1, entry: done.entry }
}

function workers(rig: Rig, attempts: Attempts) {
  let [attempt, step] = [0, 0]
  const next = () => attempts[attempt]?.[step++]
  return agentsDouble({
    agents: { [AGENT]: { tools: [tool(WRITE), tool(REMOVE)] } },
    think: async (): Promise<Said> => {
      for (let doing = next(); doing !== undefined; doing = next()) {
        if (typeof doing !== 'function') return { said: wants(doing.toolId), args: [doing.args] }
        await doing()
      }
      attempt += 1
      step = 0
      return { said: answered(`attempt ${attempt}`) }
    },
    use: ask => useTool(rig, ask),
  })
}

const outsideWrite = (tenant: string, path: string, text: string): OutsideWrite => {
  const body = Buffer.from(text)
  const content = { contentId: `${path}=${text}`, tenant, runId: null, body, text: null, sealed: false, pieces: 0 }
  const named = { space: 'workspace', scope: '', ref: '', id: path, op: 'put' } as const
  return { ...named, tags: [], at: 1, expiresAt: null, content, hash: sha256(body), contentType: null, ifMatch: null }
}

/** Somebody else writes a file, for everybody in the tenant to see. */
const outside = ({ store }: Rig, path: string, text: string, tenant = 't1') =>
  store.writeOutside(tenant, [outsideWrite(tenant, path, text)], null)

const inWords = ({ probeId, outcome, evidence }: ProbeResult) => `${probeId} ${outcome}: ${evidence[0]?.detail}`

async function world(gate: BoundGate, attemptsIn: (rig: Rig) => Attempts, onLook: () => void = () => undefined) {
  const rig = engineRig()
  const { inspect } = createInspector(meansOf())
  /** What the gate found, each time that it looked. */
  const found: string[][] = []
  const inspector: Inspector = {
    inspect: async about => {
      const results = await inspect(about)
      found.push(results.map(inWords))
      onLook()
      return results
    },
  }
  const standards = standardsDouble({ [gate.gate.position.workflow_id]: [gate] })
  const agents = workers(rig, attemptsIn(rig))
  const host = () => new MortalHost(rig).boot(agents, { standards, inspector })
  const first = await host()
  const { engine } = first
  await register(engine, work, handed)
  return { rig, engine, found, first, host }
}

const THERE = (bytes: number) => `held: has ${bytes} bytes`

describe('a gate behind an agent looks at the workspace as that agent sees it', () => {
  test('what it wrote itself is seen, although nobody else sees it; what a rejected attempt wrote is not', async () => {
    const gate = gateAt(AT_AGENT, [fileProbe('report.md', { min_bytes: 5 })])
    const { rig, engine, found } = await world(gate, () => [
      [put('report.md', 'tiny')],
      [],
      [put('report.md', 'draft'), put('report.md', 'whole report')],
    ])
    const runId = await startRun(engine, 'w')
    expect(found).toEqual([
      ['report.md failed: has 4 bytes; it must have at least 5'],
      ['report.md failed: is not there'],
      [`report.md ${THERE(12)}`],
    ])
    expect((await engine.inspect('t1', runId))?.status).toBe('completed')
    expect((await rig.store.heads('t1', undefined)).workspace).toBe(2)
  })

  test('what was there when it began is seen, and what others write later is not', async () => {
    const same = { sha256: sha256('as it was') }
    const gate = gateAt(AT_AGENT, [fileProbe('old.md', same), fileProbe('new.md', { exists: false })])
    const { rig, engine, found } = await world(gate, rig => [
      [() => outside(rig, 'old.md', 'changed since'), () => outside(rig, 'new.md', 'came since')],
    ])
    await outside(rig, 'old.md', 'as it was')
    await startRun(engine, 'w')
    expect(found).toEqual([
      ['old.md held: has 9 bytes; its SHA-256 is the one that it must have', 'new.md held: is not there'],
    ])
  })

  test('what it removed is gone for its gate, and for nobody else before that has passed it', async () => {
    const gate = gateAt(AT_AGENT, [fileProbe('old.md', { exists: false }), fileProbe('none.md')], { max_attempts: 1 })
    const { rig, engine, found } = await world(gate, () => [[remove('old.md')]])
    await outside(rig, 'old.md', 'as it was')
    await startRun(engine, 'w')
    expect(found).toEqual([['old.md held: is not there', 'none.md failed: is not there']])
    expect((await rig.store.heads('t1', undefined)).workspace).toBe(1)
  })

  test('a gate that does not block sees the same', async () => {
    const probes = [fileProbe('report.md', { sha256: sha256('mine') })]
    const { engine, found } = await world(gateAt(AT_AGENT, probes, { blocking: false }), rig => [
      [put('report.md', 'mine'), () => outside(rig, 'report.md', 'of somebody else')],
    ])
    await startRun(engine, 'w')
    expect(found).toEqual([['report.md held: has 4 bytes; its SHA-256 is the one that it must have']])
  })

  test('CTI-1: a file of another tenant is not there', async () => {
    const gate = gateAt(AT_AGENT, [fileProbe('theirs.md', { exists: false })])
    const { rig, engine, found } = await world(gate, () => [[]])
    await outside(rig, 'theirs.md', 'secret', 't2')
    await startRun(engine, 'w')
    expect(found).toEqual([['theirs.md held: is not there']])
  })

  test('evidence has neither a word of a file nor a digest that a guess could be held against', async () => {
    const gate = gateAt(AT_AGENT, [fileProbe('report.md', { sha256: '0'.repeat(64) })], { max_attempts: 1 })
    const { engine, found } = await world(gate, () => [[put('report.md', 'hunter2')]])
    await startRun(engine, 'w')
    expect(found).toEqual([['report.md failed: has 7 bytes; its SHA-256 is not the one that it must have']])
  })
})

describe('a gate behind a worker', () => {
  test('looks at what the worker left, and not at what an earlier one did that was sent back', async () => {
    const gate = gateAt(AT_WORKER, [fileProbe('report.md', { min_bytes: 5 })])
    const { rig, engine, found } = await world(gate, rig => [
      [put('report.md', 'tiny')],
      [() => outside(rig, 'report.md', 'of somebody else')],
      [put('report.md', 'whole report')],
    ])
    await startRun(engine, 'p')
    expect(found).toEqual([
      ['report.md failed: has 4 bytes; it must have at least 5'],
      ['report.md failed: is not there'],
      [`report.md ${THERE(12)}`],
    ])
    expect((await rig.store.heads('t1', undefined)).workspace).toBe(2)
  })

  test('that can touch no files sees those that it was started with', async () => {
    const gate = gateAt(AT_WORKER, [fileProbe('old.md'), fileProbe('none.md', { exists: false })])
    const { rig, engine, found } = await world(gate, () => [])
    await register(engine, { id: 'w', nodes: { a: { type: 'core.noop' } } })
    await outside(rig, 'old.md', 'as it was')
    await startRun(engine, 'p')
    expect(found).toEqual([[`old.md ${THERE(9)}`, 'none.md held: is not there']])
  })
})

describe('a gate at the exit', () => {
  test('looks at what the run and its children wrote, and not at what was sent back', async () => {
    const gate = gateAt(AT_EXIT, [fileProbe('report.md', { min_bytes: 5 })])
    const { rig, engine, found } = await world(gate, rig => [
      [put('report.md', 'tiny')],
      [() => outside(rig, 'report.md', 'of somebody else')],
      [put('report.md', 'whole report')],
    ])
    const runId = await startRun(engine, 'p')
    expect(found).toEqual([
      ['report.md failed: has 4 bytes; it must have at least 5'],
      ['report.md failed: is not there'],
      [`report.md ${THERE(12)}`],
    ])
    expect((await engine.inspect('t1', runId))?.status).toBe('completed')
    expect((await rig.store.heads('t1', undefined)).workspace).toBe(2)
  })
})

describe('work that is sent back at the exit', () => {
  test('takes what later nodes wrote with it: nothing of a rejected attempt is seen by the next, or published', async () => {
    const gate = gateAt(AT_EXIT, [fileProbe('late.md'), fileProbe('wrong.md', { exists: false })])
    const { rig, engine, found } = await world(gate, () => [
      [],
      [put('late.md', 'once'), put('wrong.md', 'rejected')],
      [],
      [put('late.md', 'again')],
    ])
    const nodes = { ...handed.nodes, b: agentNode() }
    await register(engine, { ...handed, nodes, edges: ['s > b'] })
    const runId = await startRun(engine, 'p')
    expect(found).toEqual([
      [`late.md ${THERE(4)}`, 'wrong.md failed: is there, and must not be'],
      [`late.md ${THERE(5)}`, 'wrong.md held: is not there'],
    ])
    expect((await engine.inspect('t1', runId))?.status).toBe('completed')
    expect((await rig.store.heads('t1', undefined)).workspace).toBe(1)
  })
})

describe('what was found of files is found again', () => {
  test('F1: after a crash, whatever was written meanwhile', async () => {
    for (const position of [AT_AGENT, AT_WORKER, AT_EXIT]) {
      const gate = gateAt(position, [fileProbe('report.md', { sha256: sha256('mine') }), fileProbe('old.md')])
      const attempts = () => [[put('report.md', 'mine')]]
      let kill: () => void = () => undefined
      const { rig, engine, found, first, host } = await world(gate, attempts, () => kill())
      kill = () => first.die()
      await outside(rig, 'old.md', 'as it was')
      const runId = await startRun(engine, position.workflow_id)
      expect([first.isDead, found.length]).toEqual([true, 1])
      await outside(rig, 'report.md', 'of somebody else')
      await outside(rig, 'old.md', 'changed since, and longer')
      const second = await host()
      await rig.clock.advance(2_000)
      expect((await second.engine.inspect('t1', runId))?.status, position.placement).toBe('completed')
      expect(found).toHaveLength(2)
      expect(found[1]).toEqual(found[0])
      expect(found[0]).toEqual([
        'report.md held: has 4 bytes; its SHA-256 is the one that it must have',
        `old.md ${THERE(9)}`,
      ])
    }
  })

  test('a replay tells what was found and looks at nothing; a branch looks at what its source wrote before the cut', async () => {
    const gate = gateAt(AT_AGENT, [fileProbe('report.md', { sha256: sha256('mine') })])
    const { rig, engine, found } = await world(gate, () => [[put('report.md', 'mine')]])
    const runId = await startRun(engine, 'w')
    await outside(rig, 'report.md', 'of somebody else')
    const log = await logOf(rig, runId)
    const replay = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    await settled()
    if (!replay.ok) throw new Error('refused')
    expect(found).toHaveLength(1)
    const verdicts = (events: typeof log) => payloadsOf(events, 'dws.verification.completed')
    expect(verdicts(await logOf(rig, replay.value.runId)).map(({ verdict }) => verdict)).toEqual(
      verdicts(log).map(({ verdict }) => verdict),
    )
    const cut = log.findIndex(({ type }) => type === 'assay.result.staged')
    for (const fromSeq of [cut, cut + 1]) {
      await branchOf(engine, { runId, fromSeq })
      expect(found.at(-1), `cut at ${fromSeq}`).toEqual(found[0])
    }
    expect(found).toHaveLength(3)
  })
})
