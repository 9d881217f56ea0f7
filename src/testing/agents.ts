import type { Brief, ModelReply, ModelSaid, ToolReply } from '../core/invocation/brief.js'
import type { Json } from '../core/json.js'
import type {
  AgentAnswer,
  AgentFailure,
  Agents,
  ModelCallContents,
  ModelCallRequest,
  PrepareAgentRequest,
  ToolCallRequest,
  ToolContents,
  Vault,
} from '../engine/ports/agents.js'
import type { DataVault } from '../vault/vault.js'

/** What a double of the agents was asked to do outside, in order. */
export type Journal = {
  readonly briefs: PrepareAgentRequest[]
  readonly thoughts: ModelCallRequest[]
  readonly uses: ToolCallRequest[]
}

export type AgentsDouble = Agents & Journal

export type Script = {
  /** What differs from `BRIEF`, by agent id; an agent that is not here is not known. */
  readonly agents?: { readonly [agentId: string]: Partial<Brief> & Pick<AgentFailure, 'lacks'> }
  /** What the model says; by default it answers `done`. */
  readonly think?: (ask: ModelCallRequest, nth: number) => Said | AgentFailure | Promise<Said | AgentFailure>
  readonly use?: (
    ask: ToolCallRequest,
    nth: number,
  ) => Promise<ToolReply & { text?: string }> | (ToolReply & { text?: string })
}

/** Short for a reply: what was said, and what is not usual about it. `args` belong to the calls, by position. */
export type Said = Partial<Omit<ModelReply, 'said'>> & { readonly said: ModelSaid; readonly args?: readonly Json[] }

export const BRIEF: Brief = {
  agentId: 'local.test.agent',
  provider: 'openai',
  model: 'gpt-test',
  modelClass: 'general',
  prompts: [
    {
      kind: 'system',
      chain: [{ layer: 'agent-intrinsic', applied: true, source: 'local.test.agent' }],
      resolved: 'prompt:local.test.agent@1',
    },
  ],
  composed: { refs: [], kind: 'system+user', hash: `sha256:${'0'.repeat(64)}`, variableHashes: {} },
  tools: [],
  memoryBound: false,
  checksResult: false,
  maxOutputTokens: 1_000,
  maxRounds: 5,
  maxRetries: 2,
  inputTokens: 100,
}

const USAGE = { inputTokens: 10, outputTokens: 5 }

export const replyOf = ({ args: _args, ...said }: Said): ModelReply => ({
  usage: USAGE,
  retries: 0,
  replyTokens: 20,
  ...said,
})

/** Agents that do what a test says, and remember what they were asked. */
export function agentsDouble({ agents = { 'local.test.agent': {} }, think, use }: Script = {}): AgentsDouble {
  const journal: Journal = { briefs: [], thoughts: [], uses: [] }
  return {
    ...journal,
    knows: agentId => Object.hasOwn(agents, agentId),
    names: () => Object.keys(agents),
    lacking: async () => [],
    async prepare(ask) {
      journal.briefs.push(ask)
      const { agentId } = ask.agent
      const known = agents[agentId] ?? ('inline' in ask.agent ? {} : undefined)
      if (known === undefined)
        return { ok: false, code: 'unknown_agent', message: `no agent ${agentId}`, retryable: false }
      const { lacks, ...brief } = known
      if (lacks !== undefined)
        return { ok: false, code: 'capability_not_provided', message: 'the model lacks it', retryable: false, lacks }
      const told = { ...BRIEF, agentId, ...brief }
      const tools = told.tools.map(({ toolId }) => ({ toolId, name: toolId, description: toolId, inputSchema: {} }))
      return { ok: true, told, contents: { system: 'be good', user: JSON.stringify(ask.task), tools, wrapped: false } }
    },
    async callModel(ask): Promise<AgentAnswer<ModelReply, ModelCallContents>> {
      journal.thoughts.push(ask)
      const said = (await think?.(ask, journal.thoughts.length)) ?? { said: { kind: 'answered', result: 'done' } }
      if ('ok' in said) return said
      const calls =
        said.said.kind === 'tools'
          ? said.said.calls.map((call, i) => ({
              id: `c${i}`,
              name: call.toolId ?? 'unknown',
              ...(call.toolId === undefined ? {} : { toolId: call.toolId }),
              args: said.args?.[i] ?? {},
            }))
          : []
      return { ok: true, told: replyOf(said), contents: { text: JSON.stringify(said.said), calls } }
    },
    async callTool(ask): Promise<AgentAnswer<ToolReply, ToolContents>> {
      journal.uses.push(ask)
      const { text = 'fine', ...told } = (await use?.(ask, journal.uses.length)) ?? {
        status: 'ok' as const,
        durationMs: 1,
        resultTokens: 30,
      }
      return { ok: true, told, contents: { text, isError: told.status !== 'ok' } }
    },
    keyOf: ask => ask.id.padEnd(64, '0').slice(0, 64),
  }
}

/** Seals nothing, but notices what is opened in the wrong place. */
export const glassHostVault: DataVault = {
  seal: (tenant, id, contents) => JSON.stringify([tenant, id, contents]),
  open(tenant, id, sealed) {
    const [wasTenant, wasId, contents] = JSON.parse(sealed) as [string, string, Json]
    if (wasTenant !== tenant || wasId !== id) throw new Error('opened in the wrong place')
    return contents
  },
  sealBytes: (tenant, id, bytes) => Buffer.from(glassHostVault.seal(tenant, id, Buffer.from(bytes).toString('base64'))),
  openBytes: (tenant, id, sealed) =>
    Buffer.from(String(glassHostVault.open(tenant, id, Buffer.from(sealed).toString())), 'base64'),
}

export const glassVault: Vault = {
  of: async tenant => ({
    seal: (id, contents) => glassHostVault.seal(tenant, id, contents),
    open: (id, sealed) => glassHostVault.open(tenant, id, sealed),
    sealBytes: (id, bytes) => glassHostVault.sealBytes(tenant, id, bytes),
    openBytes: (id, sealed) => glassHostVault.openBytes(tenant, id, sealed),
  }),
}
