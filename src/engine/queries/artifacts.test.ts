import { afterAll, describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.js'
import { checkLog } from '../../log-check/check-log.js'
import { fromRows } from '../../log-check/read-log.js'
import { agentsDouble, type Script } from '../../testing/agents.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { AGENT, agentFlow, agentNode, answered, tool, wants } from '../../testing/invocations.js'
import { settled } from '../../testing/manual-clock.js'
import { MortalHost } from '../../testing/mortal-host.js'
import { artifactsIn, sequenceOf } from './artifacts.js'

const KEEP = tool('assay:artifact.create', { transport: 'native' })
const CONTENT = { text: 'kept' }

/** Keeps an artifact and, before it answers, tells what there is. */
const keeping = (rig: Rig): Script => ({
  agents: { [AGENT]: { tools: [KEEP] } },
  think: ({ rounds }) =>
    rounds.length < 2
      ? { said: wants(KEEP.toolId), args: [{ round: rounds.length }] }
      : { said: answered(rounds.map(({ results }) => results[0]!.text).join(' '), 0.9) },
  use: async ({ tenant, runId, args }) => {
    const there = await artifactsIn(rig.store).list(tenant, runId)
    const artifact = { artifactType: 'note', content: { ...CONTENT, ...(args as object) } }
    return { status: 'ok', durationMs: 1, resultTokens: 9, artifact, text: `after ${there.length}` }
  },
})

const rowsOf = async (rig: Rig, runId: string) => rig.store.readEvents(runId, 0)

const artifactsOf = (rows: Awaited<ReturnType<typeof rowsOf>>) => rows.filter(({ type }) => type === 'artifact.created')

async function told() {
  const rig = engineRig()
  const agents = agentsDouble(keeping(rig))
  const engine = await rig.host({ agents })
  await register(engine, agentFlow({}, { id: 'w' }))
  const runId = await startRun(engine, 'w', { inputs: { task: 't' } })
  return { rig, agents, engine, runId }
}

async function expectSound(rig: Rig, runId: string): Promise<void> {
  const row = (await rig.store.readRun(null, runId))!
  const definition = JSON.parse((await rig.store.getDefinition(row.workflowDigest))!)
  const events = fromRows(runId, await rowsOf(rig, runId))
  expect(checkLog({ runs: [{ runId, tenant: 't1', row, definition, events }], complete: true })).toEqual([])
}

describe('the artifacts of a run', () => {
  it('are there for the next call of a tool, and are read by the id under which they are listed', async () => {
    const { rig, engine, runId } = await told()
    expect((await engine.inspect('t1', runId))!.state).toMatchObject({
      outcome: { status: 'completed', outputs: { result: 'after 0 after 1' } },
    })
    const shelf = artifactsIn(rig.store)
    const listed = await shelf.list('t1', runId)
    const sequences = artifactsOf(await rowsOf(rig, runId)).map(({ sequence }) => sequence)
    expect(listed).toEqual(
      sequences.map(sequence => ({ artifactId: `art-${sequence}`, artifactType: 'note', nodeId: 'a' })),
    )
    const contents = await Promise.all(listed.map(({ artifactId }) => shelf.read('t1', runId, artifactId)))
    expect(contents).toEqual([
      { text: 'kept', round: 0 },
      { text: 'kept', round: 1 },
    ])
    await expectSound(rig, runId)
  })

  it('R-SEC-2: are not there for another tenant, nor in another run', async () => {
    const { rig, engine, runId } = await told()
    await register(engine, { id: 'bare', nodes: { a: 'core.noop' } })
    const bare = await startRun(engine, 'bare')
    const shelf = artifactsIn(rig.store)
    const { artifactId } = (await shelf.list('t1', runId))[0]!
    expect([await shelf.list('t2', runId), await shelf.read('t2', runId, artifactId)]).toEqual([[], undefined])
    expect([await shelf.list('t1', bare), await shelf.read('t1', bare, artifactId)]).toEqual([[], undefined])
    expect([await shelf.list('t1', 'none'), await shelf.read('t1', 'none', artifactId)]).toEqual([[], undefined])
  })

  it.each([
    '',
    'art-',
    'art-0',
    'art-9999',
    'art-01',
    'art-1e1',
    'art--1',
    'ART-1',
    'art-1 ',
    '7',
    '__proto__',
    `art-${'9'.repeat(16)}`,
  ])('%j names none', async artifactId => {
    const { rig, runId } = await told()
    expect(await artifactsIn(rig.store).read('t1', runId, artifactId)).toBeUndefined()
  })

  it('every event that is none of theirs gives none', async () => {
    const { rig, runId } = await told()
    const shelf = artifactsIn(rig.store)
    for (const { sequence, type } of await rowsOf(rig, runId)) {
      const content = await shelf.read('t1', runId, `art-${sequence}`)
      expect(content !== undefined, `${sequence} ${type}`).toBe(type === 'artifact.created')
    }
    expect(sequenceOf('art-10')).toBe(10)
  })

  it('R-EVENT-6: what the log must not show is not shown to agents', async () => {
    const { rig, engine } = await told()
    const inputs = { payload: { type: 'static', value: 'swordfish' } }
    const a = { type: 'core.identity', inputs, artifactType: 'doc', outputSensitivity: { payload: true } }
    await register(engine, { id: 'hides', nodes: { a } } as never)
    const runId = await startRun(engine, 'hides')
    const shelf = artifactsIn(rig.store)
    const [made] = await shelf.list('t1', runId)
    expect(await shelf.read('t1', runId, made!.artifactId)).toEqual({ payload: '[REDACTED]' })
  })

  it('are found however long the log is', async () => {
    const { rig, engine } = await told()
    const node = (value: Json) => ({
      type: 'core.identity',
      artifactType: 'doc',
      inputs: { payload: { type: 'static', value } },
    })
    const names = Array.from({ length: 120 }, (_, i) => `n${i}`)
    const nodes = Object.fromEntries(names.map((name, i) => [name, node(i)]))
    await register(engine, {
      id: 'long',
      nodes,
      edges: names.slice(1).map((name, i) => `${names[i]} > ${name}`),
    } as never)
    const runId = await startRun(engine, 'long')
    expect((await rowsOf(rig, runId)).length).toBeGreaterThan(300)
    const listed = await artifactsIn(rig.store).list('t1', runId)
    expect(listed.map(({ nodeId }) => nodeId)).toEqual(names)
  })

  it('R-REPLAY-12: a replay has the same, and a branch those before its cut', async () => {
    const { rig, agents, engine, runId } = await told()
    const shelf = artifactsIn(rig.store)
    const own = await shelf.list('t1', runId)
    const uses = agents.uses.length
    const again = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    if (!again.ok) throw new Error('refused')
    await settled()
    expect(await shelf.list('t1', again.value.runId)).toEqual(own)
    expect(await shelf.read('t1', again.value.runId, own[0]!.artifactId)).toEqual({ text: 'kept', round: 0 })
    expect(agents.uses).toHaveLength(uses)
    const fromSeq = sequenceOf(own[0]!.artifactId)! + 1
    const branch = await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq })
    if (!branch.ok) throw new Error('refused')
    await settled()
    expect(agents.uses).toHaveLength(uses + 1)
    const branched = await shelf.list('t1', branch.value.runId)
    expect(branched[0]).toEqual(own[0])
    expect(branched).toHaveLength(2)
  })

  it('of one node are there for the agent of the next', async () => {
    const rig = engineRig()
    const engine = await rig.host({ agents: agentsDouble(keeping(rig)) })
    await register(engine, { id: 'two', nodes: { a: agentNode(), b: agentNode() }, edges: ['a > b'] })
    const runId = await startRun(engine, 'two', { inputs: { task: 't' } })
    const nodes = (await artifactsIn(rig.store).list('t1', runId)).map(({ nodeId }) => nodeId)
    expect(nodes).toEqual(['a', 'a', 'b', 'b'])
    expect((await engine.inspect('t1', runId))!.state).toMatchObject({
      outcome: { outputs: { result: 'after 2 after 3' } },
    })
    await expectSound(rig, runId)
  })
})

