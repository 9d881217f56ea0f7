import { expect, test } from 'vitest'
import { agentsDouble } from '../testing/agents.js'
import { engineRig, register, startRun } from '../testing/engine-rig.js'
import { settled } from '../testing/manual-clock.js'

const TOOL = { toolId: 'mcp:files.read', transport: 'mcp' as const, repeat: 'safe' as const, scopes: [] }

test('an agent uses a tool, answers, and its result is the output of the run', async () => {
  const rig = engineRig()
  const agents = agentsDouble({
    agents: { 'local.test.agent': { tools: [TOOL] } },
    think: (_ask, nth) =>
      nth === 1
        ? { said: { kind: 'tools', calls: [{ toolId: TOOL.toolId, argsHash: 'a'.repeat(64) }] }, args: [{ path: 'x' }] }
        : { said: { kind: 'answered', result: { text: 'hello' }, confidence: 0.9 }, reasoning: 'because' },
  })
  const engine = await rig.host({ agents })
  await register(engine, {
    id: 'w',
    nodes: [{ id: 'a', typeId: 'core.agent', agent: { agentId: 'local.test.agent' } }],
  } as never)
  const runId = await startRun(engine, 'w', { inputs: { task: 'read x' } })
  await settled()
  const view = await engine.inspect('t1', runId)
  const events = (await engine.readEvents('t1', runId, 0))!
  console.log(events.map(e => `${e.sequence} ${e.type} <-${e.cause} ${e.payload.slice(0, 160)}`).join('\n'))
  expect(view!.status).toBe('completed')
  expect(agents.thoughts[1]!.rounds[0]!.results).toEqual([{ text: 'fine', isError: false }])
})
