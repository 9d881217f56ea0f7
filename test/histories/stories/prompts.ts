import type { ModelCallRequest } from '../../../src/engine/ports/agents.js'
import { NOTHING_TODAY } from '../../../src/engine/ports/today.js'
import { agentsDouble, type Said } from '../../../src/testing/agents.js'
import { settled } from '../../../src/testing/manual-clock.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import { rigWorld, start, untilOver, type World } from '../world.js'
import { register } from './doubles.js'
import type { Story } from './index.js'

const LACKING = { provider: 'openai', model: 'blind', missing: ['vision-input'] }

const WORKFLOWS: readonly Sketch[] = [
  { id: 'call', nodes: { say: { type: 'core.ai.callPrompt', config: { prompt: 'Tell.', resultVariable: 'said' } } } },
  {
    id: 'structured',
    nodes: {
      ask: {
        type: 'core.ai.structuredOutput',
        config: { provider: 'mock', model: 'mini', outputSchema: { type: 'object' }, retryOnInvalidJson: 1 },
      },
      after: 'core.noop',
    },
    edges: ['ask > after'],
  },
  { id: 'lacking', nodes: { lacks: 'conformance.modelCapability.insufficient' } },
  {
    id: 'instead',
    nodes: { sees: { type: 'core.ai.callPrompt', config: { requiredModelCapabilities: ['vision-input'] } } },
  },
  { id: 'marked', nodes: { odd: { type: 'core.ai.callPrompt', config: { prompt: 'Any.', nondeterministic: true } } } },
]

/** The first answer cannot be used; the next one can. */
const think = ({ nodeId, rounds }: ModelCallRequest): Said =>
  nodeId === 'ask' && rounds.length === 0
    ? { said: { kind: 'unusable', reason: 'schema-violation', problem: 'no object' } }
    : { said: { kind: 'answered', result: nodeId === 'ask' ? { valid: true } : 'words' } }

async function replay({ engine, tenant }: World, runId: string): Promise<void> {
  const answer = await engine.fork({ tenant, runId, mode: 'replay', fromSeq: 0 })
  if (!answer.ok) throw new Error(JSON.stringify(answer))
  await settled()
}

/**
 * Nodes that ask a model by themselves; models that lack something, and one that takes the place of another; a replay
 * of a call that would be refused by now.
 */
export const prompts: Story = {
  open: rigWorld(() => ({
    agents: agentsDouble({
      agents: {
        'host:prompt:ask': { provider: 'mock', model: 'mini' },
        'host:prompt:lacks': { lacks: { ...LACKING, fallbackAttempted: false } },
        'host:prompt:sees': { model: 'eyes', substituted: LACKING },
      },
      think,
    }),
    today: { ...NOTHING_TODAY, envelope: () => 'refusal' },
  })),
  async tell(world) {
    await register(world, ...WORKFLOWS)
    for (const { id } of WORKFLOWS) {
      const runId = await start(world, id ?? '')
      await untilOver(world)
      await replay(world, runId)
    }
  },
}
