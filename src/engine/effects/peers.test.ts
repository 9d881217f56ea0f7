import { describe, expect, test } from 'vitest'
import { runsIn } from '../../../test/support/stored-runs.js'
import { checkLog } from '../../log-check/check-log.js'
import { engineRig, type Rig, register, startRun } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { next, scripted, terminate } from '../../testing/orchestration.js'
import { type Fate, PeerDouble } from '../../testing/peers/peer-double.js'
import { CALLER, peerRuns } from '../../testing/peers/peer-runs.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import type { Engine } from '../runtime/engine.js'

const HOUR = 3_600_000
const DISPATCH = { inputMapping: { topic: 'topic' }, outputMapping: { answer: 'text' } }
const VARIABLES = [
  { name: 'topic', type: 'string' as const, defaultValue: 'bees' },
  { name: 'answer', type: 'string' as const },
]
const HANDS = {
  ...scripted([next('peer:beta/draft'), terminate], { dispatch: DISPATCH, variables: VARIABLES } as never),
  id: 'hands',
}
const GOES_ON = {
  ...scripted([next('peer:beta/draft'), next('waits'), terminate], {
    dispatch: DISPATCH,
    variables: VARIABLES,
  } as never),
  id: 'goes-on',
}
const WAITS = { id: 'waits', nodes: { wait: { type: 'core.delay', config: { delayMs: 30 * 24 * HOUR } } } }

async function world(peers = new PeerDouble(), rig: Rig = engineRig()) {
  const engine = await rig.host({ peers })
  await register(engine, HANDS, GOES_ON, WAITS)
  return { rig, engine, peers }
}

const eventsOf = async (rig: Rig, runId: string) =>
  (await rig.store.readEvents(runId, 0)).map(({ type, payload }) => ({ type, payload: JSON.parse(payload) }))

/** Phases of hand-offs, and what is told of the peer. */
const story = async (rig: Rig, runId: string): Promise<string[]> =>
  (await eventsOf(rig, runId)).flatMap(({ type, payload }) => {
    if (type === 'core.workflowChain.event') return [payload.phase as string]
    return type.startsWith('assay.peer.') ? [type] : []
  })

const statusOf = async (rig: Rig, runId: string) => (await rig.store.readRun('t1', runId))?.status

async function expectLegal(rig: Rig): Promise<void> {
  expect(checkLog({ runs: await runsIn(rig.store), complete: true })).toEqual([])
}

const WELL = ['dispatch.began', 'dispatch.succeeded', 'child.completed', 'output.harvested']

