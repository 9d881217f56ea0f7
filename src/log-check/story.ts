import type { LoggedEvent, RunLog } from './checked.js'

/** Said about a log by whoever forked it, between any two events of what happens in it. */
export const isRemark = (event: LoggedEvent): boolean =>
  event.type === 'assay.run.forked' || event.type === 'replay.diverged'

/** What happens in a run, in order: its log without remarks about the log. */
export const storyOf = (run: RunLog): LoggedEvent[] => run.events.filter(event => !isRemark(event))

/** Where the run last became one of its own; 0 when it always was. */
export const lastCut = (events: readonly LoggedEvent[]): number =>
  events.findLast(event => event.type === 'assay.run.forked')?.sequence ?? 0
