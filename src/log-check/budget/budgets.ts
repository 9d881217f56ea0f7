import { eachRun, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { invocationOf } from '../invocation/invocations.js'
import { get, number, show } from '../json.js'
import { causeOf, oncePerRun } from '../node/node-attempts.js'
import { withoutRemarks } from '../story.js'
import { raisesOf } from './raises.js'
import {
  type Account,
  accountsOf,
  amountOf,
  budgetAt,
  ceilingOf,
  DIMENSIONS,
  type Dimension,
  NOTHING,
  reserveAt,
  reservesOf,
  sum,
} from './spending.js'

/** What a run may spend, and what it says it has. */
export const budgetRules: readonly Rule[] = [
  {
    id: 'L26f',
    title:
      'A run that is bounded says so once, directly after it has started, with no more than it was given or asked for, and again only when a person lets it spend more',
    source: 'agents R-BUDGET-2, R-BUDGET-3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const reserved = run.events.filter(event => event.type === RESERVED && !raisesOf(run).has(event))
      const first = reserved.find(event => !isRenewed(run, event))
      for (const event of reserved) {
        if (event !== first && !isRenewed(run, event)) say('reserved twice', event)
        else for (const problem of reserveProblems(run, event)) say(problem, event)
      }
      if (reserved.length === 0 && isBounded(run)) say('a bounded run that reserves nothing', run.events[0])
    }),
  },
  {
    id: 'L26g',
    title:
      'What is consumed is told after what was reserved, never falls, and together with what is held and what remains makes the limit',
    source: 'agents R-BUDGET-3',
    checks: eachRun((run, say) => {
      const latest = new Map<unknown, number>()
      for (const event of run.events) {
        if (!TOLD.includes(event.type)) continue
        for (const problem of amountProblems(event, reserveAt(run, event), latest, accounts(run).get(event)))
          say(problem, event)
      }
    }),
  },
  {
    id: 'L26h',
    title:
      'After each event that spends, what it spent is told of every bounded dimension, once and at once, caused by it; the sums are those of the log',
    source: 'agents R-BUDGET-1, R-BUDGET-3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const [problem, event] of tellingProblems(run)) say(problem, event)
    }),
  },
  {
    id: 'L26i',
    title: 'A threshold is told once per dimension, when it is reached and not before',
    source: 'agents R-BUDGET-3',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const [problem, event] of thresholdProblems(run, assay)) say(problem, event)
    }),
  },
  {
    id: 'L26j',
    title:
      'What is spent, held, set aside for calls and given to workers never exceeds the ceiling of that time, unless someone outside took more than they were allowed, and then it is exhausted at once',
    source: 'agents R-BUDGET-4, R-BUDGET-7, faults F8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      const crossed = new Set<Dimension>()
      let before = NOTHING
      for (const { event, spent, held, aside } of accountsOf(run)) {
        const budget = budgetAt(run, event)
        const claims = [spent, held, aside].reduce(sum)
        for (const dimension of DIMENSIONS) {
          const ceiling = ceilingOf(dimension, budget)
          const claimed = claims[dimension]
          // A branch may be given less than its source had spent, but spends no more then.
          if (ceiling === undefined || claimed <= Math.max(ceiling, before[dimension]) || crossed.has(dimension))
            continue
          if (isScripted(run, event)) continue
          crossed.add(dimension)
          if (isOverrun(run, event, dimension)) continue
          say(`${claimed} of ${ceiling} ${dimension}`, event)
        }
        before = claims
      }
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

const RESERVED = 'budget.reserved'
const CONSUMED = 'budget.consumed'
const CROSSED = 'budget.threshold.crossed'
const TOLD: readonly string[] = [CONSUMED, CROSSED, 'budget.exhausted']

const askedFor = (run: RunLog): unknown => get(run.started.configurable, 'budget')

const isBounded = (run: RunLog): boolean =>
  [run.started.grant, askedFor(run)].some(given =>
    DIMENSIONS.some(dimension => ceilingOf(dimension, given) !== undefined),
  )

/** A branch may be given another budget, and says so when it begins. */
const isRenewed = (run: RunLog, { sequence }: LoggedEvent): boolean =>
  run.events[sequence - 1]?.type === 'assay.run.forked' && sequence > 2

function reserveProblems(run: RunLog, reserved: LoggedEvent): string[] {
  const problems: string[] = []
  const { effectiveBudget, scope } = reserved.payload
  // A branch may be cut between the two, and says so there.
  const renewed = isRenewed(run, reserved)
  if (!renewed && withoutRemarks(run)[1] !== reserved)
    problems.push(`reserved at ${reserved.sequence}, not directly after the start`)
  const causes = [run.events[0]?.id, run.events[reserved.sequence - 1]?.id]
  if (!causes.includes(causeOf(reserved))) problems.push('not caused by the start of the run')
  if (scope !== 'run') problems.push(`the scope is ${show(scope)}`)
  const bounded = DIMENSIONS.filter(dimension => ceilingOf(dimension, effectiveBudget) !== undefined)
  if (bounded.length === 0) problems.push('nothing is bounded')
  for (const dimension of DIMENSIONS) {
    const effective = ceilingOf(dimension, effectiveBudget) ?? Number.POSITIVE_INFINITY
    const fork = run.events[reserved.sequence - 1]?.payload.configurable
    for (const given of [run.started.grant, renewed ? (get(fork, 'budget') ?? askedFor(run)) : askedFor(run)]) {
      const most = ceilingOf(dimension, given)
      if (most !== undefined && effective > most) problems.push(`${effective} ${dimension} of ${most}`)
    }
  }
  return problems
}

/** A provider may charge more than was reserved; then the run ends. */
function isOverrun(run: RunLog, { type, sequence }: LoggedEvent, dimension: Dimension): boolean {
  if (!HIDING.includes(type)) return false
  const then = run.events.slice(sequence + 1).find(event => event.type !== CONSUMED && event.type !== CROSSED)
  return then?.type === 'budget.exhausted' && then.payload.dimension === dimension
}

function amountProblems(
  event: LoggedEvent,
  reserved: ReturnType<typeof reserveAt>,
  latest: Map<unknown, number>,
  account: Account | undefined,
): string[] {
  const { consumed, limit, remaining } = event.payload
  const dimension = DIMENSIONS.find(one => one === event.payload.dimension)
  if (dimension === undefined) return []
  if (reserved === undefined) return ['nothing was reserved']
  const problems: string[] = []
  const [spent, most] = [amountOf(dimension, consumed), amountOf(dimension, limit)]
  const before = latest.get(dimension) ?? 0
  if (spent < before) problems.push(`${dimension} consumed falls from ${before} to ${spent}`)
  latest.set(dimension, spent)
  const ceiling = ceilingOf(dimension, reserved.ceilings)
  const agrees = reserved.atMost ? most <= (ceiling ?? most) : most === ceiling
  if (!agrees) problems.push(`a limit of ${most} ${dimension}, reserved were ${ceiling ?? 'none'}`)
  const left = amountOf(dimension, remaining)
  const held = account?.held[dimension] ?? 0
  const rest = most - spent - held
  // What a child holds is hidden from a reader without the secrets.
  const fits = left === rest || left === Math.max(0, rest) || (account?.exact === false && left < rest)
  if (remaining !== undefined && !fits)
    problems.push(`${left} ${dimension} remain of ${most} after ${spent}${held > 0 ? `, and ${held} held` : ''}`)
  return problems
}

/** Every account by its event. */
const accounts = oncePerRun((run: RunLog) => new Map(accountsOf(run).map(account => [account.event, account])))

function tellingProblems(run: RunLog): Problem[] {
  const problems: Problem[] = []
  const expected = new Set<LoggedEvent>()
  const known = accounts(run)
  const first = reservesOf(run)[0]?.from ?? Number.POSITIVE_INFINITY
  if (known.size === 0) return problems
  const story = withoutRemarks(run)
  story.forEach((event, place) => {
    const account = known.get(event)
    if (account !== undefined && isTold(run, event)) {
      const budget = first <= event.sequence ? budgetAt(run, event) : undefined
      let next = place + 1
      for (const dimension of dueAfter(account, budget, story.slice(next, next + 8))) {
        const told = story[next]
        if (told?.type !== CONSUMED || told.payload.dimension !== dimension)
          problems.push([`${dimension} spent by ${event.type} are not told`, event])
        else {
          expected.add(told)
          problems.push(...sumProblems(account, told, dimension))
          next += story[next + 1]?.type === CROSSED ? 2 : 1
        }
      }
    }
    if (event.type === CONSUMED && !expected.has(event)) problems.push(['told, and nothing was spent', event])
  })
  return problems
}

/** A retry of a node is counted and told with the next; so is what a scripted agent called. */
const isTold = (run: RunLog, event: LoggedEvent): boolean => event.type !== 'node.retried' && !isScripted(run, event)

/** The workflow itself says that an agent called a tool: nothing was called, so no ceiling could keep it from happening. */
const isScripted = (run: RunLog, event: LoggedEvent): boolean =>
  event.type === 'agent.toolCalled' && invocationOf(run, event) === undefined

/** These may have spent more than a reader without the secrets can see. */
const HIDING: readonly string[] = ['provider.usage', 'core.workflowChain.event', 'assay.verifier.ended']

function dueAfter(account: Account, budget: unknown, rest: readonly (LoggedEvent | undefined)[]): Dimension[] {
  const { added, exact, event } = account
  const isToldNext = (dimension: Dimension) =>
    rest.some(next => next?.type === CONSUMED && next.payload.dimension === dimension && causeOf(next) === event.id)
  const mayHide = !exact && HIDING.includes(event.type)
  return DIMENSIONS.filter(
    dimension =>
      ceilingOf(dimension, budget) !== undefined && (added[dimension] !== 0 || (mayHide && isToldNext(dimension))),
  )
}

function sumProblems({ event, spent, exact }: Account, told: LoggedEvent, dimension: Dimension): Problem[] {
  const problems: Problem[] = []
  const consumed = amountOf(dimension, told.payload.consumed)
  if (exact ? consumed !== spent[dimension] : consumed < spent[dimension])
    problems.push([`${consumed} ${dimension} consumed, the log adds up to ${spent[dimension]}`, told])
  if (causeOf(told) !== event.id) problems.push([`not caused by ${event.type}`, told])
  return problems
}

/** Shares of money are compared with a tolerance, because they are not exact in binary. */
const SLACK = 100

function thresholdProblems(run: RunLog, assay: boolean): Problem[] {
  const problems: Problem[] = []
  const told = new Set<unknown>()
  const forked = run.events.some(({ type }) => type === 'assay.run.forked')
  const asked = assay && !forked ? number(get(askedFor(run), 'thresholdPercent')) : undefined
  const story = withoutRemarks(run)
  story.forEach((event, place) => {
    const dimension = DIMENSIONS.find(one => one === event.payload.dimension)
    if (dimension === undefined || (event.type !== CROSSED && event.type !== CONSUMED)) return
    const [spent, limit] = [amountOf(dimension, event.payload.consumed), amountOf(dimension, event.payload.limit)]
    const slack = dimension === 'cost' ? SLACK : 0
    if (event.type === CONSUMED) {
      const crossed = asked !== undefined && spent * 100 >= limit * asked + slack
      const next = story[place + 1]
      const follows = next?.type === CROSSED && next.payload.dimension === dimension
      if (crossed && !follows && !told.has(dimension)) problems.push([`${asked} % are crossed and not told`, event])
      return
    }
    const percent = number(event.payload.percent) ?? 0
    if (told.has(dimension)) problems.push([`${dimension} cross a threshold twice`, event])
    told.add(dimension)
    if (spent * 100 < limit * percent - slack) problems.push([`${spent} of ${limit} are not ${percent} %`, event])
    if (asked !== undefined && percent > asked) problems.push([`${percent} %; asked for was ${asked}`, event])
    const before = story[place - 1]
    const follows = before?.type === CONSUMED && before.payload.dimension === dimension
    if (assay && (!follows || before.payload.consumed !== event.payload.consumed))
      problems.push(['not told with what was consumed', event])
  })
  return problems
}
