import type { AgentFailure, ModelCallRequest } from '../../../src/engine/ports/agents.js'
import { agentsDouble, type Said } from '../../../src/testing/agents.js'
import { agentFlow, answered, tool, wants } from '../../../src/testing/invocations.js'
import type { Sketch } from '../../../src/testing/workflow.js'
import { command, rigWorld, start, untilOver } from '../world.js'
import { performers, register } from './doubles.js'
import type { Story } from './index.js'

const READ = tool('mcp:files.read')
const SEND = tool('mcp:mail.send', { repeat: 'never', scopes: ['mail'] })

/** What each agent's model says, by how often it was asked in this invocation. */
const SAYINGS: { readonly [agentId: string]: (asked: number) => Said | AgentFailure | Promise<never> } = {
  'local.reader': asked =>
    asked === 0
      ? { said: wants(READ.toolId, SEND.toolId), args: [{ path: 'x' }, { to: 'bob' }], reasoning: 'look first' }
      : { said: answered({ text: 'hello' }, 0.9), reasoning: 'because' },
  'local.clumsy': asked =>
    asked === 0
      ? { said: { kind: 'unusable', reason: 'parse-error', problem: 'as JSON' } }
      : { said: answered('mended') },
  'local.hopeless': () => ({ said: { kind: 'unusable', reason: 'schema-violation', problem: 'no text' } }),
  'local.refusing': () => ({ said: { kind: 'refused' } }),
  'local.cut': () => ({ said: { kind: 'truncated', stopReason: 'max_tokens' } }),
  'local.fenced': () => ({ said: { kind: 'answered', result: 'found', recovery: 'markdown-fence' } }),
  'local.unsure': () => ({ said: answered('maybe', 0.2) }),
  'local.silent': () => new Promise<never>(() => undefined),
  'local.spender': asked =>
    asked === 0
      ? { said: wants(READ.toolId), usage: { inputTokens: 100, outputTokens: 900 } }
      : { said: answered('bought') },
  'local.failing': () => ({ ok: false, code: 'provider_failed', message: 'no', retryable: false }),
}

const think = ({ agentId = '', rounds, onReasoning }: ModelCallRequest): Said | AgentFailure | Promise<never> => {
  if (agentId === 'local.reader') onReasoning?.('look '.repeat(300))
  return SAYINGS[agentId]?.(rounds.length) ?? { said: answered() }
}

const flowOf = (agentId: string): Sketch => agentFlow({ config: { agentId } }, { id: agentId.replace('local.', '') })

/** Agents that use tools, must be corrected, refuse, are cut off, are not sure, fail, and run out of budget. */
export const agents: Story = {
  open: rigWorld(() => ({
    performers: performers(),
    agents: agentsDouble({
      agents: Object.fromEntries(
        Object.keys(SAYINGS).map(agentId => [
          agentId,
          {
            ...(agentId === 'local.reader' || agentId === 'local.spender' ? { tools: [READ, SEND] } : {}),
            threshold: 0.5,
          },
        ]),
      ),
      think,
    }),
  })),
  async tell(world) {
    await register(world, ...Object.keys(SAYINGS).map(flowOf))
    for (const agentId of Object.keys(SAYINGS)) {
      const runId = await start(world, agentId.replace('local.', ''), { inputs: { task: 'read x' } })
      if (agentId === 'local.silent') await command(world, runId, { type: 'cancel', by: 'p' })
      await untilOver(world)
    }
    await start(world, 'spender', { configurable: { budget: { maxTokens: 1_120, thresholdPercent: 1 } } })
    await untilOver(world)
  },
}
