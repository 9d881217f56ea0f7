import type { GoalWork } from '../../core/goal/goal.js'
import type { QuotasOf } from '../../core/quotas.js'
import type { Clock, Ids } from '../ports/clock.js'
import type { Calendar } from '../ports/calendar.js'
import type { Log } from '../ports/log.js'
import type { FileLookup, Inspector, Predicates, Standards } from '../ports/verification.js'
import type { Store } from '../ports/store.js'
import type { StreamGround } from '../standing/standing.js'

/** What goals are made with. */
export type GoalDeps = Pick<StreamGround, 'starter' | 'runs' | 'cache' | 'followers'> & {
  readonly store: Pick<Store, 'readEvents' | 'listRuns' | 'readRun'>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly calendar: Calendar
  readonly standards: Pick<Standards, 'gate'>
  readonly settings: GoalSettings
  /** What the host judges with by itself. */
  readonly inspector: Inspector
  /** The workspace as a run has left it. */
  readonly filesLeft: (tenant: string, runId: string) => FileLookup
  readonly predicates: Predicates
}

export type GoalSettings = {
  /** Where it is false, goals rest: nothing is started for them, and nothing is told of them. */
  readonly enabled: boolean
  /** What is run for a goal that does not say so. */
  readonly run?: GoalWork
  readonly quotas: QuotasOf
  /** How far away the first tick of a schedule may be. */
  readonly horizonMs: number
  /** Takes secrets out of what somebody wrote. */
  readonly redact: { text(text: string): string }
}
