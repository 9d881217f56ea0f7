import type { JournalView, Space } from '../../core/journal/place.js'
import type { Refusal } from '../../core/problem.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { Content, Journal, JournalKeeping, WriteRow } from '../ports/journal.js'
import type { PieceStore } from '../ports/pieces.js'
import { type ContentDeps, openContent } from './content.js'
import { type Moment, type MomentDeps, type ViewFound, viewOfRun } from './moment.js'

/** What is needed to look after a tenant's memory and workspace outside of its runs. */
export type DeskDeps = ContentDeps &
  MomentDeps & {
    readonly store: Journal & JournalKeeping & PieceStore
    readonly clock: Clock
    readonly ids: Pick<Ids, 'unique'>
  }

/** What is asked for: as a run saw it at a moment, or a scope as it is now. */
export type WantedView = { readonly scope: string } | { readonly at: Moment }

export type Found<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal }

export const got = <T>(value: T): Found<T> => ({ ok: true, value })
export const refused = (refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } => ({ ok: false, refusal })

export async function viewWanted(deps: DeskDeps, tenant: string, space: Space, wanted: WantedView): Promise<ViewFound> {
  if ('at' in wanted) return viewOfRun(deps, tenant, space, wanted.at)
  const { scope } = wanted
  return { ok: true, scope, view: await viewNow(deps, tenant, space, scope) }
}

export async function viewNow(deps: DeskDeps, tenant: string, space: Space, scope: string): Promise<JournalView> {
  const heads = await deps.store.heads(tenant, space === 'memory' ? scope : undefined)
  return [{ scope, upTo: heads[space], runs: [], at: deps.clock.now() }]
}

/** The bytes of a write; undefined when they were destroyed. Whoever opens many of them takes turns with other tenants. */
export async function bytesOf(deps: DeskDeps, tenant: string, row: WriteRow): Promise<Buffer | undefined> {
  await deps.turns.room(tenant)
  const content = await contentOf(deps, tenant, row)
  deps.turns.spent(tenant, stepsToOpen(row))
  return content && openContent(deps, content)
}

/** To find one, and to open and redact what it says. */
const STEPS_PER_ENTRY = 2_000
const STEPS_PER_BYTE = 1
export const stepsToOpen = ({ bytes }: WriteRow): number => STEPS_PER_ENTRY + bytes * STEPS_PER_BYTE

export const contentOf = async ({ store }: DeskDeps, tenant: string, row: WriteRow): Promise<Content | undefined> =>
  row.contentId === null ? undefined : store.readContent(tenant, row.contentId)
