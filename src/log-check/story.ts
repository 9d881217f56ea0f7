import type { LoggedEvent, RunLog } from './checked.js'

/** Events about the log itself, which a fork may put between any two others. */
export const isRemark = (event: LoggedEvent): boolean =>
  event.type === 'assay.run.forked' || event.type === 'replay.diverged'

/** The events of a run without the remarks about the log itself. */
export const withoutRemarks = (run: RunLog): LoggedEvent[] => run.events.filter(event => !isRemark(event))

/** Sequence of the latest fork event; 0 when there is none. */
export const lastForkSequence = (events: readonly LoggedEvent[]): number =>
  events.findLast(event => event.type === 'assay.run.forked')?.sequence ?? 0