describe('P1: one run there for each hand-off', () => {
  /** Faults on the way to the first answer, and how often the peer is then asked. */
  test.each<[Fate[], number]>([
    [['done'], 1],
    [['unanswered'], 1],
    [['lost'], 2],
    [['lost', 'unanswered'], 2],
    [['unsent', 'unsent', 'done'], 3],
    [['lost', 'lost', 'lost', 'unanswered'], 4],
  ])('whatever is lost: %j', async (fates, asked) => {
    const { rig, engine, peers } = await world()
    peers.fates = [...fates]
    const runId = await startRun(engine, 'hands')
    await rig.clock.advance(8_000)
    expect(peers.fates).toEqual([])
    expect([...peers.runs.keys()]).toEqual(['there-1'])
    expect(peers.orders).toHaveLength(asked)
    expect(new Set(peers.orders.map(order => JSON.stringify(order))).size).toBe(1)
    peers.ends('there-1', { text: 'about bees' })
    await rig.clock.advance(31_000)
    expect((await story(rig, runId)).filter(told => !told.startsWith('assay.'))).toEqual(WELL)
    expect(await statusOf(rig, runId)).toBe('completed')
    await expectLegal(rig)
  })

  test('a lost answer is found by its tag when the key holds no more, and nothing is made a second time', async () => {
    const { rig, engine, peers } = await world(new PeerDouble(60 * HOUR))
    peers.fates = ['unanswered']
    const runId = await startRun(engine, 'hands')
    peers.isDown = true
    await rig.clock.advance(2_000)
    rig.clock.skip(25 * HOUR)
    peers.forgetKeys()
    peers.isDown = false
    await rig.clock.advance(60_000)
    expect(await story(rig, runId)).toEqual([
      'dispatch.began',
      'assay.peer.silent',
      'assay.peer.heard',
      'dispatch.succeeded',
    ])
    expect([...peers.runs.keys()]).toEqual(['there-1'])
    await expectLegal(rig)
  })

  test.each([true, false])(
    'P2: where it cannot be found then, it is lost and never made again (a list: %s)',
    async lists => {
      const { rig, engine, peers } = await world(new PeerDouble(30 * HOUR))
      peers.fates = ['lost']
      const runId = await startRun(engine, 'hands')
      peers.isDown = true
      await rig.clock.advance(2_000)
      rig.clock.skip(24 * HOUR)
      Object.assign(peers, { isDown: false, lists })
      await rig.clock.advance(60_000)
      rig.clock.skip(7 * HOUR)
      await rig.clock.advance(60_000)
      expect(await story(rig, runId)).toEqual(['dispatch.began', 'assay.peer.silent', 'assay.peer.lost'])
      expect(peers.orders).toHaveLength(1)
      await expectLegal(rig)
    },
  )

  test('a host that died while it asked is followed by one that looks first', async () => {
    const rig = engineRig()
    const peers = new PeerDouble()
    let dies: (() => void) | undefined
    const create = peers.create.bind(peers)
    peers.create = async (...args) => {
      const answer = await create(...args)
      if (peers.orders.length > 1) return answer
      // The answer comes, and there is nobody to hear it.
      await new Promise<void>(resolve => {
        dies = resolve
      })
      return answer
    }
    const { engine } = await world(peers, rig)
    const runId = await startRun(engine, 'hands')
    expect(dies).toBeDefined()
    const heir: Engine = await rig.host({ peers })
    await rig.clock.advance(40_000)
    expect(await story(rig, runId)).toEqual(expect.arrayContaining(['dispatch.succeeded']))
    expect([...peers.runs.keys()]).toEqual(['there-1'])
    expect(peers.orders).toHaveLength(1)
    await heir.stop(0)
  })
})

describe('P2: dispatch.failed', () => {
  test('is told of a refusal', async () => {
    const { rig, engine, peers } = await world()
    peers.fates = ['refused']
    const runId = await startRun(engine, 'hands')
    expect(await story(rig, runId)).toEqual(['dispatch.began', 'dispatch.failed'])
    await expectLegal(rig)
  })

  test('is not told of a refusal after a try that nobody has answered: it may have been created then', async () => {
    const { rig, engine, peers } = await world()
    peers.fates = ['lost', ...Array<Fate>(40).fill('refused')]
    const runId = await startRun(engine, 'hands')
    await rig.clock.advance(60_000)
    expect(await story(rig, runId)).toEqual(['dispatch.began', 'assay.peer.silent', 'assay.peer.lost'])
    await expectLegal(rig)
  })

  test.each([
    ['unknown_peer', 'peer:gamma/draft', DISPATCH],
    ['peer_terms', 'peer:beta/draft', { ...DISPATCH, outputAttestation: { principalScope: ['runs:read'] } }],
  ])('%s, before anything is sent', async (code, worker, dispatch) => {
    const { rig, engine, peers } = await world()
    await register(engine, {
      ...scripted([next(worker), terminate], { dispatch, variables: VARIABLES } as never),
      id: 'other',
    })
    const runId = await startRun(engine, 'other')
    const failed = (await eventsOf(rig, runId)).find(({ payload }) => payload.phase === 'dispatch.failed')
    expect(failed?.payload.error).toMatchObject({ code })
    expect(peers.orders).toEqual([])
  })

  test('P9: peer_input_sensitive, and nothing of it is sent', async () => {
    const { rig, engine, peers } = await world()
    const variables = [{ ...VARIABLES[0], sensitive: true, defaultValue: 'hush-hush' }, VARIABLES[1]]
    await register(engine, {
      ...scripted([next('peer:beta/draft'), terminate], { dispatch: DISPATCH, variables } as never),
      id: 'hush',
    })
    const runId = await startRun(engine, 'hush')
    const failed = (await eventsOf(rig, runId)).find(({ payload }) => payload.phase === 'dispatch.failed')
    expect(failed?.payload.error).toMatchObject({ code: 'peer_input_sensitive', details: { input: 'topic' } })
    expect(peers.orders).toEqual([])
  })
})

