import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { convenes, gateAt, inspects, judged, poor, recordsOf, works } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, says } from '../../testing/invocations.js'
import { minus, NOTHING_SPENT, plus, type Spend } from '../budget/budget.js'
import type { Recorded } from '../run/events.js'
import { placeOf, WHOLE_RUN } from './attempt.js'
import type { BoundGate } from './gate.js'
import type { Cost } from './state.js'

const tokens = (count: number): Spend => ({ ...NOTHING_SPENT, tokens: count })

/** Work that no gate stands before, then work that gates may send back. */
const twoPhases = {
  nodes: {
    free: { type: 'core.subWorkflow', config: { workflowId: 'f', outputMapping: { had: 'x' } } },
    a: { type: 'core.subWorkflow', config: { workflowId: 'w', outputMapping: { got: 'x' } } },
  },
  edges: ['free > a'],
}

const begun = (gates: readonly BoundGate[]) => given(twoPhases).start({}, undefined, gates)
const gate = (gate_id: string, phase: string, placement: 'phase_exit' | 'workflow_exit' = 'phase_exit') =>
  gateAt(phase, placement, { gate_id })

const AT_A = placeOf('a', { workerId: 'w' })

const costsOf = ({ state }: Scenario) => (state.phase === 'absent' ? undefined : state.gated?.costs) ?? {}
const totalOf = (run: Scenario, place: string): Cost | undefined => costsOf(run)[place]?.total

function ledgersOf({ state }: Scenario): Cost {
  if (state.phase === 'absent') throw new Error('no run')
  const { spend = NOTHING_SPENT, verification = NOTHING_SPENT } = state
  return { execution: minus(spend, verification), verification }
}

const attemptsOf = ({ log }: Scenario) =>
  recordsOf(log).map(({ gateId, attempt, work, cost }) => [
    gateId,
    attempt,
    work?.execution.tokens,
    (work?.verification.tokens ?? 0) + (cost?.tokens ?? 0),
  ])

describe('what work and its judging cost', () => {
  it('R-DWS-27: by attempt, and over all attempts at the place', () => {
    const run = begun([gate('g1', 'a')])
    works(run, 'free-1', { x: 0 }, { nodeId: 'free', spent: tokens(7) })
    judged(works(run, 'child-1', { x: 1 }, { spent: tokens(100) }), { ...poor(), spent: tokens(30) })
    judged(works(run, 'child-2', { x: 2 }, { spent: tokens(200) }), { spent: tokens(40) })
    expect(attemptsOf(run)).toEqual([
      ['g1', 1, 100, 30],
      ['g1', 2, 200, 40],
    ])
    const { execution, verification } = totalOf(run, AT_A)!
    expect(execution).toEqual(tokens(300))
    expect(plus(execution, tokens(7))).toEqual(ledgersOf(run).execution)
    expect(verification).toEqual(ledgersOf(run).verification)
  })

  it('R-DWS-27: several gates at one place judge the same work, which is counted once', () => {
    const run = begun([gate('g1', 'a'), gate('g2', 'a')])
    works(run, 'free-1', { x: 0 }, { nodeId: 'free' })
    works(run, 'child-1', { x: 1 }, { spent: tokens(100) })
    judged(judged(run, { spent: tokens(10) }), { spent: tokens(20) })
    expect(attemptsOf(run)).toEqual([
      ['g1', 1, 100, 10],
      ['g2', 1, 100, 20],
    ])
    expect(totalOf(run, AT_A)).toEqual({ execution: tokens(100), verification: tokens(30) })
  })

  it('R-DWS-28: what the worker’s own verifiers have spent is verification here, too', () => {
    const run = begun([gate('g1', 'a')])
    works(run, 'free-1', { x: 0 }, { nodeId: 'free' })
    works(run, 'child-1', { x: 1 }, { spent: tokens(100), verification: tokens(60) })
    judged(run, { spent: tokens(5) })
    expect(attemptsOf(run)).toEqual([['g1', 1, 40, 65]])
    expect(totalOf(run, AT_A)).toEqual({ execution: tokens(40), verification: tokens(65) })
  })

  it('R-DWS-27 R-BUDGET-3: what nobody knows the cost of is held, and is no cost of the work or of its judging', () => {
    const run = begun([gate('g1', 'a')])
    works(run, 'free-1', { x: 0 }, { nodeId: 'free' })
    works(run, 'child-1', { x: 1 }, { spent: tokens(100), held: tokens(900) })
    judged(run, { spent: tokens(5), held: tokens(70) })
    expect(attemptsOf(run)).toEqual([['g1', 1, 100, 5]])
    expect(totalOf(run, AT_A)).toEqual({ execution: tokens(100), verification: tokens(5) })
    expect(run.state).toMatchObject({ spend: tokens(105), held: tokens(970), verification: tokens(5) })
  })

  it('R-DWS-27: an agent’s calls are the work of its node, attempt by attempt', () => {
    const start = given(agentFlow({ config: { resultVariable: 'got' } })).start({}, undefined, [gate('g1', 'a')])
    const run = judged(says(briefs(start), answered('first')), { ...poor(), spent: tokens(3) })
    const first = ledgersOf(run).execution.tokens
    expect(first).toBeGreaterThan(0)
    judged(says(briefs(run), answered('second')))
    const all = ledgersOf(run).execution.tokens
    expect(attemptsOf(run).map(([, attempt, work]) => [attempt, work])).toEqual([
      [1, first],
      [2, all - first],
    ])
    expect(totalOf(run, placeOf('a'))).toEqual(ledgersOf(run))
  })

  it('R-DWS-28: a verifier that was let go may spend all it was granted, on judging', () => {
    const run = given(twoPhases).start({}, { budget: { maxTokens: 1_000 } }, [gate('g1', 'free')])
    works(run, 'free-1', { x: 0 }, { nodeId: 'free', spent: tokens(100) })
    convenes(inspects(run)).when({ type: 'CancelRun', by: 'ann' })
    const place = placeOf('free', { workerId: 'f' })
    expect(totalOf(run, place)).toEqual(ledgersOf(run))
    expect(ledgersOf(run).execution).toEqual(tokens(100))
  })
})

