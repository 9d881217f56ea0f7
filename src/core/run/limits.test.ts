import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'

const sleeping = { nodes: { d: { type: 'core.delay', config: { ms: 9_000 } } }, settings: { timeout: 200 } }

describe('the time that a workflow gives itself', () => {
  it('core §10 R-LIMIT-3: settings.timeout trips after its limit, never at it', () => {
    const run = given(sleeping).start()
    expect(run.wakeAt).toBe(1_201)
    expect(run.after(200).log).toHaveLength(2)
    run.after(1)
    expect(run.told().slice(2)).toEqual(['node.cancelled d', 'cap.breached', 'run.failed'])
    expect(run.log.at(-2)).toMatchObject({ payload: { kind: 'run-duration', limit: 200, observed: 201 } })
    expect(run.state).toMatchObject({ outcome: { error: { code: 'run_timeout', details: { elapsedMs: 201 } } } })
  })

  it('core §10: an outcome that comes at the limit still counts, one after it does not', () => {
    const effect = { nodes: { s: 'core.conformance.side-effect' }, settings: { timeout: 200 } }
    const answeredAfter = (ms: number) => {
      const run = given(effect, ['assay.conformance']).start()
      run.now += ms
      return run.when({ type: 'EffectAnswered', nodeId: 's', since: 1, answer: { ok: true, output: 1 } })
    }
    expect(answeredAfter(200).state).toMatchObject({ outcome: { status: 'completed' } })
    expect(answeredAfter(201).state).toMatchObject({ outcome: { error: { code: 'run_timeout' } } })
  })

  it('core §10 R-LIMIT-5: the limit moves by exactly the time that a pause took', () => {
    const run = given(sleeping).start().when({ type: 'PauseRun', drainPolicy: 'immediate' })
    run.now += 1_000
    run.when({ type: 'ResumeRun' })
    expect(run.wakeAt).toBe(2_201)
    expect(run.after(200).state).toMatchObject({ phase: 'active' })
    expect(run.after(1).log.at(-2)).toMatchObject({ payload: { kind: 'run-duration', limit: 200, observed: 201 } })
  })

  it('core §10: zero is no limit', () => {
    const run = given({ ...sleeping, settings: { timeout: 0 } }).start()
    expect(run.after(9_000).state).toMatchObject({ outcome: { status: 'completed' } })
  })
})