describe('P4 P5 P6: a peer that is gone', () => {
  test('is given up after lostAfter, is told so once, and its run is cancelled when it is back', async () => {
    const { rig, engine, peers } = await world()
    const runId = await startRun(engine, 'goes-on')
    peers.isDown = true
    await rig.clock.advance(39_000)
    expect(await story(rig, runId)).toEqual(['dispatch.began', 'dispatch.succeeded', 'assay.peer.silent'])
    await rig.clock.advance(20_000)
    expect((await story(rig, runId)).slice(3)).toEqual(['assay.peer.lost', 'dispatch.began', 'dispatch.succeeded'])
    peers.isDown = false
    peers.ends('there-1', { text: 'too late' })
    await rig.clock.advance(60_000)
    expect((await story(rig, runId)).at(-1)).toBe('assay.peer.released')
    expect(peers.runs.get('there-1')?.cancels).toBe(1)
    const state = await engine.inspect('t1', runId)
    expect(state?.state).toMatchObject({ variables: { topic: 'bees' } })
    expect(state?.state).not.toMatchObject({ variables: { answer: 'too late' } })
    await expectLegal(rig)
  })

  test('one whose run was never heard of is found by its tag, and let go of', async () => {
    const { rig, engine, peers } = await world()
    peers.fates = ['unanswered']
    const runId = await startRun(engine, 'goes-on')
    peers.isDown = true
    await rig.clock.advance(60_000)
    expect((await story(rig, runId)).slice(0, 3)).toEqual(['dispatch.began', 'assay.peer.silent', 'assay.peer.lost'])
    peers.isDown = false
    await rig.clock.advance(60_000)
    expect(peers.runs.get('there-1')?.cancels).toBe(1)
    expect((await story(rig, runId)).at(-1)).toBe('assay.peer.released')
    await expectLegal(rig)
  })

  test('costs few tries, however long it is gone', async () => {
    const { rig, engine, peers } = await world(new PeerDouble(HOUR))
    await startRun(engine, 'hands')
    peers.isDown = true
    await rig.clock.advance(HOUR / 2)
    expect(peers.looks).toBeLessThan(400)
    expect(peers.looks).toBeGreaterThan(20)
  })

  test('does not hold a run that is cancelled', async () => {
    const { rig, engine, peers } = await world()
    const runId = await startRun(engine, 'hands')
    peers.isDown = true
    await engine.command('t1', runId, { type: 'cancel', by: 'p' })
    await rig.clock.advance(60_000)
    expect(await statusOf(rig, runId)).toBe('cancelled')
    await expectLegal(rig)
  })
})

describe('a run that stops', () => {
  test('has its peer stop, once, and ends with it', async () => {
    const { rig, engine, peers } = await world()
    const runId = await startRun(engine, 'hands')
    await engine.command('t1', runId, { type: 'cancel', by: 'p' })
    await rig.clock.advance(35_000)
    expect(await statusOf(rig, runId)).toBe('cancelled')
    expect(peers.runs.get('there-1')?.cancels).toBe(1)
    expect((await story(rig, runId)).at(-1)).toBe('child.cancelled')
    await expectLegal(rig)
  })

  test('P2: while its peer is being asked, finds out first what became of that', async () => {
    const { rig, engine, peers } = await world()
    peers.fates = ['unanswered']
    const runId = await startRun(engine, 'hands')
    await engine.command('t1', runId, { type: 'cancel', by: 'p' })
    await rig.clock.advance(60_000)
    expect(await statusOf(rig, runId)).toBe('cancelled')
    expect(peers.runs.get('there-1')).toMatchObject({ cancels: 1 })
    await expectLegal(rig)
  })

  test('before its peer was asked, does not ask', async () => {
    const { rig, engine, peers } = await world()
    peers.isDown = true
    const runId = await startRun(engine, 'hands')
    await engine.command('t1', runId, { type: 'cancel', by: 'p' })
    peers.isDown = false
    await rig.clock.advance(60_000)
    expect(await statusOf(rig, runId)).toBe('cancelled')
    expect(peers.orders).toEqual([])
    await expectLegal(rig)
  })
})

