import { expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { agentFlow, atWork, briefs, owedTo, says, tool, toolFails, wants } from '../../testing/invocations.js'

const READ = tool('mcp:files.read')

it('R-BUDGET-4: a tool call that failed for now, and is really made again by the next attempt, counts again', () => {
  const run = atWork(
    given(agentFlow({ settings: { maxRetries: 5, retryDelayMs: 10 } })),
    { tools: [READ] },
    { budget: { maxToolCalls: 2 } },
  )
  let made = 0
  for (let attempt = 0; attempt < 5; attempt += 1) {
    says(run, wants(READ.toolId))
    if (!owedTo(run, 'call-tool')) break
    made += 1
    toolFails(run, 'tool_failed', true)
    run.after(1_000)
    if (owedTo(run, 'prepare-agent')) briefs(run, { tools: [READ] })
  }
  expect(made).toBeLessThanOrEqual(2)
})