/** What the log says the workers of a node have spent. */
const workAt = (log: readonly Recorded[], nodeId: string): Spend =>
  log
    .flatMap(event => {
      const isEnd = event.type === 'core.workflowChain.event' && event.nodeId === nodeId
      return isEnd && event.secret && 'spent' in event.secret && event.secret.spent ? [event.secret.spent] : []
    })
    .reduce(plus, NOTHING_SPENT)

describe('the sums', () => {
  const amount = fc.record({
    tokens: fc.nat(1_000),
    costNano: fc.nat(1_000_000),
    toolCalls: fc.nat(5),
    retries: fc.nat(2),
  })
  const attempt = fc.record({ work: amount, vote: amount, isGood: fc.boolean() })

  it('R-DWS-27 R-DWS-28: places and ungated work add up to the ledgers of the run; the exit is all of it', () => {
    fc.assert(
      fc.property(amount, fc.array(attempt, { minLength: 1, maxLength: 4 }), fc.boolean(), (free, made, hasTwo) => {
        const gates = [gate('g1', 'a'), ...(hasTwo ? [gate('g2', 'a')] : []), gate('out', 'a', 'workflow_exit')]
        const run = works(begun(gates), 'free-1', { x: 0 }, { nodeId: 'free', spent: free })
        for (const [i, { work, vote, isGood }] of made.entries()) {
          if (run.state.phase !== 'active') break
          works(run, `child-${i}`, { x: i }, { spent: work })
          while (run.owed.some(({ kind }) => kind === 'gather-evidence'))
            judged(run, { ...(isGood ? {} : poor()), spent: vote })
        }
        const place = totalOf(run, AT_A)!
        expect(place.execution).toEqual(workAt(run.log, 'a'))
        const { execution, verification } = ledgersOf(run)
        expect(plus(place.execution, free)).toEqual(execution)
        const exit = run.log.flatMap(event => {
          const started = event.type === 'assay.verifier.ended' && event.payload.gateId === 'out'
          return started && event.secret?.spent ? [event.secret.spent] : []
        })
        expect(exit.reduce(plus, place.verification)).toEqual(verification)
        expect(totalOf(run, WHOLE_RUN)).toEqual({ execution, verification })
      }),
      { numRuns: 60 },
    )
  })
})
