import { type Static, type TObject, Type } from 'typebox'
import { May, OneOf, Text, Whole } from '../schema/kinds.js'
import { type Missed, MOST_JITTER_MS, MOST_MISSED, type ScheduleArm } from './arm.js'
import { cronProblem } from './cron.js'

/** What people write of a schedule, wherever they do. */
export const ScheduleArmFields = {
  cron: Text(400, {
    description: 'When, as minute, hour, day of the month, month and day of the week; seconds may stand before them',
    'x-must-be': 'a cron expression of five or six fields',
  }),
  timezone: May(
    Type.String({
      pattern: '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$',
      'x-must-be': 'the name of a time zone, such as Europe/Berlin',
      description: 'Whose wall clock the expression is about',
      default: 'UTC',
    }),
  ),
  missed: May(
    OneOf(['skip', 'once', 'all'], {
      description:
        'What becomes of times at which no run could be started: none of them is made up for, all by one run, or each by a run of its own',
      default: 'once',
    }),
  ),
  maxMissed: May(Whole(1, MOST_MISSED, { description: 'With `all`: the latest so many are made up for', default: 10 })),
  jitterSeconds: May(
    Whole(0, MOST_JITTER_MS / 1_000, {
      description:
        'Each time is put off by up to so many seconds, always by the same, so that not all schedules of a host begin at once',
      default: 0,
    }),
  ),
}

type Wanted = Static<TObject<typeof ScheduleArmFields>>

/** What no schema can say of a schedule that has the right shape. */
export function scheduleArmProblems(
  { cron, maxMissed, missed }: { readonly [Field in keyof Wanted]?: unknown },
  at: string,
): string[] {
  const problem = cronProblem(String(cron))
  const most = maxMissed !== undefined && missed !== 'all'
  return [
    ...(problem === undefined ? [] : [`${at}.cron ${problem}`]),
    ...(most ? [`${at}.maxMissed says nothing where missed is not "all"; set that, or leave it out`] : []),
  ]
}

/** Of a document that is in order, with its defaults. */
export function scheduleArmOf({ cron, timezone, missed, maxMissed, jitterSeconds }: Required<Wanted>): ScheduleArm {
  const policy: Missed = missed === 'all' ? { policy: missed, most: maxMissed } : { policy: missed }
  return { kind: 'schedule', cron, timezone, missed: policy, jitterMs: jitterSeconds * 1_000 }
}
