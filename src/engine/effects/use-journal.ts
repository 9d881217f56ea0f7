import type { Space } from '../../core/journal/place.js'
import type { Json, JsonObject } from '../../core/json.js'
import { failure } from '../../core/problem.js'
import type { DeskSeat, EntryShown, Looked, Prepared } from '../ports/desk.js'
import { effectIdentity } from '../runtime/effect-identity.js'
import type { EffectOf, PerformEffect } from './effect-context.js'

/** What a node asks of memory, or of the workspace. Nothing leaves the host, and asking again has the same answer. */
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
  const { space = 'memory' } = use
  const isFile = space === 'workspace'
  const named = isFile ? {} : { memoryRef: use.ref ?? '' }
  switch (use.act) {
    case 'put': {
      const { act: _, ...wanted } = use
      return answerOf(await desk.put(seat, { ...wanted, space }), space, named)
    }
    case 'forget':
      return answerOf(await desk.forget(seat, space, use), space, named)
    case 'get': {
      const looked = await desk.read(seat, space, use)
      return answerOf(
        looked,
        space,
        entriesOf(looked, ([entry]) => ({
          found: entry !== undefined,
          [isFile ? 'file' : 'entry']: (isFile ? entry && withoutRef(entry) : entry) ?? null,
        })),
      )
    }
    case 'list': {
      const looked = await desk.list(seat, space, use)
      return answerOf(
        looked,
        space,
        entriesOf(looked, entries => ({
          [isFile ? 'files' : 'entries']: isFile ? entries.map(withoutRef) : [...entries],
        })),
      )
    }
    case 'search': {
      const looked = await desk.search(seat, space, use)
      return answerOf(
        looked,
        space,
        entriesOf(looked, entries => ({ entries: [...entries] })),
      )
    }
  }
}

/** Files are under no reference. */
const withoutRef = (file: Json): Json => {
  const { ref: _, ...others } = file as JsonObject
  return others
}

const entriesOf = (looked: Looked, told: (entries: readonly Json[]) => JsonObject): JsonObject =>
  looked.ok ? told(looked.entries as readonly (EntryShown & Json)[]) : {}

function answerOf(done: Looked | Prepared, space: Space, output: JsonObject) {
  const code = space === 'memory' ? 'memory_refused' : 'workspace_refused'
  if (!done.ok) return { ok: false as const, error: failure(code, done.message, { retryable: false }) }
  const more = 'entry' in done ? { entry: done.entry } : { read: done.read }
  return { ok: true as const, output, ...more }
}
