import { describe, expect, test } from 'vitest'
import type { Checkpoint, SealedRun } from '../engine/ports/audit.js'
import { ManualClock, settled } from '../testing/manual-clock.js'
import { follows, isUnchanged } from './checkpoint.js'
import { Sealer } from './sealer.js'

const key = (keyId: string) => ({ keyId, sign: (text: string) => `${keyId} ${text}` })

/** The audit part of a store that several sealers share. */
class SharedStore {
  readonly checkpoints: Checkpoint[] = []
  ended: SealedRun[] = []
  purged: SealedRun[] = []
  trouble: Error | undefined
  /** Something that happens between a sealer's look at the newest checkpoint and its own. */
  meanwhile: (() => Promise<unknown>) | undefined

  end(count: number): void {
    const first = this.ended.length
    for (let i = first; i < first + count; i += 1) this.ended.push({ runId: `run-${i}`, length: 1, head: `head-${i}` })
  }

  async unsealedRuns(limit: number): Promise<SealedRun[]> {
    if (this.trouble) throw this.trouble
    const sealed = new Set(this.checkpoints.flatMap(({ runs }) => runs.map(({ runId }) => runId)))
    return this.ended.filter(({ runId }) => !sealed.has(runId)).slice(0, limit)
  }

  async unsealedPurges(limit: number): Promise<SealedRun[]> {
    const told = new Set(this.checkpoints.flatMap(({ purged }) => purged.map(({ runId }) => runId)))
    return this.purged.filter(({ runId }) => !told.has(runId)).slice(0, limit)
  }

  async latestCheckpoint(): Promise<Checkpoint | undefined> {
    return this.checkpoints.at(-1)
  }

  async putCheckpoint(checkpoint: Checkpoint): Promise<boolean> {
    const { meanwhile } = this
    this.meanwhile = undefined
    await meanwhile?.()
    if (checkpoint.seq !== this.checkpoints.length) return false
    this.checkpoints.push(checkpoint)
    return true
  }
}

function rig() {
  const store = new SharedStore()
  const clock = new ManualClock()
  const errors: object[] = []
  const log = { info: () => undefined, warn: () => undefined, error: (fields: object) => void errors.push(fields) }
  const sealer = (keyId = 'k1') => new Sealer({ store, clock, log, key: key(keyId) })
  return { store, clock, errors, sealer }
}

const sealedIds = ({ checkpoints }: SharedStore): string[] =>
  checkpoints.flatMap(({ runs }) => runs.map(({ runId }) => runId))

describe('sealing', () => {
  test('covers every run that has ended, in checkpoints of 500 that follow each other', async () => {
    const { store, sealer } = rig()
    store.end(1201)
    expect(await sealer().seal()).toBe(1201)
    expect(store.checkpoints.map(({ seq, runs }) => [seq, runs.length])).toEqual([
      [0, 500],
      [1, 500],
      [2, 201],
    ])
    expect(store.checkpoints.every(isUnchanged)).toBe(true)
    expect(store.checkpoints.every((one, i) => follows(store.checkpoints[i - 1], one))).toBe(true)
    expect(store.checkpoints.every(({ hash, signature }) => signature === `k1 ${hash}`)).toBe(true)
  })

  test('without a run that has ended makes no checkpoint', async () => {
    const { store, sealer } = rig()
    expect(await sealer().seal()).toBe(0)
    expect(store.checkpoints).toEqual([])
  })

  test('tries again with the next number when another host took it, and seals no run twice', async () => {
    const { store, sealer } = rig()
    store.end(3)
    const other = sealer('k2')
    store.meanwhile = async () => {
      await other.seal()
      store.end(2)
    }
    expect(await sealer('k1').seal()).toBe(2)
    expect(store.checkpoints.map(({ seq, keyId }) => [seq, keyId])).toEqual([
      [0, 'k2'],
      [1, 'k1'],
    ])
    expect(new Set(sealedIds(store)).size).toBe(sealedIds(store).length)
  })

  test('gives up when a number is taken and yet is not there', async () => {
    const { store, sealer } = rig()
    store.end(1)
    store.putCheckpoint = async () => false
    await expect(sealer().seal()).rejects.toThrow('checkpoint 0 is taken')
  })
})

describe('in the background', () => {
  test('seals every so often, and once more at the end', async () => {
    const { store, clock, sealer } = rig()
    const one = sealer()
    one.start(1000)
    store.end(1)
    await clock.advance(999)
    expect(store.checkpoints).toHaveLength(0)
    await clock.advance(1)
    expect(store.checkpoints).toHaveLength(1)
    store.end(1)
    await clock.advance(1000)
    expect(store.checkpoints).toHaveLength(2)
    store.end(1)
    await one.stop()
    expect(store.checkpoints).toHaveLength(3)
    store.end(1)
    await clock.advance(10_000)
    expect(store.checkpoints).toHaveLength(3)
  })

  test('outlives a store that fails: it is logged, and tried again', async () => {
    const { store, clock, errors, sealer } = rig()
    const one = sealer()
    one.start(1000)
    store.end(1)
    store.trouble = new Error('no disk')
    await clock.advance(2000)
    expect(errors).toEqual([{ err: store.trouble }, { err: store.trouble }])
    store.trouble = undefined
    await clock.advance(1000)
    expect(store.checkpoints).toHaveLength(1)
    store.trouble = new Error('no disk again')
    await one.stop()
    expect(errors).toHaveLength(3)
  })

  test('does not start anew when it is stopped while it seals', async () => {
    const { store, clock, sealer } = rig()
    const one = sealer()
    one.start(1000)
    store.end(1)
    store.meanwhile = () => new Promise(resolve => clock.after(500, () => resolve(undefined)))
    await clock.advance(1000)
    const stopped = one.stop()
    await clock.advance(500)
    await stopped
    await settled()
    store.end(1)
    await clock.advance(10_000)
    expect(store.checkpoints).toHaveLength(1)
  })
})
