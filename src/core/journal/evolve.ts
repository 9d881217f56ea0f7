import type { Draft } from '../run/draft.js'
import { type Anchors, readAnew } from './entry.js'

/** R-STATE-5: a turn reads its scopes as far as they have come when it begins. */
export function moveAnchors(draft: Draft, { memory, workspace }: Anchors): void {
  const { journal } = draft
  if (journal === undefined) return
  draft.journal = {
    ...journal,
    ...(journal.memory && memory !== undefined ? { memory: readAnew(journal.memory, memory) } : {}),
    ...(journal.workspace && workspace !== undefined ? { workspace: readAnew(journal.workspace, workspace) } : {}),
  }
}
