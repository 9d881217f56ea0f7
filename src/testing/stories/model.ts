import type { Brief, ModelSaid } from '../../core/invocation/brief.js'
import type { JsonObject } from '../../core/json.js'
import type { AgentFailure, Agents, ModelCallRequest } from '../../engine/ports/agents.js'
import { type Choose, chance, pick } from '../../log-check/testing/choice.js'
import { agentsDouble, BRIEF, type Said } from '../agents.js'
import { HASH, tool } from '../invocations.js'
import type { ManualClock } from '../manual-clock.js'
import { AGENTS, decision } from './workflows.js'

/** A model and tools that do whatever a model and tools may do, and take their time. */

const TOOLS = [
  tool('mcp:read'),
  tool('http:fetch', { transport: 'http', scopes: ['tools:use'] }),
  tool('native:sum', { transport: 'native' }),
]

const PROMPTS: Brief['prompts'] = [
  ...BRIEF.prompts,
  {
    kind: 'user',
    chain: [
      { layer: 'node', applied: false, reason: 'none' },
      { layer: 'host-defaults', applied: true },
    ],
    resolved: 'prompt:default@1.0.0',
  },
  { kind: 'schema-hint', chain: [{ layer: 'node', applied: false, reason: 'none' }], resolved: null },
]

const briefFor = (choose: Choose): Partial<Brief> => ({
  tools: TOOLS.slice(0, 1 + choose(TOOLS.length)),
  prompts: PROMPTS.slice(0, 1 + choose(3)),
  composed: { ...BRIEF.composed, variableHashes: { x: `sha256:${HASH}` } },
  checksResult: chance(choose, 3),
  maxOutputTokens: pick(choose, [200, 100]),
  maxRounds: 4,
  maxRetries: choose(3),
  ...pick(choose, [{}, {}, { threshold: 0.95 }]),
  ...pick(choose, [{ price: { input: 2, output: 10 } }, { price: { input: 1, output: 3 } }, {}]),
  ...(chance(choose, 24) ? { taskProblem: 'no task' } : {}),
})

export function scriptedAgents(clock: ManualClock, choose: Choose): Agents {
  const passing = (ms: number) => new Promise<void>(resolve => clock.after(ms, resolve))
  const double = agentsDouble({
    agents: Object.fromEntries(AGENTS.map(agentId => [agentId, briefFor(choose)])),
    async think(ask) {
      for (let i = choose(3); i > 0; i -= 1) {
        ask.onReasoning?.('so ')
        await passing(5)
      }
      await passing(pick(choose, [0, 10, 150]))
      return ask.role === 'supervisor' ? lead(choose) : say(ask, choose)
    },
    async use() {
      await passing(pick(choose, [0, 40]))
      return pick(choose, [
        { status: 'ok' as const, durationMs: 3, resultTokens: 5 },
        { status: 'error' as const, durationMs: 3, resultTokens: 5, code: 'tool_failed' },
        { status: 'rate_limited' as const, durationMs: 0, resultTokens: 5, code: 'rate_limited' },
      ])
    },
  })
  // What was asked in the same words before is answered from memory, on a host that remembers.
  return chance(choose, 4) ? { ...double, keyOf: () => HASH } : double
}

const answered = (result: JsonObject | string, more: object = {}): ModelSaid => ({ kind: 'answered', result, ...more })

const lead = (choose: Choose): Said => ({
  said: answered(decision(choose)),
  usage: { inputTokens: 10, outputTokens: 5 },
  reasoning: 'so',
})

function say({ brief, maxOutputTokens }: ModelCallRequest, choose: Choose): Said | AgentFailure {
  const usage = { inputTokens: 20 + choose(60), outputTokens: Math.min(10 + choose(50), maxOutputTokens) }
  const broken = { ok: false as const, code: 'provider_failed', message: 'no', retryable: true }
  const wanted = [...brief.tools.map(({ toolId }) => ({ toolId, argsHash: HASH })), { argsHash: HASH }]
  const misfit = { ...wanted[0], argsHash: HASH, problem: 'no path' }
  const calls = Array.from({ length: 1 + choose(3) }, () => pick(choose, [...wanted, ...wanted, misfit]))
  const said = pick<ModelSaid | AgentFailure>(choose, [
    answered('well'),
    answered('well', { confidence: 0.9 }),
    answered('well', { confidence: 0.4 }),
    answered({ text: 'well' }, { recovery: 'jsonrepair' }),
    ...Array.from({ length: 5 }, () => ({ kind: 'tools' as const, calls })),
    { kind: 'unusable', reason: pick(choose, ['schema-violation', 'parse-error']), problem: 'mend it' },
    { kind: 'truncated', stopReason: 'max_tokens' },
    { kind: 'truncated', stopReason: 'max_tokens' },
    { kind: 'refused', safetyCategory: 'violence' },
    broken,
    { ...broken, usage },
  ])
  return 'ok' in said ? said : { said, usage, replyTokens: 10, ...(chance(choose, 2) ? { reasoning: 'so' } : {}) }
}
