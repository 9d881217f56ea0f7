import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { begins, ends, next, payloads, scripted, terminate } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'

const INNER = { type: 'core.loop', config: { maxIterations: 2 } }

const completions = (run: Scenario) => run.told().flatMap(told => (/^node\.completed (.*)/.exec(told) ?? []).slice(1))

/** Plays the only worker of a turn. */
const work = (run: Scenario, childRunId: string) => ends(begins(run, childRunId), childRunId)

describe('the body of the loop', () => {
  it('R-ORCH-18: runs whatever else is in the body again each time, in the order it is drawn', () => {
    const run = given(
      scripted([next('a'), next('b')], {
        nodes: { before: 'core.noop', after: 'core.noop', beside: 'core.noop' },
        edges: [
          'sup > before',
          'before > dispatch',
          'sup.body > beside',
          'beside > sup',
          'dispatch > after',
          'after > sup',
        ],
      }),
    ).start()
    const turn = (worker: string) => [
      'node.completed before',
      'node.completed beside',
      `node.dispatched ${worker}`,
      'node.completed dispatch',
      'node.completed after',
      'node.completed sup',
    ]
    for (const child of ['child-1', 'child-2']) {
      begins(run, child)
      ends(run, child)
    }
    const told = run.log.flatMap(event => {
      if (event.type === 'node.dispatched') return [`node.dispatched ${event.payload.childWorkflowId}`]
      return event.type === 'node.completed' ? [`node.completed ${event.nodeId}`] : []
    })
    expect(told).toEqual(['node.completed sup', ...turn('a'), ...turn('b')])
    const second = run.log.filter(({ type, nodeId }) => type === 'node.started' && nodeId === 'sup')[1]!
    expect(run.log[second.cause!]).toMatchObject({ type: 'node.completed', nodeId: 'after' })
  })

  it('R-ORCH-18: may hold a loop of its own, which begins anew in every turn', () => {
    const run = given(
      scripted([next('a'), next('a')], {
        nodes: { inner: INNER, n: 'core.noop' },
        edges: ['sup > inner', 'inner.body > n', 'n > inner', 'inner.done > dispatch', 'dispatch > sup'],
      }),
    ).start()
    work(run, 'child-1')
    work(run, 'child-2')
    const turn = ['sup', 'inner', 'n', 'inner', 'n', 'inner', 'dispatch']
    expect(completions(run)).toEqual([...turn, ...turn, 'sup'])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-LOOP-8 R-LOOP-12: is over before the next turn, also where it ends with a loop of its own', () => {
    const run = given(
      scripted([next('a'), terminate], {
        nodes: { inner: INNER, n: 'core.noop' },
        edges: ['sup > dispatch', 'dispatch > inner', 'inner.body > n', 'n > inner', 'inner.done > sup'],
      }),
    ).start()
    work(run, 'child-1')
    expect(completions(run)).toEqual(['sup', 'dispatch', 'inner', 'n', 'inner', 'n', 'inner', 'sup'])
  })

  it('R-LOOP-7: a dispatch inside a loop of its own is refused: each decision is handed over once', () => {
    const build = () =>
      given(
        scripted([next('a')], {
          nodes: { inner: INNER },
          edges: ['sup > inner', 'inner.body > dispatch', 'dispatch > inner', 'inner.done > sup'],
        }),
      )
    expect(build).toThrow()
  })

  it('R-ORCH-19: may catch the failure of the dispatch itself and lead back', () => {
    const run = given(
      scripted([next('a', 'b'), terminate], {
        dispatch: { fanOutPolicy: 'reject' },
        nodes: { caught: 'core.noop' },
        edges: ['sup > dispatch', { path: 'dispatch > caught', triggerRule: 'any_failed' }, 'caught > sup'],
      }),
    ).start()
    expect(payloads(run, 'node.failed')).toMatchObject([{ nodeId: 'dispatch', error: { code: 'fan_out_unsupported' } }])
    expect(completions(run)).toEqual(['sup', 'caught', 'sup'])
    expect(statusOf(run.state)).toBe('completed')
  })
})
