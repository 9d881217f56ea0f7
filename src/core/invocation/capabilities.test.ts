import { expect, test } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, says } from '../../testing/invocations.js'
import { failure } from '../problem.js'

const lacks = { provider: 'openai', model: 'small', missing: ['vision-input'] }

test('R-ENV-4: that no model has what is needed is told before the node fails; no agent begins', () => {
  const run = given(agentFlow()).start()
  const [owed] = run.owed
  const error = failure('capability_not_provided', 'no', { retryable: false })
  const answer = { ok: false as const, error, lacks: { ...lacks, fallbackAttempted: true } }
  run.when({ type: 'AgentBriefed', nodeId: 'a', since: owed?.since ?? 0, answer })
  expect(run.told().slice(2)).toEqual(['model.capability.insufficient a', 'node.failed a', 'run.failed'])
  const [told, failed] = run.log.slice(2)
  expect(told?.payload).toEqual({
    nodeId: 'a',
    provider: 'openai',
    model: 'small',
    missingCapabilities: ['vision-input'],
    fallbackAttempted: true,
  })
  expect(failed).toMatchObject({ cause: told?.sequence, payload: { error: { code: 'capability_not_provided' } } })
})

test('R-ENV-4: a model that takes the place of another is told before the agent begins, and is no choice for others', () => {
  const run = briefs(given(agentFlow()).start(), { provider: 'anthropic', model: 'eyes', substituted: lacks })
  expect(run.told().slice(2, 4)).toEqual(['model.capability.substituted a', 'agent.invocation.started a'])
  expect(run.log[2]?.payload).toEqual({
    nodeId: 'a',
    originalProvider: 'openai',
    originalModel: 'small',
    fallbackProvider: 'anthropic',
    fallbackModel: 'eyes',
    missingCapabilities: ['vision-input'],
  })
  expect(run.state).toMatchObject({ models: { 'worker:general': { provider: 'openai', model: 'small' } } })
  expect(says(run, answered()).told().at(-1)).toBe('run.completed')
})
