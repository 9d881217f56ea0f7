import type { Clock, Ids } from '../ports/clock.js'
import type { Calendar } from '../ports/calendar.js'
import type { Log } from '../ports/log.js'
import type { FileLookup, Inspector, Predicates, Standards } from '../ports/verification.js'
import type { Store } from '../ports/store.js'
import type { StreamGround } from '../standing/standing.js'

/** What goals are made with. */
export type GoalDeps = Pick<StreamGround, 'starter' | 'runs' | 'cache'> & {
  readonly store: Pick<Store, 'readEvents' | 'listRuns'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly calendar: Calendar
  readonly standards: Pick<Standards, 'gate'>
  /** What the host judges with by itself. */
  readonly inspector: Inspector
  /** The workspace as a run has left it. */
  readonly filesLeft: (tenant: string, runId: string) => FileLookup
  readonly predicates: Predicates
}
