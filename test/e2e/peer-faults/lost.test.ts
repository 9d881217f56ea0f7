import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CheckedRun } from '../../../src/log-check/checked.js'
import { findingsOf } from '../../support/stored-runs.js'
import { kindOf } from './fault-proxy.js'
import { handedTo, handoffsIn } from './plot.js'
import { type Making, TwoHosts } from './two-hosts.js'
import { ON_A, ON_B } from './workflows.js'

/** Faults that last: what a hand-off comes to when its peer is gone for good, or only nearly. */

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-peers-lost-'))
const HOUR = 3_600_000
const MINUTE = 60_000
let worlds = 0
let two: TwoHosts

const start = async (more: Partial<Making> = {}): Promise<void> => {
  worlds += 1
  two = await TwoHosts.start({
    folder: path.join(scratch, String(worlds)),
    a: ON_A,
    b: ON_B,
    lostAfter: MINUTE,
    ...more,
  })
}

beforeEach(() => start())
afterEach(async () => {
  for (const side of ['a', 'b'] as const) expect(findingsOf(await two.stored(side))).toEqual([])
  await two.stop()
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const runOn = async (side: 'a' | 'b', runId: string): Promise<CheckedRun> =>
  (await two.stored(side)).find(run => run.runId === runId)!
const chain = async (runId: string) => handoffsIn((await runOn('a', runId)).events)
const runsOnB = async () => (await two.stored('b')).map(({ row }) => row!.status)
const mine = async (runId: string) => (await two.snapshot('a', runId)).variables as { readonly mine: number }
const isTold = (runId: string, ...words: readonly string[]) =>
  two.until(words.join(' '), async () => (await chain(runId)).join('|').includes(words.join('|')))
/** Everything that can happen does, for so long. */
const pass = async (ms: number): Promise<void> => {
  const end = two.clock.now() + ms
  await two.until('time to pass', () => two.clock.now() >= end, 5_000)
}
const resultsTold = async (runId: string) =>
  (await runOn('a', runId)).events.filter(({ type }) => type === 'node.completed').map(({ payload }) => payload)

describe('a peer that is gone for good', () => {
  it('P4, P5, R-LOOP-8: nothing was ever sent: the hand-off is lost, its place has failed, and the supervisor goes on', async () => {
    two.proxy.down()
    const runId = await two.begin('errand', 'k')
    const began = two.clock.now()
    expect((await two.ended(runId)).status).toBe('completed')
    expect(await chain(runId)).toEqual(['dispatch.began', 'peer.silent unreachable', 'peer.lost unreachable'])
    expect(two.clock.now() - began).toBeGreaterThanOrEqual(MINUTE)
    expect(two.clock.now() - began).toBeLessThan(2 * MINUTE)
    expect(JSON.stringify(await resultsTold(runId))).toContain('peer_lost')
    expect(await mine(runId)).toEqual({ mine: 20 })
    expect(await runsOnB()).toEqual([])
    expect(two.proxy.injected.get('down')).toBeGreaterThan(1)
  })

  it('P5: in the middle of its work: lost, no child.*, nothing merged, and its place has failed', async () => {
    const runId = await two.begin('errand', 'k')
    await isTold(runId, 'dispatch.succeeded')
    two.proxy.down()
    expect((await two.ended(runId)).status).toBe('completed')
    expect(await chain(runId)).toEqual([
      'dispatch.began',
      'dispatch.succeeded',
      expect.stringMatching(/^peer.silent /),
      expect.stringMatching(/^peer.lost /),
    ])
    expect(JSON.stringify(await resultsTold(runId))).toContain('peer_lost')
    expect(await mine(runId)).toEqual({ mine: 20 })
  })

  it('P4: that hangs up in the middle of a stream is found out at once', async () => {
    const runId = await two.begin('waiting', 'k')
    await isTold(runId, 'dispatch.succeeded')
    await two.until('the stream to be open', () =>
      two.proxy.passed.some(passed => kindOf(passed) === 'stream' && passed.status === 200),
    )
    await pass(5_000)
    const before = two.clock.now()
    two.proxy.down()
    await two.until('silence', async () => (await chain(runId)).includes('peer.silent unreachable'))
    // By itself it is asked every 30 seconds only.
    expect(two.clock.now() - before).toBeLessThan(5_000)
  })

  it('P5, R-LOOP-10: all at once: those that were never begun are given up, and what was done here is merged', async () => {
    two.proxy.down()
    const runId = await two.begin('fanned', 'k')
    expect((await two.ended(runId)).status).toBe('completed')
    expect((await chain(runId)).filter(step => step.startsWith('peer.lost'))).toHaveLength(2)
    expect((await chain(runId)).filter(step => step === 'output.harvested')).toHaveLength(1)
    expect(await mine(runId)).toEqual({ mine: 120 })
    expect(await runsOnB()).toEqual([])
  })

  it('P5: a sub-workflow that is lost fails as any that has failed', async () => {
    const runId = await two.begin('asked', 'k')
    await isTold(runId, 'dispatch.succeeded')
    two.proxy.down()
    expect((await two.ended(runId)).status).toBe('failed')
    expect((await two.snapshot('a', runId)).error).toMatchObject({ code: expect.any(String) })
    expect(JSON.stringify((await runOn('a', runId)).events.map(({ payload }) => payload))).toContain('peer_lost')
  })

  it('P5: a run that is being cancelled waits for it no longer than that', async () => {
    const runId = await two.begin('waiting', 'k')
    await isTold(runId, 'dispatch.succeeded')
    two.proxy.down()
    const began = two.clock.now()
    await two.client('a').cancelRun(runId)
    expect((await two.ended(runId)).status).toBe('cancelled')
    expect(two.clock.now() - began).toBeLessThan(2 * MINUTE)
    expect((await chain(runId)).at(-1)).toMatch(/^peer.lost /)
    expect(await chain(runId)).not.toContainEqual(expect.stringMatching(/^child\./))
  })

  it('P5: nor does one whose work was never begun', async () => {
    two.proxy.down()
    const runId = await two.begin('waiting', 'k')
    await isTold(runId, 'peer.silent unreachable')
    const began = two.clock.now()
    await two.client('a').cancelRun(runId)
    expect((await two.ended(runId)).status).toBe('cancelled')
    expect(two.clock.now() - began).toBeLessThan(2 * MINUTE)
    expect(await runsOnB()).toEqual([])
  })

  it('P4: a host that was itself down gives nobody up before it has asked', async () => {
    const runId = await two.begin('errand', 'k')
    await isTold(runId, 'dispatch.succeeded')
    await two.a.bury()
    two.clock.skip(10 * HOUR)
    two.proxy.up()
    await two.a.boot()
    expect((await two.ended(runId)).status).toBe('completed')
    expect(await chain(runId)).toEqual(['dispatch.began', 'dispatch.succeeded', 'child.completed', 'output.harvested'])
    expect(await mine(runId)).toEqual({ mine: 30 })
  })
})

describe('a host that hands over, and comes again', () => {
  it('follows its peers at once, not only when it would have looked by itself', async () => {
    const runId = await two.begin('errand', 'k')
    await isTold(runId, 'dispatch.succeeded')
    await two.a.stop()
    await two.a.boot()
    const before = two.clock.now()
    expect((await two.ended(runId)).status).toBe('completed')
    // The work takes 2 seconds.
    expect(two.clock.now() - before).toBeLessThan(10_000)
  })
})

describe('a result that comes too late', () => {
  it('P6: of a run that B has ended meanwhile: not merged, and let go', async () => {
    const runId = await two.begin('lasting', 'k')
    await isTold(runId, 'dispatch.succeeded')
    two.proxy.down()
    await isTold(runId, 'peer.lost')
    expect(await runsOnB()).toEqual(['completed'])
    two.proxy.up()
    await isTold(runId, 'peer.released')
    await pass(5 * MINUTE)
    expect(await chain(runId)).not.toContainEqual(expect.stringMatching(/^(child|output)\./))
    expect(await mine(runId)).toEqual({ mine: 20 })
  })

  it('P6: of a run that is still at work: it is cancelled there, as soon as B is heard again', async () => {
    await two.stop()
    await start({ a: ON_A.map(workflow => (workflow.id === 'lasting' ? slow(workflow) : workflow)) })
    const runId = await two.begin('lasting', 'k')
    await isTold(runId, 'dispatch.succeeded')
    two.proxy.down()
    await isTold(runId, 'peer.lost')
    expect(await runsOnB()).toEqual(['running'])
    two.proxy.up()
    await isTold(runId, 'peer.released')
    await two.until('B to have cancelled it', async () => (await runsOnB())[0] === 'cancelled')
    await pass(5 * MINUTE)
    expect(await chain(runId)).not.toContainEqual(expect.stringMatching(/^(child|output)\./))
    expect(await mine(runId)).toEqual({ mine: 20 })
  })

  it('P6: of a run that A has never heard of: it is found by its tag, and cancelled', async () => {
    await two.stop()
    await start({ a: ON_A.map(workflow => (workflow.id === 'lasting' ? slow(workflow) : workflow)) })
    two.proxy.plan({ at: 0, of: 'create', fault: 'drop-answer', thenDown: true })
    const runId = await two.begin('lasting', 'k')
    await isTold(runId, 'peer.silent unreachable')
    await isTold(runId, 'peer.lost')
    expect(handedTo([await runOn('a', runId)])).toEqual([])
    expect(await runsOnB()).toEqual(['running'])
    two.proxy.up()
    await isTold(runId, 'peer.released')
    await two.until('B to have cancelled it', async () => (await runsOnB())[0] === 'cancelled')
    expect(await runsOnB()).toEqual(['cancelled'])
  })
})

/** The worker is one that does not come to an end by itself. */
const slow = (workflow: (typeof ON_A)[number]): (typeof ON_A)[number] =>
  JSON.parse(JSON.stringify(workflow).replaceAll('peer:beta/add-ten', 'peer:beta/sleeper'))

describe('P1: an answer that is lost for longer than a key is remembered', () => {
  const LONG = { lostAfter: 30 * 24 * HOUR }

  it('the run is found by the tag of its effect; there is no second one', async () => {
    await two.stop()
    await start(LONG)
    two.proxy.plan({ at: 0, of: 'create', fault: 'drop-answer', thenDown: true })
    const runId = await two.begin('errand', 'k')
    await isTold(runId, 'peer.silent unreachable')
    await pass(10 * MINUTE)
    two.clock.skip(3 * 24 * HOUR)
    // B forgets the key.
    await pass(11 * MINUTE)
    two.proxy.up()
    expect((await two.ended(runId)).status).toBe('completed')
    expect(await mine(runId)).toEqual({ mine: 30 })
    expect(await runsOnB()).toEqual(['completed'])
    const kinds = two.proxy.passed.map(kindOf)
    expect(kinds).toContain('look-up')
    expect(kinds.filter(kind => kind === 'create')).toHaveLength(1)
  })

  it('a request that never arrived is not made again after 23 hours: the hand-off is lost, and B has no run', async () => {
    await two.stop()
    await start({ lostAfter: 30 * HOUR })
    two.proxy.plan({ at: 0, of: 'create', fault: 'drop-request', thenDown: true })
    const runId = await two.begin('errand', 'k')
    await isTold(runId, 'peer.silent unreachable')
    two.clock.skip(23 * HOUR + MINUTE)
    two.proxy.up()
    await pass(5 * MINUTE)
    expect(await runsOnB()).toEqual([])
    two.clock.skip(7 * HOUR)
    expect((await two.ended(runId)).status).toBe('completed')
    expect((await chain(runId)).at(-1)).toBe('peer.lost unknown_outcome')
    expect(await runsOnB()).toEqual([])
    expect(two.proxy.passed.map(kindOf).filter(kind => kind === 'create')).toHaveLength(1)
  })

  it('within 23 hours it is made again, under the same key and byte for byte', async () => {
    await two.stop()
    await start({ lostAfter: 30 * HOUR })
    two.proxy.plan({ at: 0, of: 'create', fault: 'drop-request', thenDown: true })
    const runId = await two.begin('errand', 'k')
    await isTold(runId, 'peer.silent unreachable')
    two.clock.skip(22 * HOUR)
    two.proxy.up()
    expect((await two.ended(runId)).status).toBe('completed')
    expect(await mine(runId)).toEqual({ mine: 30 })
    expect(await runsOnB()).toEqual(['completed'])
    const creates = two.proxy.passed.filter(passed => kindOf(passed) === 'create')
    expect(creates.filter(({ status }) => status === 201)).toHaveLength(1)
    const said = creates.map(({ body, headers }) =>
      [body, headers['idempotency-key'], headers['x-host-assay-causation']].join(' '),
    )
    expect(creates.length).toBeGreaterThanOrEqual(2)
    expect(new Set(said).size).toBe(1)
    const { tags } = JSON.parse(creates[0]!.body) as { readonly tags: readonly string[] }
    expect(tags).toEqual([`assay-effect:${String(creates[0]!.headers['idempotency-key'])}`])
  })
})

describe('P2: what B refuses for sure has failed at once', () => {
  it('a workflow that it has not', async () => {
    await two.stop()
    await start({ b: ON_B.filter(({ id }) => id !== 'add-ten') })
    const runId = await two.begin('errand', 'k')
    expect((await two.ended(runId)).status).toBe('completed')
    expect(await chain(runId)).toEqual(['dispatch.began', 'dispatch.failed peer_refused'])
  })

  it('but not after a try that may have made it: then it is lost', async () => {
    await two.stop()
    await start({ b: ON_B.filter(({ id }) => id !== 'add-ten') })
    two.proxy.plan({ at: 0, of: 'create', fault: 'late-gateway' })
    const runId = await two.begin('errand', 'k')
    expect((await two.ended(runId)).status).toBe('completed')
    expect((await chain(runId)).at(-1)).toMatch(/^peer.lost /)
    expect(await chain(runId)).not.toContainEqual(expect.stringMatching(/^dispatch.failed/))
    expect(two.proxy.faults).toBe(1)
  })
})

describe('P15: told again', () => {
  it('a replay calls no peer and tells the same', async () => {
    two.proxy.plan({ at: 1, of: 'read', fault: 'drop-answer' })
    const runId = await two.begin('errand', 'k')
    await two.ended(runId)
    const asked = two.proxy.passed.length
    const fork = await two.client('a').forkRun(runId, { mode: 'replay' })
    await two.ended(fork.runId)
    expect(two.proxy.passed).toHaveLength(asked)
    expect((await two.client('a').diffRuns(runId, fork.runId)).divergedAtSeq).toBeNull()
    expect(await runsOnB()).toHaveLength(1)
  })

  it('so does one of a hand-off that was lost', async () => {
    two.proxy.down()
    const runId = await two.begin('errand', 'k')
    await two.ended(runId)
    two.proxy.up()
    const fork = await two.client('a').forkRun(runId, { mode: 'replay' })
    await two.ended(fork.runId)
    expect(two.proxy.passed).toHaveLength(0)
    expect((await two.client('a').diffRuns(runId, fork.runId)).divergedAtSeq).toBeNull()
  })

  it('a branch that takes over a hand-off under way has a run of its own there', async () => {
    const runId = await two.begin('errand', 'k')
    await isTold(runId, 'dispatch.succeeded')
    const events = await two.events('a', runId)
    const fromSeq = events.length
    const fork = await two.client('a').forkRun(runId, { mode: 'branch', fromSeq })
    await two.ended(runId)
    await two.ended(fork.runId)
    expect(await runsOnB()).toEqual(['completed', 'completed'])
    expect(await mine(fork.runId)).toEqual({ mine: 30 })
    const keys = two.proxy.passed
      .filter(passed => kindOf(passed) === 'create')
      .map(({ headers }) => headers['idempotency-key'])
    expect(new Set(keys).size).toBe(2)
  })
})
