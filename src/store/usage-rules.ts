import type { StoredQuotas, TenantUsage } from '../core/quotas.js'
import { isTerminal } from '../core/run/events.js'
import type { CommitResult, StoredEvent, StreamAppend } from '../engine/ports/event-log.js'

export type OverQuota = Extract<CommitResult, { kind: 'over-quota' }>

/** What a commit would add: new roots (forks are roots), those of them that stay unfinished, and children of one root. */
export type NewRuns = { readonly roots: number; readonly opening: number; readonly children: number }

export function newRunsIn(streams: readonly Pick<StreamAppend, 'create' | 'events'>[]): NewRuns {
  const created = streams.filter(({ create }) => create !== undefined)
  const roots = created.filter(({ create }) => create?.parentRunId === null)
  const opening = roots.filter(({ events }) => !isTerminal(events.at(-1)?.type ?? ''))
  return { roots: roots.length, opening: opening.length, children: created.length - roots.length }
}

/** S13: what crosses a quota, if anything does. `kin` is how many runs there are below the root. */
export function quotaRefusal(
  quotas: StoredQuotas,
  { roots, opening, children }: NewRuns,
  { activeRuns, storedBytes }: TenantUsage,
  kin: number,
): OverQuota | undefined {
  const over = (quota: OverQuota['quota'], left: number): OverQuota => ({
    kind: 'over-quota',
    quota,
    limit: quotas[quota],
    left: Math.max(0, left),
  })
  if (roots > 0 && storedBytes >= quotas.storedBytes) return over('storedBytes', 0)
  if (opening > 0 && activeRuns + opening > quotas.activeRuns) return over('activeRuns', quotas.activeRuns - activeRuns)
  if (children > 0 && kin + children > quotas.childrenPerRoot)
    return over('childrenPerRoot', quotas.childrenPerRoot - kin)
  return undefined
}

const bytesOf = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text))

export const bytesOfEvents = (events: readonly Pick<StoredEvent, 'payload' | 'secret' | 'input'>[]): number =>
  events.reduce((sum, { payload, secret, input }) => sum + bytesOf(payload) + bytesOf(secret) + bytesOf(input), 0)

export const bytesOfTexts = (...texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + bytesOf(text), 0)
