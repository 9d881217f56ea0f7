import { beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.js'
import { MemoryStore } from '../../store/memory/memory-store.js'
import { ManualClock } from '../../testing/manual-clock.js'
import { StoreUnavailable } from '../ports/event-log.js'
import type { Unstored } from './effect-context.js'
import { type Effectful, runOnce } from './once.js'

const RUN = { tenant: 'acme', runId: 'run-1' }
const EFFECT = { nodeId: 'a', ordinal: 0, provider: 'mail' }

const clock = new ManualClock()
let store: MemoryStore
let unstored: Map<string, Unstored>

/** What each try was told of those before it. */
let again: boolean[]

beforeEach(async () => {
  store = new MemoryStore()
  await store.registerHost({ hostId: 'h1', hostName: 'h', leaseMs: 60_000, now: clock.now() })
  unstored = new Map()
  again = []
})

const tries = (perform: Effectful<Json>['perform']) =>
  runOnce<Json>({ store, clock, unstored, hostId: () => 'h1' }, RUN, EFFECT, {
    perform(id, isAgain, sending) {
      again.push(isAgain)
      return perform(id, isAgain, sending)
    },
    pack: (_id, outcome) => outcome,
    unpack: (_id, outcome) => outcome,
  })

const succeeds = () => tries(async () => ({ outcome: 'done', claim: 'keep' }))
const throwsBefore = () =>
  tries(async () => {
    throw new Error('no request could be made')
  })
const throwsAfter = () =>
  tries(async (_id, _again, sending) => {
    sending()
    throw new Error('the line went dead')
  })

describe('an effect that breaks off (contract core §4.2)', () => {
  it('core §4.2 R-EFFECT-3: after sending, its claim is left: the next try is told that it may have happened', async () => {
    await expect(throwsAfter()).rejects.toThrow('the line went dead')
    expect(await succeeds()).toMatchObject({ outcome: 'done' })
    expect(again).toEqual([false, true])
  })

  it('core §4.2 R-EFFECT-3: before sending, its claim is released: the next try is as good as the first', async () => {
    await expect(throwsBefore()).rejects.toThrow('no request could be made')
    expect(await succeeds()).toMatchObject({ outcome: 'done' })
    expect(again).toEqual([false, false])
  })

  it('core §4.2 R-EFFECT-3: what may have happened once stays so, also when the next try never comes to sending', async () => {
    await expect(throwsAfter()).rejects.toThrow('the line went dead')
    await expect(throwsBefore()).rejects.toThrow('no request could be made')
    await succeeds()
    expect(again).toEqual([false, true, true])
  })

  it('core §4.2: a claim that could not be left is left before anything is tried again', async () => {
    const { abandonEffect } = store
    store.abandonEffect = async () => {
      throw new StoreUnavailable('down')
    }
    await expect(throwsAfter()).rejects.toThrow('down')
    await expect(succeeds()).rejects.toThrow('down')
    expect(again).toEqual([false])
    store.abandonEffect = abandonEffect
    await succeeds()
    expect(again).toEqual([false, true])
  })
})

describe('an effect that has an outcome', () => {
  it('core §4.2 R-EFFECT-2: is not tried again, whoever asks', async () => {
    const first = await succeeds()
    expect(await throwsAfter()).toEqual(first)
    expect(again).toEqual([false])
  })

  it('core §4.2 R-EFFECT-2: that could not be stored keeps it, and only the storing is tried again', async () => {
    const { finishEffect } = store
    store.finishEffect = async () => {
      throw new StoreUnavailable('down')
    }
    await expect(succeeds()).rejects.toThrow('down')
    store.finishEffect = finishEffect
    expect(await throwsAfter()).toMatchObject({ outcome: 'done' })
    expect(again).toEqual([false])
    expect(unstored.size).toBe(0)
  })
})
