import { describe, expect, test } from 'vitest'
import type { Active } from '../../core/run/state.js'
import { ENGINE_VERSION } from '../../core/run/version.js'
import type { Store } from '../ports/store.js'
import { isTimeToKeep, keptState, SNAPSHOT_SCHEMA, snapshotOf } from './snapshot.js'

const state = { phase: 'active', runId: 'r', next: 1_000 } as unknown as Active

/** A store that keeps this text as the fold of the first 1,000 events. */
const keeping = (text: string): Store =>
  ({ readSnapshot: async () => ({ length: 1_000, state: text }) }) as unknown as Store

const kept = (over: object) => {
  const fields = { ...JSON.parse(snapshotOf(state)!), ...over }
  return keptState(keeping(JSON.stringify(fields)), 'r', 1_000)
}

describe('a kept state', () => {
  test('is made again a thousand events after the last one, of a run that goes on', () => {
    const times = [0, 1, 999].map(kept => isTimeToKeep({ ...state, next: 1_000 }, kept))
    expect(times).toEqual([true, false, false])
    expect(isTimeToKeep({ ...state, next: 1_999 }, 1_000)).toBe(false)
    expect(isTimeToKeep({ ...state, phase: 'ended' } as never, 0)).toBe(false)
  })

  test('is gone by when shape and rules are today’s', async () => {
    expect(await kept({})).toEqual(state)
  })

  test.each([
    ['another shape', { schema: `${SNAPSHOT_SCHEMA}0` }],
    ['no named shape', { schema: undefined }],
    ['other rules', { engine: `${ENGINE_VERSION}0` }],
  ])('of %s is thrown away, never misread', async (_what, over) => {
    expect(await kept(over)).toBeUndefined()
  })

  test('that is no JSON, as after a half-done edit by hand, is thrown away too', async () => {
    expect(await keptState(keeping('{"schema":'), 'r', 1_000)).toBeUndefined()
  })
})