let crashes = 0
afterAll(() => console.log(`${crashes} crashes, every artifact kept once`))

it('A1: whatever write the host dies at, each artifact is kept exactly once', async () => {
  const begun = async (rig: Rig, before: (host: MortalHost) => void = () => undefined) => {
    const host = await new MortalHost(rig).boot(agentsDouble(keeping(rig)))
    await register(host.engine, agentFlow({}, { id: 'w' }))
    host.writes = []
    before(host)
    const created = startRun(host.engine, 'w', { inputs: { task: 't' } })
    created.catch(error => expect(String(error)).toContain('unavailable'))
    await settled()
    await settled()
    return host
  }
  const plain = engineRig()
  const { writes } = await begun(plain)
  for (const when of ['before', 'after'] as const)
    for (let at = 2; at <= writes.length; at += 1) {
      const rig = engineRig()
      const first = await begun(rig, host => host.dieAt(at, when))
      expect(first.isDead).toBe(true)
      crashes += 1
      await new MortalHost(rig).boot(agentsDouble(keeping(rig)))
      await rig.clock.advance(2_000)
      const { runId } = (await rig.store.listRuns({ tenant: 't1', limit: 10 }))[0]!
      const rows = await rowsOf(rig, runId)
      expect(rows.at(-1)!.type, `${when} write ${at}`).toBe('run.completed')
      expect(artifactsOf(rows).map(({ secret }) => JSON.parse(secret!).content.round)).toEqual([0, 1])
      await expectSound(rig, runId)
    }
})
