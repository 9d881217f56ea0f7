import type { JournalUse } from '../../../journal/entry.js'
import { isObject, type JsonObject } from '../../../json.js'
import { Closed, May, Text, Whole } from '../../../schema/kinds.js'
import { completed, type NodeType } from '../../node-type.js'

const USUAL_LIMIT = 20

export const memoryGetNode = {
  typeId: 'core.memoryGet',
  about:
    'Reads the memory of the run as it was when the node started: one entry by its id (`found`, `entry`), or with a query, a tag or neither the newest (`entries`). What it gives on is copied into the log of the run.',
  config: Closed({
    memoryRef: Text(256, { description: 'The reference under which entries belong together' }),
    memoryId: May(Text(1500, { description: 'The entry that is wanted; the input `memoryId` wins over it' })),
    query: May(Text(1000, { description: 'Words that entries must have; the input `query` wins over it' })),
    tag: May(Text(256, { description: 'A tag that entries must have' })),
    limit: May(Whole(1, 200, { description: 'Entries at most', default: USUAL_LIMIT })),
  }),
  journals: true,
  start: ({ config, inputs, ordinal }) => ({
    kind: 'waiting',
    wait: { kind: 'journal', use: useOf({ ...config, ...inputs }), ordinal },
  }),
  settle: (_ctx, _wait, outcome) =>
    completed(outcome.kind === 'answer' && isObject(outcome.output) ? outcome.output : {}),
} as const satisfies NodeType

function useOf({ memoryRef, memoryId, query, tag, limit }: JsonObject): JournalUse {
  const ref = String(memoryRef)
  if (memoryId !== undefined) return { act: 'get', ref, id: String(memoryId) }
  const most = {
    limit: typeof limit === 'number' ? limit : USUAL_LIMIT,
    ...(tag === undefined ? {} : { tag: String(tag) }),
  }
  return query === undefined ? { act: 'list', ref, ...most } : { act: 'search', ref, query: String(query), ...most }
}
