import type { Places, Space } from '../../core/journal/place.js'
import { memoryScopeOf, rootPlaces, usesJournal } from '../../core/journal/start.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { CreateRun } from '../api.js'
import type { Journal } from '../ports/journal.js'
import { HOST_WORKFLOW_IDS } from '../../core/workflow/host-workflow-ids.js'

type NewRun = { readonly runId: string; readonly plan: Plan; readonly isGated: boolean }

/** Where a new run stands in memory and workspace, if it, or anybody who works for it, can touch them. */
export async function placesFor(
  store: Pick<Journal, 'heads'>,
  spaces: readonly Space[],
  { runId, plan, isGated }: NewRun,
  request: CreateRun,
): Promise<{ journal?: Places }> {
  if (spaces.length === 0 || HOST_WORKFLOW_IDS.includes(plan.definition.id) || !usesJournal(plan, isGated)) return {}
  const scope = memoryScopeOf(runId, request)
  const heads = Object.entries(await store.heads(request.tenant, scope))
  return { journal: rootPlaces(scope, Object.fromEntries(heads.filter(([space]) => spaces.includes(space as Space)))) }
}
