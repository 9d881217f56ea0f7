import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { answer } from '../../testing/orchestration.js'

describe('the time in which nothing but someone outside can move the run', () => {
  const asksTwice = {
    nodes: {
      first: 'core.approvalGate',
      second: 'core.approvalGate',
      work: { type: 'core.delay', config: { ms: 1_000 } },
    },
    edges: ['first > second', 'second > work'],
    settings: { timeout: 1_000 },
  }

  it('core §10 R-LIMIT-5: every wait counts, the second on top of the first', () => {
    const run = given(asksTwice).start()
    run.now += 50_000
    run.when(answer('first', { action: 'accept' }))
    expect(run.state).toMatchObject({ idleMs: 50_000 })
    run.now += 7
    run.when(answer('second', { action: 'accept' }))
    expect(run.state).toMatchObject({ idleMs: 50_007, idleSince: null })
    expect(run.after(1_000).state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('core §10 R-LIMIT-5: a pause counts like a question', () => {
    const run = given(asksTwice).start()
    run.now += 50_000
    run.when(answer('first', { action: 'accept' })).when(answer('second', { action: 'accept' }))
    run.when({ type: 'PauseRun', drainPolicy: 'immediate' })
    run.now += 7
    run.when({ type: 'ResumeRun' })
    expect(run.state).toMatchObject({ idleMs: 50_007, idleSince: null })
    expect(run.after(1_000).state).toMatchObject({ outcome: { status: 'completed' } })
  })
})
