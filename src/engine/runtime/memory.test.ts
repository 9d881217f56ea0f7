import { describe, expect, it } from 'vitest'
import { DEEPEST } from '../../core/journal/place.js'
import type { JsonObject } from '../../core/json.js'
import { engineRig, register, startRun } from '../../testing/engine-rig.js'
import { branchOf, logOf, payloadsOf } from '../../testing/run-logs.js'

const put = (content: string, config: JsonObject = {}) => ({
  type: 'core.memoryPut',
  config: { memoryRef: 'notes', memoryId: 'k', content, ...config },
})
const get = { type: 'core.memoryGet', config: { memoryRef: 'notes', memoryId: 'k' } }

const chain = (id: string, nodes: { [name: string]: JsonObject }) => {
  const names = Object.keys(nodes)
  return { id, nodes, edges: names.slice(1).map((name, i) => `${names[i]}>${name}`) } as never
}

async function rigWith(...workflows: never[]) {
  const rig = engineRig()
  const engine = await rig.host()
  await register(engine, ...workflows)
  const run = async (workflowId: string, more: JsonObject = {}) => {
    const runId = await startRun(engine, workflowId, more)
    await rig.clock.advance(3_000)
    return runId
  }
  const read = async (runId: string, nodeId: string) => {
    const done = (await logOf(rig, runId)).find(
      ({ type, payload }) => type === 'node.completed' && payload.nodeId === nodeId,
    )
    return (done?.payload as { outputs?: { entry?: { content: string } | null } })?.outputs?.entry?.content ?? null
  }
  return { rig, engine, run, read }
}

