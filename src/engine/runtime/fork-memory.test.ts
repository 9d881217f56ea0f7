import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { branchOf, logOf } from '../../testing/run-logs.js'
import type { ForkRun } from '../api.js'

const put = (content: string, config: JsonObject = {}) => ({
  type: 'core.memoryPut',
  config: { memoryRef: 'notes', memoryId: 'k', content, ...config },
})
const get = { type: 'core.memoryGet', config: { memoryRef: 'notes', memoryId: 'k' } }

const chain = (id: string, nodes: { [name: string]: JsonObject | string }) => {
  const names = Object.keys(nodes)
  return { id, nodes, edges: names.slice(1).map((name, i) => `${names[i]}>${name}`) } as never
}

/** A run that wrote `one`, then `two`, and read after each; what is there now is `three`. */
async function world() {
  const rig = engineRig()
  const engine = await rig.host()
  await register(
    engine,
    chain('flow', { a: put('one'), b: get, c: put('two'), d: get }),
    chain('later', { a: put('three') }),
    chain('plain', { a: 'core.noop' }),
  )
  const run = async (workflowId: string, more: JsonObject = {}) => {
    const runId = await startRun(engine, workflowId, more)
    await rig.clock.advance(3_000)
    return runId
  }
  const entries = async (runId: string) => {
    const done = (await logOf(rig, runId)).filter(({ type }) => type === 'node.completed')
    return done.flatMap(({ payload }) => {
      const { entry } = payload.outputs as { entry?: { content: string } | null }
      return entry === undefined ? [] : [`${payload.nodeId}: ${entry?.content ?? 'nothing'}`]
    })
  }
  const refusalOf = async (fork: Omit<ForkRun, 'tenant'>) => {
    const answer = await engine.fork({ tenant: 't1', ...fork })
    return answer.ok || !('refusal' in answer) ? undefined : answer.refusal
  }
  const source = await run('flow', { scopeId: 's' })
  await run('later', { scopeId: 's' })
  return { rig, engine, run, entries, refusalOf, source }
}

const sequenceOf = (log: Awaited<ReturnType<typeof logOf>>, type: string, nodeId: string) =>
  log.findIndex(event => event.type === type && event.payload.nodeId === nodeId)

describe('a branch and the memory of its source', () => {
  it('R-MEM-8: from the very beginning it sees what was there then, and writes where nobody else reads', async () => {
    const { rig, engine, run, entries, source } = await world()
    const branch = await branchOf(engine, { runId: source, fromSeq: 0 })
    await rig.clock.advance(3_000)
    expect(await entries(branch)).toEqual(['b: one', 'd: two'])
    expect((await logOf(rig, branch))[0]?.payload.memoryScope).toBe(`fork:${branch}`)
    await register(engine, chain('look', { b: get }))
    expect(await entries(await run('look', { scopeId: 's' }))).toEqual(['b: three'])
  })

  it('R-MEM-8: of a replay it sees what the source of that had written', async () => {
    const { rig, engine, entries, source } = await world()
    const again = await engine.fork({ tenant: 't1', runId: source, mode: 'replay', fromSeq: 0 })
    await settled()
    if (!again.ok) throw new Error('refused')
    const log = await logOf(rig, source)
    const fromSeq = sequenceOf(log, 'node.started', 'd')
    const branch = await branchOf(engine, { runId: again.value.runId, fromSeq })
    await rig.clock.advance(3_000)
    expect(await entries(branch)).toEqual(['b: one', 'd: two'])
  })

  it('may remember what the source saw at another event, and says so', async () => {
    const { rig, engine, entries, refusalOf, source } = await world()
    const log = await logOf(rig, source)
    const fromSeq = sequenceOf(log, 'node.started', 'd')
    const memoryAsOf = sequenceOf(log, 'node.started', 'b')
    const branch = await branchOf(engine, { runId: source, fromSeq, memoryAsOf })
    await rig.clock.advance(3_000)
    expect((await entries(branch)).at(-1)).toBe('d: one')
    const forked = (await logOf(rig, branch)).find(({ type }) => type === 'assay.run.forked')
    expect(forked?.payload).toMatchObject({ memoryAsOf, changed: ['memory'] })
    for (const beyond of [0, log.length + 1])
      expect(await refusalOf({ runId: source, mode: 'branch', fromSeq, memoryAsOf: beyond })).toMatchObject({
        code: 'invalid_from_seq',
        message: expect.stringContaining(`memoryAsOf is ${beyond}`),
      })
  })

  it('has no other memory where its source has none', async () => {
    const { run, refusalOf } = await world()
    const plain = await run('plain')
    expect(await refusalOf({ runId: plain, mode: 'branch', fromSeq: 1, memoryAsOf: 1 })).toMatchObject({
      code: 'validation_error',
      message: expect.stringContaining('had no memory'),
    })
  })
})

describe('what is no longer kept', () => {
  it.each(['branch', 'replay'] as const)('R-MEM-10 R-MEM-11: a %s that would see it is refused', async mode => {
    const { rig, refusalOf, source } = await world()
    expect(await refusalOf({ runId: source, mode, fromSeq: 1 })).toBeUndefined()
    expect(await rig.store.collectJournal(rig.clock.now() + 1, 100)).toBeGreaterThan(0)
    expect(await refusalOf({ runId: source, mode, fromSeq: 1 })).toEqual({
      code: 'replay_memory_snapshot_unavailable',
      message: expect.stringContaining('memory.retentionDays'),
      details: { sourceRunId: source, fromSeq: 1, reason: 'retention_expired' },
    })
  })

  it('R-MEM-12: is looked at after the cut and before the options', async () => {
    const { rig, refusalOf, source } = await world()
    await rig.store.collectJournal(rig.clock.now() + 1, 100)
    const overlay = { configurable: { recursionLimit: 'many' } }
    const fork = { runId: source, mode: 'branch' as const, overlay }
    expect((await refusalOf({ ...fork, fromSeq: 1_000 }))?.code).toBe('invalid_from_seq')
    expect((await refusalOf({ ...fork, fromSeq: 1 }))?.code).toBe('replay_memory_snapshot_unavailable')
    const { refusalOf: fresh, source: whole } = await world()
    expect((await fresh({ ...fork, runId: whole, fromSeq: 1 }))?.code).toBe('validation_error')
  })

  it('J1: is not taken for what never was by a run that began before', async () => {
    const { rig, engine, run } = await world()
    await register(engine, chain('slow', { wait: { type: 'core.delay', config: { ms: 60_000 } }, b: get }))
    const runId = await startRun(engine, 'slow', { scopeId: 's' })
    await run('later', { scopeId: 's' })
    await rig.store.collectJournal(rig.clock.now() + 1, 100)
    await rig.clock.advance(60_000)
    const failed = (await logOf(rig, runId)).find(({ type }) => type === 'run.failed')
    expect(failed?.payload.error).toMatchObject({
      code: 'memory_refused',
      message: expect.stringContaining('no longer kept'),
    })
  })
})
