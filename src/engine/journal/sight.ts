import type { Sight } from '../../core/journal/place.js'
import type { FileFound, FileLookup } from '../ports/verification.js'
import { entryIn } from '../queries/journal-view.js'
import { type ContentDeps, openContent, openPieces } from './content.js'
import { type MomentDeps, type ViewFound, viewOfRun } from './moment.js'

export type SightDeps = MomentDeps & Pick<ContentDeps, 'vault'>

/**
 * The workspace as a unit of work sees it that is judged. What is found depends on the log alone (J1), so it is the same
 * again after a crash; the view is made once, and only where somebody looks.
 */
export function filesSeen(deps: SightDeps, tenant: string, sight: Sight | undefined): FileLookup {
  if (sight === undefined) return async () => TRIAL
  let view: Promise<ViewFound> | undefined
  return async path => {
    const key = { ref: '', id: path }
    const own = sight.attempt && (await deps.store.entryOfAttempt(tenant, 'workspace', sight.attempt, key))
    if (own?.op === 'forget') return ABSENT
    if (own) return there(deps, tenant, own)
    view ??= viewOf(deps, tenant, sight)
    const found = await view
    if (!found.ok) return { is: 'unknown', why: found.refusal.message }
    const row = await entryIn(deps.store, tenant, 'workspace', found.view, key)
    return row ? there(deps, tenant, row) : ABSENT
  }
}

const ABSENT: FileFound = { is: 'absent' }

const TRIAL: FileFound = { is: 'unknown', why: 'a trial has no workspace' }

/** A worker that can touch no files sees what it would have been started with. */
async function viewOf(deps: SightDeps, tenant: string, { runId, before, else: above }: Sight): Promise<ViewFound> {
  const found = await viewOfRun(deps, tenant, 'workspace', { runId, seq: before })
  if (found.ok || above === undefined || found.refusal.code !== 'not_found') return found
  return viewOfRun(deps, tenant, 'workspace', { runId: above.runId, seq: above.before })
}

const there = (
  deps: SightDeps,
  tenant: string,
  { bytes, contentId }: { readonly bytes: number; readonly contentId: string | null },
): FileFound => ({
  is: 'there',
  bytes,
  read: async () => {
    const content = contentId === null ? undefined : await deps.store.readContent(tenant, contentId)
    if (content === undefined) return undefined
    return content.pieces > 0 ? openPieces(deps, content) : [await openContent(deps, content)]
  },
})
