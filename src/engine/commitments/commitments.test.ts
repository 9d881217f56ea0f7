import { describe, expect, test } from 'vitest'
import { checkCommitment } from '../../log-check/commitment/check-commitment.js'
import { agentsDouble } from '../../testing/agents.js'
import { commitmentsOn, wantedCommitment } from '../../testing/commitment-rig.js'
import { engineRig, register, type Rig } from '../../testing/engine-rig.js'
import { settled } from '../../testing/manual-clock.js'
import { MortalHost } from '../../testing/mortal-host.js'
import { predicatesDouble } from '../../testing/verification.js'
import { type Sketch, sketch } from '../../testing/workflow.js'
import type { NewCommitment } from './commitment-admin.js'
import type { CommitmentDeps } from './commitments.js'

const HOUR = 3_600_000
const REMIND: Sketch = { id: 'remind', nodes: { a: 'core.noop' } }

async function world(given: Partial<CommitmentDeps> = {}, workflow: Sketch = REMIND, rig: Rig = engineRig()) {
  // What is due between two sweeps is watched by timers: the sweep itself may be rare.
  const engine = await rig.host({ sweepMs: HOUR / 4, leaseMs: 1_000 * HOUR })
  const commitments = commitmentsOn(rig, engine, given)
  await register(engine, workflow)
  const make = async (more: Partial<NewCommitment> = {}) => {
    const answer = await commitments.make(wantedCommitment(rig.clock.now(), more))
    await settled()
    if (!answer.ok) throw new Error('refusal' in answer ? answer.refusal.message : 'replayed')
    return answer.value
  }
  return { rig, engine, commitments, make }
}

async function logOf({ store }: Rig, id: string) {
  const rows = await store.readEvents(id, 0, 10_000)
  const log = rows.map(row => ({ ...row, payload: JSON.parse(row.payload) }))
  expect(checkCommitment(log)).toEqual([])
  return log
}

const runsOf = ({ store }: Rig) => store.listRuns({ tenant: 't1', workflowId: 'remind', limit: 100 })

const put = (at: number, content: string, op: 'put' | 'forget' = 'put') =>
  ({
    space: 'memory',
    scope: 'team',
    ref: 'promises',
    id: 'call',
    op,
    tags: [],
    at,
    expiresAt: null,
    content:
      op === 'forget'
        ? null
        : {
            contentId: content,
            tenant: 't1',
            runId: null,
            body: Buffer.from(content),
            text: content,
            sealed: false,
            pieces: 0,
          },
    hash: op === 'forget' ? null : 'x',
    contentType: null,
    ifMatch: null,
  }) as const

describe('a commitment', () => {
  test('R-ARM-4 R-ARM-6: fires once, at its time, for its tenant, and says so without a word of what it says', async () => {
    const { rig, commitments, make } = await world()
    const { commitmentId } = await make({
      entry: { scope: 'team', ref: 'promises', id: 'call', content: 'CANARY-TEXT', tags: ['CANARY-TAG'] },
      work: { workflowId: 'remind', inputs: {} },
    })
    await rig.clock.advance(HOUR - 1)
    expect(await runsOf(rig)).toEqual([])
    await rig.clock.advance(1)
    const [run, ...others] = await runsOf(rig)
    expect([run?.tenant, others]).toEqual(['t1', []])
    expect(await commitments.find('t1', commitmentId)).toMatchObject({ phase: 'ended', runId: run?.runId })
    const log = await logOf(rig, commitmentId)
    expect(log.filter(({ type }) => type === 'commitment.fired').map(({ payload }) => payload)).toEqual([
      { commitmentId, memoryRef: 'promises', memoryId: 'call', condition: 'time', enqueuedRunId: run?.runId },
    ])
    for (const { payload } of await rig.store.readEvents(commitmentId, 0, 100)) expect(payload).not.toContain('CANARY')
    const [started] = await rig.store.readEvents(run!.runId, 0, 1)
    expect(JSON.parse(started!.payload)).toMatchObject({ metadata: { armRef: commitmentId }, stream: commitmentId })
    await rig.clock.advance(100 * HOUR)
    expect(await runsOf(rig)).toHaveLength(1)
  })

  test('R-ARM-4: to a condition it fires when that holds for the first time, and never again', async () => {
    let looks = 0
    const predicates = predicatesDouble(async () => {
      looks += 1
      return { status: 'ok', holds: looks % 3 === 0 }
    })
    const { rig, commitments, make } = await world({ predicates })
    const { commitmentId } = await make({
      arm: { kind: 'predicate', everyMs: 60_000, maxRuntimeMs: 1_000, predicate: { probes: [] } },
    })
    await rig.clock.advance(HOUR)
    expect([(await runsOf(rig)).length, looks]).toEqual([1, 3])
    expect((await logOf(rig, commitmentId)).find(({ type }) => type === 'commitment.fired')?.payload.condition).toBe(
      'predicate',
    )
    expect(await commitments.list({ tenant: 't1', open: true, limit: 10 })).toEqual([])
  })

  test.each([
    ['forgotten', (at: number) => put(at, '', 'forget')],
    ['superseded', (at: number) => put(at, 'another promise')],
  ] as const)('R-ARM-4: whose entry was %s does not fire', async (reason, write) => {
    const { rig, commitments, make } = await world()
    const { commitmentId } = await make()
    const result = await rig.store.writeOutside('t1', [write(rig.clock.now())], null)
    expect(result.kind).toBe('written')
    await rig.clock.advance(2 * HOUR)
    expect(await runsOf(rig)).toEqual([])
    expect(await commitments.find('t1', commitmentId)).toMatchObject({ phase: 'ended', dropped: reason, runId: null })
    await logOf(rig, commitmentId)
  })

  test('called off it never fires; and after it has fired, or was called off, it is over', async () => {
    const { rig, commitments, make } = await world()
    const { commitmentId } = await make()
    expect(await commitments.cancel('t2', commitmentId)).toBeUndefined()
    expect(await commitments.find('t2', commitmentId)).toBeUndefined()
    expect(await commitments.cancel('t1', commitmentId)).toMatchObject({ ok: true, value: { dropped: 'cancelled' } })
    await rig.clock.advance(2 * HOUR)
    expect(await runsOf(rig)).toEqual([])
    expect(await commitments.cancel('t1', commitmentId)).toMatchObject({ refusal: { code: 'commitment_over' } })
  })

  test('what would be refused when its time has come is refused at once, and nothing is written', async () => {
    const { rig, commitments } = await world()
    const now = rig.clock.now()
    const refusalOf = async (more: Partial<NewCommitment>) => {
      const answer = await commitments.make(wantedCommitment(now, more))
      return 'refusal' in answer ? answer.refusal.code : 'made'
    }
    expect(await refusalOf({ arm: { kind: 'time', at: now + 400 * 24 * HOUR } })).toBe('schedule_horizon_exceeded')
    expect(await refusalOf({ work: { workflowId: 'nobody', inputs: {} } })).not.toBe('made')
    const { entry } = wantedCommitment(now)
    for (const wrong of [{ scope: 'run:1' }, { content: 'x'.repeat(70_000) }, { ref: '' }, { tags: [''] }])
      expect(await refusalOf({ entry: { ...entry, ...wrong } })).toBe('validation_error')
    expect((await rig.store.heads('t1', 'team')).memory).toBe(0)
    expect(await commitments.list({ tenant: 't1', open: false, limit: 10 })).toEqual([])
  })

  test('R-ARM-4: a replay and a fork of its run make no other one', async () => {
    const { rig, engine, make } = await world()
    const { commitmentId } = await make()
    await rig.clock.advance(HOUR)
    const [run] = await runsOf(rig)
    for (const mode of ['replay', 'branch'] as const) {
      const answer = await engine.fork({ tenant: 't1', runId: run!.runId, mode, fromSeq: 1 })
      expect(answer.ok).toBe(true)
    }
    await settled()
    await rig.clock.advance(24 * HOUR)
    const fired = (await rig.store.readEvents(commitmentId, 0, 100)).filter(({ type }) => type === 'commitment.fired')
    const streams = await rig.store.listRuns({ tenant: 't1', workflowId: 'assay-commitment', limit: 10 })
    expect([fired.length, streams.length]).toEqual([1, 1])
  })
})

