import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { meansOf } from '../../../test/e2e/probes/rig.js'
import type { Completion } from '../../core/goal/goal.js'
import type { Probe } from '../../core/verification/gate.js'
import type { ProbeResult } from '../../core/verification/voting/judgement.js'
import { createEgress } from '../../egress/egress.js'
import { createInspector } from '../../probes/inspector.js'
import { systemClock } from '../../system.js'
import { engineRig } from '../../testing/engine-rig.js'
import { goalHost, made, ranOnce, stateOf, toldIn, wanted } from '../../testing/goal-rig.js'
import { AGENT, agentFlow } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { inspectorDouble } from '../../testing/verification.js'
import { agentsDouble } from '../../testing/agents.js'

const step = agentFlow({ config: { resultVariable: 'got' } }, { id: 'step' })

const PROBES: readonly Probe[] = [
  { probe_id: 'tests', type: 'command', command: ['make', 'test'], exit_code: 0, timeout_ms: 30_000 },
  { probe_id: 'released', type: 'http', url: 'https://example.com/CANARY', status: [200] },
]
const byHost: Completion = { check: 'host', verifierRef: null, probes: PROBES }

type Outcome = ProbeResult['outcome']

/** Finds what is written for the n-th inspection; the last stays. */
function scripted(...script: readonly (readonly Outcome[])[]) {
  const asked: string[] = []
  const inspector = inspectorDouble(async ({ runId, bound }) => {
    const outcomes = script[Math.min(asked.length, script.length - 1)]!
    asked.push(runId)
    const probes = bound.gate.evaluation_criteria.flatMap(one => one.probes)
    return probes.map(({ probe_id }, i) => ({
      probeId: probe_id,
      dimension: 'goal',
      outcome: outcomes[i]!,
      evidence: [],
    }))
  })
  return { inspector, asked }
}

const evaluations = async (rig: ReturnType<typeof engineRig>, goalId: string) =>
  (await toldIn(rig, goalId)).filter(({ type }) => type === 'goal.evaluated').map(({ payload }) => payload)

describe('a goal that the host judges by itself', () => {
  test('R-GOAL-2 R-GOAL-8: is reached when all of its probes hold, in no run of a judge and without a confidence', async () => {
    const rig = engineRig()
    const { inspector, asked } = scripted(['held', 'failed'], ['held', 'held'])
    const host = await goalHost(rig, [], { workflow: step, inspector })
    const { goalId } = await made(host, { completion: byHost, bounds: { maxLoopIterations: 5 } })
    const first = await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({
      mode: { is: 'active' },
      verdict: { satisfied: false, score: 0.5 },
    })
    const second = await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { final: 'satisfied' }, judged: 0, phase: 'ended' })
    expect(asked).toEqual([first, second])
    expect(await evaluations(rig, goalId)).toEqual([
      { goalId, satisfied: false, runId: first, iterations: 1 },
      { goalId, satisfied: true, runId: second, iterations: 2 },
    ])
    expect(await rig.store.listRuns({ tenant: 't1', workflowId: 'assay-goal-judge', limit: 10 })).toEqual([])
  })

  test('what it cannot find out costs no iteration: the goal is held for longer each time, and a person is asked in the end', async () => {
    const rig = engineRig()
    const { inspector, asked } = scripted(...Array<Outcome[]>(5).fill(['held', 'unavailable']), ['held', 'held'])
    const host = await goalHost(rig, [], { workflow: step, inspector })
    const { goalId } = await made(host, { completion: byHost })
    await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ work: { is: 'judging', judge: { is: 'held', tries: 1 } } })
    for (let i = 0; i < 30; i++) {
      await rig.clock.advance(60_000)
      await settled()
    }
    expect(await stateOf(host, goalId)).toMatchObject({
      mode: { is: 'escalated', why: { reason: 'judge-unavailable' } },
      reserved: 1,
      finished: 1,
      verdict: null,
    })
    expect(asked.length).toBe(5)
    const held = (await toldIn(rig, goalId)).filter(({ type }) => type === 'assay.goal.held')
    const waits = held.map(({ payload, at }) => Number(payload.until) - at)
    expect(waits).toEqual(waits.toSorted((a, b) => a - b))
    expect(await evaluations(rig, goalId)).toEqual([])
    await host.goals.command('t1', goalId, 'resume')
    await settled()
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { final: 'satisfied' }, reserved: 1 })
  })

  test('one that does not hold is enough for no, whatever else could not be found out', async () => {
    const rig = engineRig()
    const { inspector } = scripted(['unavailable', 'failed'])
    const host = await goalHost(rig, [], { workflow: step, inspector })
    const { goalId } = await made(host, { completion: byHost })
    await ranOnce(host, goalId)
    expect(await stateOf(host, goalId)).toMatchObject({ verdict: { satisfied: false }, mode: { is: 'active' } })
  })

  test('R-GOAL-17: what failed, or gave up, is put to no probe and reaches nothing', async () => {
    const rig = engineRig()
    const { inspector, asked } = scripted(['held', 'held'])
    const agents = agentsDouble({
      agents: { [AGENT]: {} },
      think: () => ({ ok: false, code: 'provider_error', message: 'no', retryable: false }),
    })
    const host = await goalHost(rig, [], { workflow: step, inspector, agents })
    const { goalId } = await made(host, { completion: byHost })
    const runId = await ranOnce(host, goalId)
    expect(asked).toEqual([])
    expect(await evaluations(rig, goalId)).toEqual([{ goalId, satisfied: false, runId, iterations: 1 }])
  })

  test('an answer about an older objective decides nothing: what is judged now is looked at anew', async () => {
    const rig = engineRig()
    let answer: (found: readonly ProbeResult[]) => void = () => undefined
    const seen: number[] = []
    const inspector = inspectorDouble(
      ({ bound }) =>
        new Promise(resolve => {
          seen.push(bound.gate.evaluation_criteria.flatMap(({ probes }) => probes).length)
          answer = resolve
        }),
    )
    const host = await goalHost(rig, [], { workflow: step, inspector })
    const { goalId } = await made(host, { completion: byHost })
    await ranOnce(host, goalId)
    const held = { probeId: 'tests', dimension: 'goal', outcome: 'held', evidence: [] } as const
    const old = answer
    await host.goals.edit('t1', goalId, () => ({ completion: { ...byHost, probes: PROBES.slice(0, 1) } }))
    await settled()
    old([held, held])
    await settled()
    expect(await stateOf(host, goalId)).toMatchObject({ version: 2, work: { is: 'judging' }, verdict: null })
    answer([{ ...held, outcome: 'failed' }])
    await settled()
    expect(await stateOf(host, goalId)).toMatchObject({ verdict: { satisfied: false, version: 2 } })
    expect(seen).toEqual([2, 1])
  })

  test('a goal says by what the host judges, and no event says it', async () => {
    const rig = engineRig()
    const host = await goalHost(rig, [], { workflow: step, inspector: scripted(['held', 'held']).inspector })
    const refused = [
      { check: 'host', verifierRef: null },
      { check: 'host', verifierRef: null, probes: [] },
      { check: 'host', verifierRef: 'done', probes: PROBES },
      { check: 'verifier', verifierRef: 'done', probes: PROBES },
    ] as const
    for (const completion of refused)
      expect(await host.goals.create(wanted({ completion }))).toMatchObject({ refusal: { code: 'goal_invalid' } })
    const { goalId } = await made(host, { completion: byHost })
    await ranOnce(host, goalId)
    for (const { payload } of await toldIn(rig, goalId)) expect(JSON.stringify(payload)).not.toContain('CANARY')
  })
})

