import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, number, text } from '../json.js'
import { isRemark, lastForkSequence } from '../story.js'
import { walk } from '../walk.js'

/** Execution bounds: never crossed, and a breach is told in exactly one way. */
export const boundRules: readonly Rule[] = [
  {
    id: 'L26',
    title:
      'A breach is told once, with observed above limit, and the next event fails the run with the code of its kind',
    source: 'core §10',
    checks: eachRun((run, say) => {
      const breaches = run.events.filter(event => event.type === 'cap.breached')
      for (const extra of breaches.slice(1)) say('a second cap.breached', extra)
      walk(run, ({ event, run: track }) => {
        if (event.type !== 'cap.breached') return
        for (const problem of breachProblems(event, followerOf(run, event), track.inherited)) say(problem, event)
      })
    }),
  },
  {
    id: 'L26a',
    title: 'Nodes start no more often than the bound on executions allows',
    source: 'core §10',
    checks: eachRun((run, say, log) => {
      const told = executionLimitTold(run)
      const cut = lastForkSequence(run.events)
      walk(run, ({ event, run: track }) => {
        if (event.type !== 'node.started') return
        const limit = Math.min(
          number(track.configurable.recursionLimit) ?? Number.POSITIVE_INFINITY,
          log.input.limits?.maxNodeExecutions ?? Number.POSITIVE_INFINITY,
          event.sequence < cut ? Number.POSITIVE_INFINITY : told,
        )
        if (track.executions >= limit) say(`execution ${track.executions + 1} of ${limit}`, event)
      })
    }),
  },
  {
    id: 'L26b',
    title: 'The limit a breach reports is not above the limit the run was started with',
    source: 'core §10',
    checks: eachRun((run, say) => {
      walk(run, ({ event, run: track }) => {
        const key = BOUND_OF.get(text(event.payload.kind) ?? '')
        if (event.type !== 'cap.breached' || key === undefined) return
        const asked = number(track.configurable[key])
        const told = number(event.payload.limit)
        if (asked !== undefined && told !== undefined && told > asked) say(`limit ${told}; ${key} is ${asked}`, event)
      })
    }),
  },
  {
    id: 'L26c',
    title: 'A run that fails with run_timeout was breached before',
    source: 'core §10',
    checks: eachRun((run, say) => {
      const breached = run.events.some(event => event.type === 'cap.breached')
      const end = run.events.find(event => event.type === 'run.failed')
      if (!breached && get(end?.payload.error, 'code') === 'run_timeout') say('run_timeout without cap.breached', end)
    }),
  },
]

const CODE_OF: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'node-executions': 'recursion_limit_exceeded',
    'run-duration': 'run_timeout',
    'loop-iterations': 'loop_limit_exceeded',
    'budget-tokens': 'budget_exhausted',
    'budget-cost': 'budget_exhausted',
    'budget-tool-calls': 'budget_exhausted',
    'budget-retries': 'budget_exhausted',
  }),
)

const BOUND_OF: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'node-executions': 'recursionLimit',
    'loop-iterations': 'maxLoopIterations',
  }),
)

/** A remark of a fork about its own log may stand between. */
const followerOf = (run: RunLog, event: LoggedEvent): LoggedEvent | undefined =>
  run.events.slice(run.events.indexOf(event) + 1).find(candidate => !isRemark(candidate))

/** A branch may be given a lower bound than its source had already used up. */
function breachProblems(breach: LoggedEvent, next: LoggedEvent | undefined, inherited: number): string[] {
  const problems: string[] = []
  const kind = text(breach.payload.kind) ?? ''
  const limit = number(breach.payload.limit) ?? 0
  const observed = number(breach.payload.observed) ?? 0
  if (observed <= limit) problems.push(`observed ${observed} is not above limit ${limit}`)
  const counted = kind === 'node-executions' || kind === 'loop-iterations'
  if (counted && observed > Math.max(limit, inherited) + 1)
    problems.push(`observed ${observed}: the bound of ${limit} was crossed by more than one`)
  if (next?.type !== 'run.failed') problems.push(`cap.breached is followed by ${next?.type ?? 'nothing'}`)
  const code = get(next?.payload.error, 'code')
  if (next?.type === 'run.failed' && CODE_OF.has(kind) && code !== CODE_OF.get(kind)) {
    problems.push(`a ${kind} breach failed the run with ${String(code)}`)
  }
  return problems
}

const executionLimitTold = (run: RunLog): number =>
  number(
    run.events.find(event => event.type === 'cap.breached' && event.payload.kind === 'node-executions')?.payload.limit,
  ) ?? Number.POSITIVE_INFINITY
