import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, owedTo, reasons, says } from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import { SUMMARY_TOKENS } from '../reasoning.js'

const SECRET = 'correct-horse-battery'
const SUMMARY_LENGTH = SUMMARY_TOKENS * 4

const keeping = (reasoningVerbosity?: string): Scenario => {
  const flow = agentFlow({}, { variables: [{ name: 'pin', type: 'string', sensitive: true }] })
  return briefs(given(flow).start({ pin: SECRET }, reasoningVerbosity === undefined ? {} : { reasoningVerbosity }))
}

const told = (run: Scenario) => JSON.stringify(run.log.map(({ type, payload }) => [type, payload]))

describe('the reasoning of an agent whose run keeps secrets', () => {
  it('R-EVENT-6: is not told in pieces, between which a secret would be seen in halves', () => {
    const run = keeping('full')
    reasons(run, 0, 'the pin is correct-hor')
    reasons(run, 1, 'se-battery, so')
    expect(payloads(run, 'agent.reasoning.delta')).toEqual([])
    says(run, { said: answered(), reasoning: `the pin is ${SECRET}, so` })
    expect(payloads(run, 'agent.reasoned')).toHaveLength(1)
    expect(told(run)).not.toMatch(/correct-hor|se-battery/)
  })

  it('R-EVENT-6: without secrets, it is', () => {
    const run = briefs(given(agentFlow()).start())
    reasons(reasons(run, 0), 1)
    expect(payloads(run, 'agent.reasoning.delta')).toHaveLength(2)
  })

  it('R-EVENT-5 R-EVENT-6: is asked for whole, masked, and only then cut: a summary ends within no secret', () => {
    const run = keeping()
    expect(owedTo(run, 'call-model')!.verbosity).toBe('full')
    const before = 'x'.repeat(SUMMARY_LENGTH - 10)
    says(run, { said: answered(), reasoning: `${before}${SECRET} and so on` })
    const [reasoned] = payloads(run, 'agent.reasoned')
    expect(reasoned).toMatchObject({ verbosity: 'summary' })
    expect(String(reasoned!.reasoning).length).toBeLessThanOrEqual(SUMMARY_LENGTH)
    expect(told(run)).not.toContain('correct')
  })

  it('R-EVENT-5: off is off', () => {
    const run = keeping('off')
    expect(owedTo(run, 'call-model')!.verbosity).toBe('off')
    says(run, { said: answered(), reasoning: SECRET })
    expect(payloads(run, 'agent.reasoned')).toEqual([])
  })

  it('R-EVENT-6: nor is a secret told by what is wrong with the task', () => {
    const flow = agentFlow({}, { variables: [{ name: 'pin', type: 'string', sensitive: true }] })
    const run = briefs(given(flow).start({ pin: SECRET }), { taskProblem: `task.pin must not be "${SECRET}"` })
    expect(run.told().at(-1)).toBe('run.failed')
    const told = run.log.slice(1).map(({ type, payload }) => [type, payload])
    expect(JSON.stringify(told)).not.toContain(SECRET)
  })
})
