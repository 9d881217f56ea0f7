/** Where a run stands in the journal, and what it sees from there (docs/design/journal.md). */

export const SPACES = ['memory', 'workspace'] as const
export type Space = (typeof SPACES)[number]

/** What a run's layer holds before one of its events. */
export type LayerBefore = { readonly runId: string; readonly before: number }

/** What one attempt at a node, which began with the event `since`, wrote before another. */
export type AttemptBefore = LayerBefore & { readonly nodeId: string; readonly since: number }

/** A part of a scope, with what some runs see of their own besides. */
export type Reach = {
  readonly scope: string
  /** The anchor: positions above it are not seen. */
  readonly upTo: number
  /** Whose own writes are seen, those that win first. */
  readonly runs: readonly LayerBefore[]
}

/** `at`: what has expired by then is not there. */
export type DatedReach = Reach & { readonly at: number }

/** Whose files are looked at: as the run sees them before an event, below what an attempt of its own wrote. */
export type Sight = {
  readonly runId: string
  readonly before: number | 'end'
  readonly attempt?: AttemptBefore
  /** For a run that has no place in the workspace: who started it, before which event. */
  readonly else?: LayerBefore
}

/** Topmost first: the first that knows a key answers for it. */
export type JournalView = readonly DatedReach[]

/** What a run reads and writes in one space. `beneath`: what a branch sees of its source. */
export type Place = Reach & { readonly beneath: JournalView }

/** A verifier or a trial has none in memory. */
export type Places = { readonly [Of in Space]?: Place }

/** The workspace of a tenant is one scope. */
export const WORKSPACE_SCOPE = ''

export const runScope = (runId: string): string => `run:${runId}`
export const forkScope = (runId: string): string => `fork:${runId}`

/** Whether only one run, with its children, can write into a scope of this name. */
export const isOfOneRun = (scope: string): boolean => /^(run|fork):/.test(scope)

/** At the start of a run that is nobody's child. */
export const rootPlace = (scope: string, head: number): Place => ({ scope, upTo: head, runs: [], beneath: [] })

/** What a reader sees that began at an event of its run. J4: what the run writes from there on is not among it. */
export const viewAt = (place: Place, runId: string, before: number, at: number): JournalView => {
  const { scope, upTo, runs, beneath } = place
  return [{ scope, upTo, runs: [{ runId, before }, ...runs], at }, ...beneath]
}

/** R-MEM-3: a child reads and writes where its parent does, and sees what that saw when it was started. */
export const childPlace = (place: Place, parent: LayerBefore): Place => ({ ...place, runs: [parent, ...place.runs] })

/** R-MEM-8: a branch sees what its source saw at the cut, and keeps what it writes to itself. */
export const branchPlace = (place: Place, runId: string, source: LayerBefore, at: number): Place => ({
  ...rootPlace(forkScope(runId), 0),
  beneath: viewAt(place, source.runId, source.before, at),
})

/** Whether a branch of what stands there would see through more than can be looked through at each read. */
export const isTooDeep = (places: Places): boolean =>
  SPACES.some(space => (places[space]?.beneath.length ?? 0) >= DEEPEST)

export const DEEPEST = 32