describe('a goal and the world', () => {
  let project: string
  let server: Server
  let released = false

  beforeEach(async () => {
    released = false
    project = await mkdtemp(path.join(os.tmpdir(), 'assay-goal-'))
    await mkdir(path.join(project, 'workspace'))
    server = createServer((_, response) => response.end(released ? 'released' : 'draft'))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  })

  afterEach(async () => {
    server.close()
    await rm(project, { recursive: true, force: true })
  })

  test('R-GOAL-2: a command exits 0, a file has its hash, HTTP says released: three runs later all three are so', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const notes = 'what is new'
    const sha256 = createHash('sha256').update(notes).digest('hex')
    const check = 'process.exit(require("fs").existsSync("workspace/built") ? 0 : 1)'
    const probes: readonly Probe[] = [
      { probe_id: 'built', type: 'command', command: ['node', '-e', check], exit_code: 0, timeout_ms: 30_000 },
      { probe_id: 'notes', type: 'file', file: 'notes.md', exists: true, sha256 },
      { probe_id: 'released', type: 'http', url, status: [200], body_pattern: '^released$' },
    ]
    const inspector = createInspector({
      ...meansOf(),
      searchPath: path.dirname(process.execPath),
      project,
      workspace: path.join(project, 'workspace'),
      egress: createEgress({ allowPrivate: true, clock: systemClock }),
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    })
    const rig = engineRig()
    const done = [
      () => writeFile(path.join(project, 'workspace', 'built'), ''),
      () => writeFile(path.join(project, 'workspace', 'notes.md'), notes),
      async () => {
        released = true
      },
    ]
    const host = await goalHost(rig, [], { workflow: step, inspector })
    const { goalId } = await made(host, {
      completion: { check: 'host', verifierRef: null, probes },
      bounds: { maxLoopIterations: 9 },
    })
    const scores: (number | undefined)[] = []
    for (const work of done) {
      await work()
      await ranOnce(host, goalId)
      await expect.poll(async () => (await stateOf(host, goalId)).work.is, { timeout: 20_000 }).toBe('idle')
      scores.push((await stateOf(host, goalId)).verdict?.score)
    }
    expect(scores).toEqual([1 / 3, 2 / 3, 1])
    expect(await stateOf(host, goalId)).toMatchObject({ mode: { final: 'satisfied' }, reserved: 3, judged: 0 })
  }, 60_000)
})