describe('a commitment whose hosts die', () => {
  const told = async (death?: { at: number; when: 'before' | 'after' }) => {
    const rig = engineRig()
    const agents = agentsDouble({ agents: {} })
    const boot = async () => {
      const mortal = await new MortalHost(rig).boot(agents)
      const commitments = commitmentsOn(rig, mortal.engine, { store: mortal.store })
      mortal.engine.putWorkflow('t1', sketch(REMIND)).catch(() => undefined)
      await settled()
      return { mortal, commitments }
    }
    let { mortal, commitments } = await boot()
    mortal.writes = []
    if (death) mortal.dieAt(death.at, death.when)
    let [died, writes] = [false, 0]
    for (let turn = 0; turn < 40; turn += 1) {
      if (mortal.isDead && !died) {
        died = true
        await rig.clock.advance(11_000)
        ;({ mortal, commitments } = await boot())
      }
      const [row] = await rig.store.listRuns({ tenant: 't1', workflowId: 'assay-commitment', limit: 1 })
      if (row === undefined && !mortal.isDead)
        commitments
          .make(wantedCommitment(rig.clock.now()))
          .catch(error => expect(String(error)).toMatch(/unavailable|stopped/))
      await settled()
      await rig.clock.advance(HOUR / 8)
      writes = mortal.writes.length
    }
    const [row, ...more] = await rig.store.listRuns({ tenant: 't1', workflowId: 'assay-commitment', limit: 10 })
    await logOf(rig, row!.runId)
    const runs = await runsOf(rig)
    return { died, writes, runs: runs.length, open: runs.filter(({ endedAt }) => endedAt === null).length, more }
  }

  test('R-ARM-4: it fires once, at whatever write', async () => {
    const whole = await told()
    expect(whole).toMatchObject({ runs: 1, open: 0, more: [] })
    let met = 0
    for (let at = 1; at <= whole.writes; at += 1)
      for (const when of ['before', 'after'] as const) {
        const { writes: _, ...found } = await told({ at, when })
        expect({ at, when, ...found }).toEqual({ at, when, died: true, runs: 1, open: 0, more: [] })
        met += 1
      }
    expect(met).toBeGreaterThan(5)
  }, 60_000)

  test('R-ARM-1: two hosts that hear of its time at once start one run', async () => {
    const rig = engineRig()
    const one = await rig.host({ hostName: 'one' })
    const two = await rig.host({ hostName: 'two' })
    const commitments = commitmentsOn(rig, one)
    commitmentsOn(rig, two)
    await register(one, REMIND)
    for (let i = 0; i < 20; i += 1) await commitments.make(wantedCommitment(rig.clock.now()))
    await rig.clock.advance(2 * HOUR)
    // Of one entry the latest says what holds: those before it are superseded.
    expect(await runsOf(rig)).toHaveLength(1)
    const { entry } = wantedCommitment(0)
    for (let i = 0; i < 20; i += 1)
      await commitments.make(wantedCommitment(rig.clock.now(), { entry: { ...entry, id: `call-${i}` } }))
    await rig.clock.advance(2 * HOUR)
    expect(await runsOf(rig)).toHaveLength(21)
  })
})
