import { describe, expect, it } from 'vitest'
import { Replay } from '../../../src/core/replay/decide.js'
import type { Fork } from '../../../src/core/replay/events.js'
import { branchOff } from '../../../src/core/replay/fork.js'
import type { Engine } from '../../../src/engine/runtime/engine.js'
import { engineRig, type Rig, register, startRun } from '../../../src/testing/engine-rig.js'
import { given } from '../../../src/testing/given-when-then.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import { said } from '../../support/fork-checks.js'
import { findingsOf, runsIn } from '../../support/stored-runs.js'

const REJECT = { type: 'resolve', nodeId: 'gate', value: { action: 'reject' }, by: 'ann', via: 'key' } as const

const delay = (ms: number) => ({ type: 'core.delay', config: { ms } })

async function hosted(workflow: Sketch): Promise<{ rig: Rig; engine: Engine; runId: string }> {
  const rig = engineRig()
  const engine = await rig.host()
  await register(engine, { id: 'flow', ...workflow })
  return { rig, engine, runId: await startRun(engine, 'flow') }
}

async function forked(engine: Engine, runId: string, mode: Fork['mode'], fromSeq: number): Promise<string> {
  const answer = await engine.fork({ tenant: 't1', runId, mode, fromSeq })
  if (!answer.ok) throw new Error(JSON.stringify(answer))
  return answer.value.runId
}

const logOf = ({ store }: Rig, runId: string) => store.readEvents(runId, 0)

async function expectEqual(rig: Rig, a: string, b: string): Promise<void> {
  expect((await logOf(rig, a)).map(said)).toEqual((await logOf(rig, b)).map(said))
  expect(findingsOf(await runsIn(rig.store))).toEqual([])
}

/** A replay of a run that was cancelled while it waited, and the sequence after its saying so. */
async function strayed() {
  const { rig, engine, runId } = await hosted({ nodes: { gate: 'core.approvalGate' } })
  await engine.command('t1', runId, { type: 'cancel', by: 'p' })
  const replay = await forked(engine, runId, 'replay', 0)
  const after = (await logOf(rig, replay)).findIndex(({ type }) => type === 'replay.diverged') + 1
  expect(after).toBeGreaterThan(0)
  return { rig, engine, replay, after }
}

describe('forks of forks', () => {
  it('a branch that begins where its source began as a branch is retold with both beginnings', async () => {
    const { rig, engine, runId } = await hosted({ nodes: { d: delay(1_000), z: 'core.noop' }, edges: ['d > z'] })
    const branch = await forked(engine, runId, 'branch', 1)
    const second = await forked(engine, branch, 'branch', 2)
    await rig.clock.advance(5_000)
    const types = (await logOf(rig, second)).map(({ type }) => type)
    expect(types.slice(0, 3)).toEqual(['run.started', 'assay.run.forked', 'assay.run.forked'])
    await expectEqual(rig, await forked(engine, second, 'replay', 0), second)
  })

  it('a fork that is cut inside the first decision asks under its own name', async () => {
    const { rig, engine, runId } = await hosted({
      nodes: { a: 'core.noop', gate: 'core.approvalGate' },
      edges: ['a > gate'],
    })
    const branch = await forked(engine, runId, 'branch', 2)
    const request = (await logOf(rig, branch)).find(({ type }) => type === 'interrupt.requested')
    expect(JSON.parse(request!.payload)).toMatchObject({ runId: branch })
  })

  it('a branch that is cut right after a divergence says first of all that it is a branch', async () => {
    const { rig, engine, replay, after } = await strayed()
    const branch = await forked(engine, replay, 'branch', after)
    expect((await logOf(rig, branch))[after]).toMatchObject({ type: 'assay.run.forked' })
    expect(findingsOf(await runsIn(rig.store))).toEqual([])
  })

  it('a replay is true to a source whose beginning tells of the divergence of another', async () => {
    const { rig, engine, replay, after } = await strayed()
    const branch = await forked(engine, replay, 'branch', after)
    await engine.command('t1', branch, REJECT)
    expect((await engine.inspect('t1', branch))?.status).toBe('failed')
    for (const fromSeq of [0, after, after + 1])
      await expectEqual(rig, await forked(engine, branch, 'replay', fromSeq), branch)
  })

  it('a replay hears of a pause that its source did not live to see', async () => {
    const { rig, engine, runId } = await hosted({ nodes: { gate: 'core.approvalGate', d: delay(1_000) } })
    await engine.command('t1', runId, { type: 'pause', drainPolicy: 'drain-current-node' })
    await engine.command('t1', runId, REJECT)
    expect((await logOf(rig, runId)).at(-1)?.type).toBe('run.failed')
    await expectEqual(rig, await forked(engine, runId, 'replay', 0), runId)
  })

  it('a branch of a replay that ran ahead of the clock has no child that is older than its parent', async () => {
    const { rig, engine, runId } = await hosted({
      nodes: { d: delay(10_000), sub: { type: 'core.subWorkflow', config: { workflowId: 'child' } } },
      edges: ['d > sub'],
    })
    await register(engine, { id: 'child', nodes: { a: 'core.noop' } })
    const replay = await forked(engine, runId, 'replay', 0)
    const started = (await logOf(rig, replay)).findIndex(
      ({ type, nodeId }) => type === 'node.started' && nodeId === 'sub',
    )
    await forked(engine, replay, 'branch', started + 1)
    await rig.clock.advance(60_000)
    expect(await rig.store.listRuns({ tenant: 't1', workflowId: 'child', limit: 9 })).toHaveLength(2)
    expect(findingsOf(await runsIn(rig.store))).toEqual([])
  })
})

describe('a fork under rules that say less than its source did', () => {
  const { log } = given({ nodes: { a: 'core.noop', b: 'core.noop' }, edges: ['a > b'] }).start()
  const { rules } = given({ nodes: { a: 'core.noop', b: delay(1_000) }, edges: ['a > b'] })
  const cut = log.findIndex(({ type, nodeId }) => type === 'node.completed' && nodeId === 'b') + 1
  const forkOf = (mode: Fork['mode']): Fork => ({ sourceRunId: 'run-1', fromSeq: cut, mode, sourceLength: log.length })

  it('a branch begins at its cut all the same', () => {
    const base = { phase: 'absent', fork: forkOf('branch') } as const
    const first = branchOff(rules, base, 'run-2', log.slice(0, cut), {}, 5_000)
    expect(first.ok && first.events.map(({ sequence }) => sequence)).toContain(cut)
    expect(first.ok && first.events.every(({ sequence }) => sequence >= cut)).toBe(true)
  })

  it('and so does a replay', () => {
    const fork = forkOf('replay')
    const replay = new Replay(rules, { phase: 'absent', fork }, fork, 'run-2', log)
    const own = []
    for (let told = replay.next(); told !== undefined; told = replay.next()) own.push(...told)
    expect(own.map(({ sequence }) => sequence)).toEqual(own.map((_, i) => cut + i))
    expect(own.length).toBeGreaterThan(0)
  })
})
