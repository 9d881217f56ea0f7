import type { Active } from '../run/state.js'
import type { Plan } from '../workflow/plan.js'
import type { Anchors } from './entry.js'
import {
  branchPlace,
  childPlace,
  isOfOneRun,
  type LayerBefore,
  type Place,
  type Places,
  rootPlace,
  runScope,
  WORKSPACE_SCOPE,
} from './place.js'

/** Whether a run of this plan, or a child of it, can touch memory or files, or a gate looks at them. */
export const usesJournal = ({ nodes }: Plan, isGated: boolean): boolean =>
  isGated || nodes.some(({ type }) => type.hands || type.invokes || type.journals)

/** Where memory of a run that is nobody's child is: what the request says, else its scope, else its own. */
export const memoryScopeOf = (
  runId: string,
  { memoryScope, scopeId }: { readonly memoryScope?: string | undefined; readonly scopeId?: string | undefined },
): string => memoryScope ?? (scopeId === undefined ? runScope(runId) : named(scopeId))

/** Scopes of single runs and of branches are theirs alone: nobody gets there by calling their own so. */
const named = (scopeId: string): string => (isOfOneRun(scopeId) ? `scope:${scopeId}` : scopeId)

/** R-MEM-19, R-WS-3: a run stands where its scopes are when it starts. */
export const rootPlaces = (memoryScope: string, heads: Anchors): Places => ({
  ...(heads.memory === undefined ? {} : { memory: rootPlace(memoryScope, heads.memory) }),
  ...(heads.workspace === undefined ? {} : { workspace: rootPlace(WORKSPACE_SCOPE, heads.workspace) }),
})

/** R-MEM-2, R-MEM-3: a child stands where its parent does; an isolated one has a memory of its own. */
export function childPlaces(
  { journal, next }: Active,
  parentRunId: string,
  childRunId: string,
  isIsolated: boolean,
): Places {
  const parent = { runId: parentRunId, before: next }
  const memory =
    journal?.memory && (isIsolated ? rootPlace(runScope(childRunId), 0) : childPlace(journal.memory, parent))
  const workspace = journal?.workspace && childPlace(journal.workspace, parent)
  return { ...(memory ? { memory } : {}), ...(workspace ? { workspace } : {}) }
}

/** R-MEM-8: both spaces as the source saw them before its event `before`. */
export function branchPlaces(journal: Places, runId: string, source: LayerBefore, at: number): Places {
  const branched = (place: Place | undefined) => place && branchPlace(place, runId, source, at)
  const memory = branched(journal.memory)
  const workspace = branched(journal.workspace)
  return { ...(memory ? { memory } : {}), ...(workspace ? { workspace } : {}) }
}
