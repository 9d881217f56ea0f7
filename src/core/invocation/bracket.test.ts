import { expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { agentFlow, answered, atWork, eventsOf, says } from '../../testing/invocations.js'

const FORBIDDEN = ['prompt', 'result', 'body', 'input', 'output', 'apiKey', 'secret', 'credentials', 'token']

it('R-LIVE-33 R-SEC-3: neither end of the bracket has a key for content, and its id is made of names and numbers', () => {
  const canary = 'canary-in-the-answer'
  const run = says(atWork(given(agentFlow())), answered({ said: canary }, 0.9))
  const ends = [...eventsOf(run, 'agent.invocation.started'), ...eventsOf(run, 'agent.invocation.completed')]
  expect(ends).toHaveLength(2)
  for (const { payload } of ends) {
    for (const key of FORBIDDEN) expect(payload).not.toHaveProperty(key)
    expect(JSON.stringify(payload)).not.toContain(canary)
    expect(payload.invocationId).toBe('a:1')
  }
})
