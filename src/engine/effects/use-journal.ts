import type { Json, JsonObject } from '../../core/json.js'
import { failure } from '../../core/problem.js'
import type { DeskSeat, EntryShown, Looked, Prepared } from '../ports/desk.js'
import { effectIdentity } from '../runtime/effect-identity.js'
import type { EffectOf, PerformEffect } from './effect-context.js'

/** What a node asks of memory. Nothing leaves the host, and asking again has the same answer. */
export const useJournal: PerformEffect<'use-journal'> = async (context, { tenant, runId }, effect) => {
  const { nodeId, since, ordinal, use, desk } = effect
  const id = effectIdentity(tenant, runId, nodeId, ordinal, 'journal')
  const answer = await used(context.desk, { tenant, runId, id, desk }, use)
  return { input: { type: 'JournalUsed', nodeId, since, answer } }
}

async function used(
  desk: Parameters<PerformEffect<'use-journal'>>[0]['desk'],
  seat: DeskSeat,
  use: EffectOf<'use-journal'>['use'],
): Promise<Extract<Awaited<ReturnType<typeof answerOf>>, object>> {
  switch (use.act) {
    case 'put': {
      const { act: _, ...wanted } = use
      return answerOf(await desk.put(seat, { space: 'memory', ...wanted }), { memoryRef: use.ref })
    }
    case 'forget':
      return answerOf(await desk.forget(seat, 'memory', use), { memoryRef: use.ref })
    case 'get': {
      const looked = await desk.read(seat, 'memory', use)
      return answerOf(
        looked,
        entriesOf(looked, ([entry]) => ({ found: entry !== undefined, entry: entry ?? null })),
      )
    }
    case 'list': {
      const looked = await desk.list(seat, 'memory', use)
      return answerOf(
        looked,
        entriesOf(looked, entries => ({ entries: [...entries] })),
      )
    }
    case 'search': {
      const looked = await desk.search(seat, 'memory', use)
      return answerOf(
        looked,
        entriesOf(looked, entries => ({ entries: [...entries] })),
      )
    }
  }
}

const entriesOf = (looked: Looked, told: (entries: readonly Json[]) => JsonObject): JsonObject =>
  looked.ok ? told(looked.entries as readonly (EntryShown & Json)[]) : {}

function answerOf(done: Looked | Prepared, output: JsonObject) {
  if (!done.ok) return { ok: false as const, error: failure('memory_refused', done.message, { retryable: false }) }
  const more = 'entry' in done ? { entry: done.entry } : { read: done.read }
  return { ok: true as const, output, ...more }
}