describe('P15: forks', () => {
  test('a replay calls nobody and tells the same; a branch has a run of its own there', async () => {
    const store = new MemoryStore()
    const { rig, engine, peers } = await world(new PeerDouble(), engineRig(store))
    const runId = await startRun(engine, 'hands')
    peers.isDown = true
    await rig.clock.advance(31_000)
    peers.isDown = false
    await rig.clock.advance(5_000)
    peers.ends('there-1', { text: 'about bees' })
    await rig.clock.advance(31_000)
    expect(await story(rig, runId)).toEqual([
      'dispatch.began',
      'dispatch.succeeded',
      'assay.peer.silent',
      'assay.peer.heard',
      'child.completed',
      'output.harvested',
    ])
    const asked = peers.orders.length
    const replay = await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    await rig.clock.advance(5_000)
    const replayed = replay.ok && 'value' in replay ? replay.value.runId : ''
    expect(await story(rig, replayed)).toEqual(await story(rig, runId))
    expect((await eventsOf(rig, replayed)).some(({ type }) => type === 'replay.diverged')).toBe(false)
    expect(peers.orders).toHaveLength(asked)
    const began = (await eventsOf(rig, runId)).findIndex(({ payload }) => payload.phase === 'dispatch.succeeded')
    const branch = await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: began + 1 })
    await settled()
    const branched = branch.ok && 'value' in branch ? branch.value.runId : ''
    await rig.clock.advance(5_000)
    expect([...peers.runs.keys()]).toEqual(['there-1', 'there-2'])
    expect(peers.orders.at(-1)?.id).not.toBe(peers.orders[0]?.id)
    expect((await story(rig, branched)).at(-1)).toBe('dispatch.succeeded')
    await expectLegal(rig)
  })
})

test('P16: a run that is nested as deep as runs may be hands nothing on', async () => {
  const { rig, engine, peers } = await world()
  const runId = await startRun(engine, 'hands', { foreign: { parent: CALLER, depth: 8 } })
  expect(await story(rig, runId)).toEqual(['dispatch.began', 'dispatch.failed'])
  expect(peers.orders).toEqual([])
  await expectLegal(rig)
})

describe('R-XHOST-2: a run that a peer has started', () => {
  test.each([
    ['hands', 'runOrchestrator.decided'],
    ['sub', 'core.workflowChain.event'],
    ['quiet', undefined],
  ])('%s: tells of it once, with %s; what branches off or starts below does not', async (workflowId, type) => {
    const { rig, engine } = await world()
    const sub = { type: 'core.subWorkflow', config: { workflowId: 'quiet' } }
    await register(engine, { id: 'sub', nodes: { a: sub } }, { id: 'quiet', nodes: { a: 'core.noop' } })
    const runId = await startRun(engine, workflowId, { foreign: { parent: CALLER, depth: 1 } })
    await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: 0 })
    await engine.fork({ tenant: 't1', runId, mode: 'branch', fromSeq: 1 })
    await engine.fork({ tenant: 't1', runId, mode: 'replay', fromSeq: 0 })
    await rig.clock.advance(2_000)
    const runs = await runsIn(rig.store)
    const told = runs.flatMap(run =>
      run.events
        .filter(({ causationId }) => causationId === 'r0:5')
        .map(event => [run.runId === runId ? 'it' : run.row?.fork?.mode, event.type]),
    )
    expect(told).toEqual(
      type === undefined
        ? []
        : [
            ['it', type],
            ['replay', type],
          ],
    )
    await expectLegal(rig)
  })
})

test('the story of peers that the oracle is tried on has all that can be told of them, and is legal', async () => {
  const rig = await peerRuns()
  await expectLegal(rig)
  const told = (await runsIn(rig.store)).flatMap(run => run.events.map(({ type }) => type))
  for (const type of ['silent', 'heard', 'lost', 'released']) expect(told).toContain(`assay.peer.${type}`)
  expect(told).toContain('agent.verified')
})
