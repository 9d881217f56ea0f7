import type { ServerReply, ServerStep } from '../../support/openai-server.js'
import { makeWorld, type World } from './world.js'

/** Agents on errands, for tests that kill their hosts: the provider knows from a request how far they have come. */

/** What the provider says each answer took: within what is set aside for it, however short it is told to be. */
export const USAGE = { prompt_tokens: 1_100, completion_tokens: 60, total_tokens: 1_160 }
export const MAX_OUTPUT = 300
/** USD per million tokens. */
export const PRICE = { input: 2, output: 10 }

const GOOD: ServerReply = { kind: 'text', text: '{"result":{"title":"done"},"confidence":0.9}', usage: USAGE }
const BAD: ServerReply = { kind: 'text', text: '{"result":{"title":7},"confidence":0.9}', usage: USAGE }

const use = (...names: readonly string[]): ServerReply => ({
  kind: 'tools',
  calls: names.map(name => ({ name, args: { for: name } })),
  usage: USAGE,
})

export type Stage = { readonly contains: readonly string[]; readonly reply: ServerReply }

/** A tool, then the answer. */
export const SHORT: readonly Stage[] = [
  { contains: ['do the errand'], reply: use('mcp_web_put') },
  { contains: ['put was called'], reply: GOOD },
]

/** Two tools, then an answer that must be mended. */
export const LONG: readonly Stage[] = [
  { contains: ['do the errand'], reply: use('mcp_web_read', 'mcp_web_put') },
  { contains: ['put was called'], reply: BAD },
  { contains: ['"title":7'], reply: GOOD },
]

/** One tool that never comes back, and what is said of it. */
export const stuckIn = (tool: string): readonly Stage[] => [
  { contains: ['do the errand'], reply: use(tool) },
  { contains: ['tool_call_id'], reply: { kind: 'text', text: 'it did not come back', usage: USAGE } },
]

/** The latest stage first; `held` is the one whose first request nobody answers. */
export const planOf = (stages: readonly Stage[], held?: number): readonly ServerStep[] =>
  stages
    .flatMap(({ contains, reply }, i): ServerStep[][] => [
      [...(i === held ? [{ contains, times: 1, reply: { kind: 'hang' } as const }] : []), { contains, reply }],
    ])
    .reverse()
    .flat()

export function errandWorld(folder: string, database: string, stages: readonly Stage[], held?: number): Promise<World> {
  return makeWorld({
    folder,
    database,
    plan: planOf(stages, held),
    agents: {
      errand: {
        systemPrompt: 'Run errands.',
        toolAllowlist: ['mcp:web.read', 'mcp:web.put'],
        handoff: { returnSchemaRef: 'schemas/note.json' },
      },
      piped: { systemPrompt: 'Run errands.', toolAllowlist: ['mcp:files.hang'] },
      wired: { systemPrompt: 'Run errands.', toolAllowlist: ['mcp:web.hang'] },
    },
    schemas: { note: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] } },
    settings: {
      models: { maxOutputTokens: MAX_OUTPUT },
      prices: { 'openai:m-1': PRICE },
      // Over HTTP it may be called again, over a pipe it may not. The time is also for connecting, by a host just started.
      tools: { rules: { 'mcp:web.hang': { repeat: 'safe', timeoutMs: 10_000 } } },
    },
  })
}
