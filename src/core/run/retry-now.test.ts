import { describe, expect, it } from 'vitest'
import { given, rulesFor, Scenario } from '../../testing/given-when-then.js'
import { Replay } from '../replay/decide.js'
import type { Fork } from '../replay/events.js'

const failing = (failures: number, retryDelayMs = 1_000) => ({
  type: 'core.fail',
  config: { failures },
  settings: { maxRetries: 3, retryDelayMs },
})

describe('what backs off is tried now', () => {
  it('R-FLOW-5: at once when somebody asks, and counts as the try that it would have been', () => {
    const run = given({ nodes: { f: failing(2) } }).start()
    run.now += 10
    run.when({ type: 'RetryNow' })
    expect(run.refusal).toBeUndefined()
    expect(run.told(3)).toEqual(['node.started f', 'node.retried f'])
    expect(run.log.at(-1)).toMatchObject({ payload: { attempt: 2, delayMs: 2_000 } })
    run.when({ type: 'RetryNow', nodeId: 'f' })
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('only the node that is named', () => {
    const run = given({ nodes: { f: failing(1), g: failing(1) } }).start()
    const from = run.log.length
    run.when({ type: 'RetryNow', nodeId: 'g' })
    expect(run.told(from)).toEqual(['node.started g', 'node.completed g'])
    run.when({ type: 'RetryNow' })
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it.each([
    ['nothing waits', (run: Scenario) => run, 'nothing_to_retry'],
    ['it is paused', (run: Scenario) => run.when({ type: 'PauseRun', drainPolicy: 'immediate' }), 'run_paused'],
    ['it has ended', (run: Scenario) => run.when({ type: 'CancelRun', by: 'alice' }), 'run_terminal'],
  ])('is refused, and nothing changes, where %s', (_what, before, code) => {
    const delay = { type: 'core.delay', config: { delayMs: 1_000 } }
    const run = before(given({ nodes: { f: delay } }).start())
    const length = run.log.length
    run.when({ type: 'RetryNow' })
    expect([run.refusal?.code, run.log.length]).toEqual([code, length])
    run.when({ type: 'RetryNow', nodeId: 'elsewhere' })
    expect([run.refusal?.code, run.log.length]).toEqual([code, length])
  })

  it('R-REPLAY-11: is told again as it was', () => {
    const rules = rulesFor({ nodes: { f: failing(2), g: failing(1) } })
    const run = new Scenario(rules).start()
    run.now += 7
    run.when({ type: 'RetryNow', nodeId: 'f' })
    run.now += 7
    run.when({ type: 'RetryNow' })
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
    const fork: Fork = { sourceRunId: 'run-1', fromSeq: 0, mode: 'replay', sourceLength: run.log.length }
    const replay = new Replay(rules, { phase: 'absent', fork }, fork, 'run-2', run.log)
    const told = []
    for (let events = replay.next(); events !== undefined; events = replay.next()) told.push(...events)
    const said = ({ type, nodeId, at }: { type: string; nodeId?: string | undefined; at: number }) => [type, nodeId, at]
    expect(told.slice(1).map(said)).toEqual(run.log.slice(1).map(said))
  })
})
