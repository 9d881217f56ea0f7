import { describe, expect, it } from 'vitest'
import { rulesFor, Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, atWork, briefs, says } from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import type { BudgetPolicy } from '../budget/budget.js'
import type { Rules } from '../run/decide.js'
import type { Recorded } from '../run/events.js'
import { Replay } from './decide.js'
import type { Fork } from './events.js'

const flow = agentFlow()
const allowing = (budget: BudgetPolicy): Rules => rulesFor(flow, [], { budget })

/** Told again from `fromSeq` on, by a host of other settings. */
function retold(run: Scenario, rules: Rules, fromSeq: number): Recorded[] {
  const fork: Fork = { sourceRunId: 'run-1', fromSeq, mode: 'replay', sourceLength: run.log.length }
  const replay = new Replay(rules, { phase: 'absent', fork }, fork, 'run-2', run.log)
  const told = run.log.slice(0, fromSeq)
  for (let events = replay.next(); events !== undefined; events = replay.next()) told.push(...events)
  return told
}

const said = ({ sequence, type, nodeId, payload, secret, cause }: Recorded) =>
  JSON.stringify([sequence, type, nodeId, payload, secret, cause])

const OTHERS: readonly [string, BudgetPolicy, BudgetPolicy][] = [
  ['bounds what it did not', {}, { maxTokens: 100 }],
  ['denies the model', {}, { modelDeny: ['*'] }],
  ['bounds it more', { maxTokens: 5_000 }, { maxTokens: 100 }],
  ['bounds it less', { maxTokens: 5_000 }, { maxTokens: 9_000 }],
  ['bounds it no more', { maxTokens: 5_000, thresholdPercent: 0 }, {}],
]

describe('what a host lets runs spend', () => {
  it.each(OTHERS)('R-REPLAY-11: a run is told again as it was by a host that now %s', (_how, then, now) => {
    const run = says(atWork(new Scenario(allowing(then))), answered())
    expect(run.told().at(-1)).toBe('run.completed')
    const own = run.log.slice(1).map(said)
    for (let fromSeq = 0; fromSeq <= run.log.length; fromSeq += 1)
      expect(retold(run, allowing(now), fromSeq).slice(1).map(said), `from ${fromSeq}`).toEqual(own)
  })

  it('R-REPLAY-11 R-BUDGET-5: a run that was denied its model stays so', () => {
    const run = briefs(new Scenario(allowing({ modelDeny: ['gpt-*'] })).start())
    expect(payloads(run, 'run.failed')[0]).toMatchObject({ error: { code: 'budget_model_denied' } })
    expect(retold(run, allowing({}), 0).slice(1).map(said)).toEqual(run.log.slice(1).map(said))
  })
})
