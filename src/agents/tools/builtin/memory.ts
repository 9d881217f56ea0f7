import { LONGEST_TTL_SECONDS } from '../../../core/journal/entry-rules.js'
import type { Builtin } from './builtins.js'
import { journalTool, LATER, lookedAt, preparedAs, textOf } from './journal-tools.js'

const REF = {
  type: 'string',
  minLength: 1,
  maxLength: 256,
  description: 'Whose memory: a name under which entries belong together. Yours where left out.',
}
const ID = { type: 'string', minLength: 1, maxLength: 1500, description: 'The id of an entry' }
const TAG = { type: 'string', minLength: 1, maxLength: 256 }
const LIMIT = { type: 'integer', minimum: 1, maximum: 100, description: 'Entries at most; 20 where left out' }
const MOST = 20

const refOf = (ref: unknown, agentId: string): string => (typeof ref === 'string' ? ref : agentId)
const tagOf = (tag: unknown) => (typeof tag === 'string' ? { tag } : {})
const limitOf = (limit: unknown): number => (typeof limit === 'number' ? limit : MOST)

/** R-LIVE-8: agents write and read what outlasts them, within their tenant and the scope of the run. */
export const MEMORY_TOOLS: readonly Builtin[] = [
  journalTool(
    {
      toolId: 'assay:memory.put',
      title: 'Remember',
      description: `Writes an entry into memory; an entry of the same id is written over. ${LATER}`,
      safetyTier: 'write',
      properties: {
        content: { type: 'string', description: 'What to remember' },
        id: { ...ID, description: 'The id to write it under; a new one where left out' },
        ref: REF,
        tags: { type: 'array', items: TAG, maxItems: 32, description: 'What it can be found by' },
        ttlSeconds: {
          type: 'integer',
          minimum: 1,
          maximum: LONGEST_TTL_SECONDS,
          description: 'How long it holds, counted from now; for ever where left out',
        },
      },
      required: ['content'],
    },
    async (desk, seat, { args, agentId }) => {
      const { id, tags, ttlSeconds } = args
      const wanted = {
        space: 'memory' as const,
        ref: refOf(args.ref, agentId),
        ...(typeof id === 'string' ? { id } : {}),
        content: textOf(args.content),
        tags: Array.isArray(tags) ? tags.map(String) : [],
        ...(typeof ttlSeconds === 'number' ? { ttlSeconds } : {}),
      }
      const done = await desk.put(seat, wanted)
      return preparedAs(done, done.ok ? `Remembered, with the id ${JSON.stringify(done.entry.id)}. ${LATER}` : '')
    },
  ),
  journalTool(
    {
      toolId: 'assay:memory.get',
      title: 'Recall an entry',
      description: 'Reads one entry of memory by its id.',
      safetyTier: 'read',
      properties: { id: ID, ref: REF },
      required: ['id'],
    },
    async (desk, seat, { args, agentId }) =>
      lookedAt(await desk.read(seat, 'memory', { ref: refOf(args.ref, agentId), id: String(args.id) }), ([entry]) => ({
        found: entry !== undefined,
        ...(entry ? { entry } : {}),
      })),
  ),
  journalTool(
    {
      toolId: 'assay:memory.list',
      title: 'List memory',
      description: 'Lists entries of memory, the newest first.',
      safetyTier: 'read',
      properties: { ref: REF, tag: { ...TAG, description: 'Only entries with this tag' }, limit: LIMIT },
    },
    async (desk, seat, { args, agentId }) => {
      const query = { ref: refOf(args.ref, agentId), ...tagOf(args.tag), limit: limitOf(args.limit) }
      return lookedAt(await desk.list(seat, 'memory', query), entries => ({ entries }))
    },
  ),
  journalTool(
    {
      toolId: 'assay:memory.search',
      title: 'Search memory',
      description: 'Finds entries of memory that have all the words, the best first.',
      safetyTier: 'read',
      properties: {
        query: { type: 'string', minLength: 1, maxLength: 1000, description: 'Words that an entry must have' },
        ref: { ...REF, description: 'Only entries of this name; of all names where left out' },
        tag: { ...TAG, description: 'Only entries with this tag' },
        limit: LIMIT,
      },
      required: ['query'],
    },
    async (desk, seat, { args }) => {
      const ref = typeof args.ref === 'string' ? { ref: args.ref } : {}
      const query = { query: String(args.query), ...ref, ...tagOf(args.tag), limit: limitOf(args.limit) }
      return lookedAt(await desk.search(seat, 'memory', query), entries => ({ entries }))
    },
  ),
  journalTool(
    {
      toolId: 'assay:memory.forget',
      title: 'Forget an entry',
      description: `Takes an entry out of memory. It is gone for you from your next turn or node on.`,
      safetyTier: 'write',
      properties: { id: ID, ref: REF },
      required: ['id'],
    },
    async (desk, seat, { args, agentId }) => {
      const key = { ref: refOf(args.ref, agentId), id: String(args.id) }
      return preparedAs(await desk.forget(seat, 'memory', key), 'Forgotten.')
    },
  ),
]
