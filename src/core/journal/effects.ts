import type { Active } from '../run/state.js'
import type { Waiting } from '../run/waiting.js'
import type { Desk } from './entry.js'
import { type Places, SPACES, viewAt } from './place.js'

/**
 * What whoever works at a node reads, as of its start (R-MEM-19): the same again after a crash, and in every call of one
 * invocation. What the node itself writes is not among it (J4).
 */
export function deskOf({ journal, runId }: Active, { since, sinceAt }: Pick<Waiting, 'since' | 'sinceAt'>): Desk {
  const spaces = SPACES.flatMap(space => {
    const place = journal?.[space]
    return place ? [[space, { scope: place.scope, view: viewAt(place, runId, since, sinceAt) }] as const] : []
  })
  return Object.fromEntries(spaces)
}

/** Whether there is anything to read or write. */
export const hasPlace = (journal: Places | undefined): boolean =>
  journal?.memory !== undefined || journal?.workspace !== undefined