describe('memory of runs', () => {
  it('R-MEM-19: a run sees what it wrote from its next node on, and others in its scope later', async () => {
    const { run, read } = await rigWith(chain('write', { a: put('one'), b: get }), chain('look', { b: get }))
    const writer = await run('write', { scopeId: 's' })
    expect(await read(writer, 'b')).toBe('one')
    expect(await read(await run('look', { scopeId: 's' }), 'b')).toBe('one')
    expect(await read(await run('look', { scopeId: 'other' }), 'b')).toBeNull()
    expect(await read(await run('look'), 'b')).toBeNull()
  })

  it('R-MEM-20: a write is told by names alone', async () => {
    const { rig, run } = await rigWith(chain('write', { a: put('one') }))
    const runId = await run('write', { scopeId: 's' })
    expect(payloadsOf(await logOf(rig, runId), 'memory.written')).toEqual([
      { memoryRef: 'notes', memoryId: 'k', nodeId: 'a' },
    ])
  })

  it('R-MEM-8: a branch reads what its source read at the cut, whatever was written since', async () => {
    const { rig, engine, run, read } = await rigWith(
      chain('flow', { a: put('one'), b: get }),
      chain('later', { a: put('two') }),
    )
    const source = await run('flow', { scopeId: 's' })
    await run('later', { scopeId: 's' })
    const log = await logOf(rig, source)
    for (let cut = 1; cut <= log.length - 1; cut += 1) {
      const branch = await branchOf(engine, { runId: source, fromSeq: cut })
      await rig.clock.advance(3_000)
      expect(await read(branch, 'b'), `cut at ${cut}`).toBe('one')
    }
  })

  it('R-MEM-8: so does a branch of a branch, and of a replay, wherever they are cut', async () => {
    const { rig, engine, run, read } = await rigWith(chain('flow', { a: put('one'), b: get, c: get }))
    const source = await run('flow')
    const { length } = await logOf(rig, source)
    const forked = async (runId: string, fromSeq: number, mode: 'branch' | 'replay' = 'branch') => {
      const answer = await engine.fork({ tenant: 't1', runId, fromSeq, mode })
      await rig.clock.advance(3_000)
      return answer.ok ? answer.value.runId : expect.fail(JSON.stringify(answer))
    }
    const replay = await forked(source, 0, 'replay')
    for (const [name, from] of [
      ['replay', replay],
      ['replay of one', await forked(replay, 0, 'replay')],
    ] as const)
      for (let cut = 1; cut < length; cut += 1)
        expect(await read(await forked(from, cut), 'c'), `of a ${name}, cut at ${cut}`).toBe('one')
    for (let first = 1; first < length; first += 3) {
      const branch = await forked(source, first)
      const own = (await logOf(rig, branch)).length
      for (let cut = 1; cut < own; cut += 1)
        expect(await read(await forked(branch, cut), 'c'), `of a branch at ${first}, cut at ${cut}`).toBe('one')
      expect(await read(await forked(await forked(branch, first), first), 'c'), `thrice at ${first}`).toBe('one')
    }
  })

  it('R-MEM-8: a branch from the very beginning reads what there was then, and keeps what it writes to itself', async () => {
    const { rig, engine, run, read } = await rigWith(
      chain('flow', { b: get, a: put('one'), c: get }),
      chain('later', { a: put('two') }),
      chain('look', { b: get }),
    )
    await run('later', { scopeId: 's' })
    const source = await run('flow', { scopeId: 's' })
    const branch = await branchOf(engine, { runId: source, fromSeq: 0 })
    await rig.clock.advance(3_000)
    expect([await read(branch, 'b'), await read(branch, 'c')]).toEqual(['two', 'one'])
    const [started] = payloadsOf(await logOf(rig, branch), 'run.started')
    expect(started).toMatchObject({ scopeId: 's', memoryScope: `fork:${branch}` })
    await run('later', { scopeId: 's' })
    expect(await read(await run('look', { scopeId: 's' }), 'b')).toBe('two')
    const again = await branchOf(engine, { runId: source, fromSeq: 0 })
    await rig.clock.advance(3_000)
    expect(await read(await run('look', { scopeId: 's' }), 'b')).toBe('two')
    expect(await read(again, 'c')).toBe('one')
  })

  it('R-MEM-8: a branch of a replay, and of a branch, sees what was written before the cut by whoever wrote it', async () => {
    const { rig, engine, run, read } = await rigWith(chain('flow', { a: put('one'), b: get, c: put('two'), d: get }))
    const source = await run('flow')
    const forkOf = async (runId: string, mode: 'branch' | 'replay', fromSeq: number) => {
      const answer = await engine.fork({ tenant: 't1', runId, mode, fromSeq })
      if (!answer.ok) throw new Error(JSON.stringify(answer))
      await rig.clock.advance(3_000)
      return answer.value.runId
    }
    const [replay, branch] = [await forkOf(source, 'replay', 0), await forkOf(source, 'branch', 8)]
    const replayOfBranch = await forkOf(branch, 'replay', 0)
    for (const fork of [replay, branch, replayOfBranch])
      for (const cut of [4, 5, 8, 10]) {
        const next = await forkOf(fork, 'branch', cut)
        expect([await read(next, 'b'), await read(next, 'd')], `${fork} cut at ${cut}`).toEqual(['one', 'two'])
      }
  })

  it('R-MEM-21: a replay tells a write under the id it had, also where the host gave it; a branch gives its own', async () => {
    const unnamed = { type: 'core.memoryPut', config: { memoryRef: 'notes', content: 'one' } }
    const { rig, engine, run } = await rigWith(chain('write', { a: unnamed, b: unnamed }))
    const source = await run('write', { scopeId: 's' })
    const replay = await engine.fork({ tenant: 't1', runId: source, mode: 'replay', fromSeq: 0 })
    const branch = await branchOf(engine, { runId: source, fromSeq: 0 })
    await rig.clock.advance(3_000)
    if (!replay.ok) throw new Error('a replay is not refused')
    const [told, again, own] = await Promise.all(
      [source, replay.value.runId, branch].map(async runId => payloadsOf(await logOf(rig, runId), 'memory.written')),
    )
    expect(told).toHaveLength(2)
    expect(new Set([...told!, ...own!].map(({ memoryId }) => memoryId)).size).toBe(4)
    expect(again).toEqual(told)
  })

  it('a branch of a branch of a branch sees through them, so deep and no deeper', async () => {
    const { rig, engine, run, read } = await rigWith(chain('flow', { a: put('one'), b: get }))
    for (const isAtStart of [false, true]) {
      let source = await run('flow', { scopeId: `s ${isAtStart}` })
      let deep = 0
      for (; deep < 100; deep += 1) {
        // After what is its own: what it only shares is not looked through twice.
        const fromSeq = isAtStart ? 0 : (await logOf(rig, source)).length - 1
        const answer = await engine.fork({ tenant: 't1', runId: source, fromSeq, mode: 'branch' })
        if (!answer.ok) {
          expect(answer).toMatchObject({ refusal: { code: 'validation_error', details: { limit: DEEPEST } } })
          break
        }
        await rig.clock.advance(3_000)
        source = answer.value.runId
        expect(await read(source, 'b')).toBe('one')
      }
      expect(deep).toBe(DEEPEST)
    }
  })
})
