/**
 * Reads the log of one goal and reports every place where it breaks what docs/design/goal.md promises. Like the checker of
 * runs it knows the page and stored events, and shares nothing with the engine: it walks the log once, with its own account
 * of what is open, what was spent and what may come next.
 */

export type GoalLogEvent = {
  readonly sequence: number
  readonly type: string
  readonly at: number
  readonly payload: { readonly [field: string]: unknown }
  readonly secret?: { readonly [field: string]: unknown } | undefined
}

export type GoalFinding = { readonly rule: GoalRuleId; readonly sequence: number; readonly message: string }

/** What each rule says, by its id. */
export const GOAL_RULES = {
  G1: 'A goal begins with assay.goal.created; sequences are dense, times never fall, and nothing follows assay.stream.ended',
  G2: 'Contributing runs are numbered from 1 without a gap, never beyond maxLoopIterations, and no run begins twice',
  G3: 'One contributing run is open at a time; a judge begins only for the run that has ended last and was not judged yet',
  G4: 'Nothing begins while the goal is paused, escalated or closed, at the deadline or after it',
  G5: 'What ended runs took and what open ones were granted never exceeds maxCostUsd; a run under it has a grant',
  G6: 'Every judgement is of the contributing run that has ended last, counts those that have, and is told once for each',
  G7: 'A goal closes once at a time: escalated after its escalation, finally once; satisfied follows a judgement that says so',
  G8: 'The decision that closes a goal finally tells every open run to stop; the log ends once none is open, and not before',
  G9: 'A tick that has a run has come before, and has no other run',
  G10: 'Only a version that is judged satisfies: a judgement names the present version of the objective',
  G11: 'Payloads are free of content: ids, numbers, booleans and words of closed lists',
} as const

export type GoalRuleId = keyof typeof GOAL_RULES

type Payload = GoalLogEvent['payload']

type Account = {
  readonly found: GoalFinding[]
  deadline: number
  most: number
  mostNano: number
  version: number
  mode: 'active' | 'paused' | 'escalated' | 'closed'
  /** Told, and not closed yet. */
  escalating: boolean
  ended: boolean
  reserved: number
  judges: number
  finished: number
  spentNano: number
  open: Map<string, { readonly role: string; readonly grantNano: number; readonly version?: number; stopping: boolean }>
  /** The contributing run that has ended and is not judged yet. */
  unjudged: string | undefined
  judgeable: boolean
  satisfied: boolean
  ticks: Set<string>
  begun: Set<string>
  used: Set<string>
  closedAt: number | undefined
}

const NANO = 1_000_000_000

export function checkGoal(events: readonly GoalLogEvent[]): GoalFinding[] {
  const account: Account = {
    found: [],
    deadline: Number.POSITIVE_INFINITY,
    most: 10_000,
    mostNano: Number.POSITIVE_INFINITY,
    version: 1,
    mode: 'active',
    escalating: false,
    ended: false,
    reserved: 0,
    judges: 0,
    finished: 0,
    spentNano: 0,
    open: new Map(),
    unjudged: undefined,
    judgeable: false,
    satisfied: false,
    ticks: new Set(),
    begun: new Set(),
    used: new Set(),
    closedAt: undefined,
  }
  let before = Number.NEGATIVE_INFINITY
  events.forEach((event, index) => {
    const say = (rule: GoalRuleId, message: string) => account.found.push({ rule, sequence: event.sequence, message })
    if (event.sequence !== index) say('G1', `sequence ${event.sequence} in the place of ${index}`)
    if (event.at < before) say('G1', `time falls from ${before} to ${event.at}`)
    if ((index === 0) !== (event.type === 'assay.goal.created')) say('G1', `${event.type} as event ${index}`)
    if (account.ended) say('G1', `${event.type} after the end`)
    if (account.closedAt !== undefined && event.at > account.closedAt) checkStops(account, say)
    before = event.at
    checkContent(event, say)
    walk(account, event, say)
  })
  const last = events.at(-1)
  const say = (rule: GoalRuleId, message: string) =>
    account.found.push({ rule, sequence: last?.sequence ?? 0, message })
  checkStops(account, say)
  if (account.mode === 'closed' && account.open.size === 0 && !account.ended)
    say('G8', 'closed, nothing is open, and no end')
  return account.found
}

type Say = (rule: GoalRuleId, message: string) => void

/** All that the closing decision had to tell has been told by now. */
function checkStops(account: Account, say: Say): void {
  if (account.closedAt === undefined) return
  account.closedAt = undefined
  for (const [runId, { stopping }] of account.open)
    if (!stopping) say('G8', `run ${runId} is open, and is not told to stop`)
  if (account.open.size === 0 && !account.ended) say('G8', 'nothing is open, and the log goes on')
}

function walk(account: Account, event: GoalLogEvent, say: Say): void {
  const { payload, secret, at } = event
  switch (event.type) {
    case 'assay.goal.created':
      return bounded(account, payload.bounds as Payload, at)
    case 'assay.goal.edited':
      if (account.mode === 'escalated' || account.mode === 'closed') say('G4', 'edited, and not active')
      account.version = Number(payload.version)
      return
    case 'assay.goal.paused':
    case 'assay.goal.unpaused':
    case 'assay.goal.resumed':
      if (account.mode === 'closed') say('G7', `${event.type} after a final closing`)
      account.mode = event.type === 'assay.goal.paused' ? 'paused' : 'active'
      return
    case 'assay.arm.ticked':
      for (const tick of ticksIn(payload)) account.ticks.add(tick)
      return
    case 'assay.stream.run.began':
      return began(account, event, say)
    case 'assay.goal.run.ended':
      return runEnded(account, payload, say)
    case 'assay.goal.run.stopping': {
      const run = account.open.get(String(payload.runId))
      if (run === undefined) say('G8', `told to stop ${String(payload.runId)}, which is not open`)
      else run.stopping = true
      return
    }
    case 'goal.evaluated':
      return evaluated(account, payload, secret, say)
    case 'assay.goal.escalated':
      if (account.mode === 'escalated' || account.mode === 'closed') say('G7', `escalated while ${account.mode}`)
      account.escalating = true
      return
    case 'goal.closed':
      return closed(account, payload, at, say)
    case 'assay.stream.ended':
      if (account.mode !== 'closed') say('G8', `ended while ${account.mode}`)
      if (account.open.size > 0) say('G8', `ended with ${account.open.size} runs open`)
      account.ended = true
  }
}

function bounded(account: Account, bounds: Payload, at: number): void {
  const { maxLoopIterations, runTimeoutMs, maxCostUsd } = bounds
  if (typeof maxLoopIterations === 'number') account.most = maxLoopIterations
  if (typeof runTimeoutMs === 'number') account.deadline = at + runTimeoutMs
  if (typeof maxCostUsd === 'number') account.mostNano = Math.round(maxCostUsd * NANO)
}

const ticksIn = ({ ticks, hand }: Payload): string[] =>
  Array.isArray(ticks) ? ticks.map(String) : [`hand-${String(hand)}`]

function began(account: Account, { payload, secret, at }: GoalLogEvent, say: Say): void {
  const { role, ordinal, tick } = payload
  const runId = String(payload.runId)
  if (account.begun.has(runId)) say('G2', `run ${runId} begins twice`)
  account.begun.add(runId)
  const isWork = role === 'work'
  const due = 1 + (isWork ? account.reserved : account.judges)
  if (ordinal !== due) say('G2', `${String(role)} number ${String(ordinal)} in the place of ${due}`)
  if (isWork && Number(ordinal) > account.most) say('G2', `run ${String(ordinal)} of ${account.most}`)
  const isOff = isWork ? account.mode !== 'active' : account.mode === 'escalated' || account.mode === 'closed'
  if (isOff) say('G4', `a run begins while the goal is ${account.mode}`)
  if (at >= account.deadline) say('G4', 'a run begins at the deadline or after it')
  const roles = [...account.open.values()].filter(({ stopping }) => !stopping).map(one => one.role)
  if (roles.length > 0) say('G3', `a run begins beside an open ${roles.join(', ')}`)
  if (isWork && account.unjudged !== undefined) say('G3', `a run begins, and ${account.unjudged} is not judged`)
  const judges = secret?.judges as Payload | undefined
  if (!isWork && judges?.runId !== account.unjudged) say('G3', 'a judge of a run that is not to be judged')
  if (!isWork && !account.judgeable) say('G3', 'a judge of a run that nobody may judge')
  if (isWork && tick !== undefined) checkTick(account, String(tick), say)
  const grantNano = Number(secret?.grantNano ?? 0)
  if (Number.isFinite(account.mostNano) && secret?.grantNano === undefined)
    say('G5', 'a run under maxCostUsd without a grant')
  const version = judges === undefined ? {} : { version: Number(judges.version) }
  account.open.set(runId, { role: String(role), grantNano, ...version, stopping: false })
  const granted = [...account.open.values()].reduce((sum, one) => sum + one.grantNano, 0)
  if (account.spentNano + granted > account.mostNano)
    say('G5', `${account.spentNano} and ${granted} of ${account.mostNano}`)
  if (isWork) account.reserved += 1
  else account.judges += 1
}

function checkTick(account: Account, tick: string, say: Say): void {
  if (!account.ticks.has(tick)) say('G9', `tick ${tick} has not come`)
  if (account.used.has(tick)) say('G9', `tick ${tick} has two runs`)
  account.used.add(tick)
}

function runEnded(account: Account, payload: Payload, say: Say): void {
  const run = account.open.get(String(payload.runId))
  if (run === undefined) return say('G3', `${String(payload.runId)} ends, and is not open`)
  if (run.role !== payload.role) say('G3', `a ${run.role} ends as ${String(payload.role)}`)
  account.open.delete(String(payload.runId))
  account.spentNano += Number(payload.spentNano) + Number(payload.heldNano)
  if (run.role !== 'work') return
  account.finished += 1
  account.unjudged = String(payload.runId)
  account.judgeable = payload.judgeable === true
}

function evaluated(account: Account, payload: Payload, secret: GoalLogEvent['secret'], say: Say): void {
  if (payload.runId !== account.unjudged)
    say('G6', `a judgement of ${String(payload.runId)}, due is ${account.unjudged ?? 'none'}`)
  if (payload.iterations !== account.finished)
    say('G6', `${String(payload.iterations)} iterations, ended have ${account.finished}`)
  if (payload.satisfied === true && !account.judgeable) say('G6', 'satisfied by a run that nobody may judge')
  if (account.mode === 'closed' || account.mode === 'escalated') say('G6', `judged while ${account.mode}`)
  if (secret?.version !== account.version)
    say('G10', `version ${String(secret?.version)}, present is ${account.version}`)
  account.unjudged = undefined
  account.satisfied = payload.satisfied === true
}

function closed(account: Account, { finalState }: Payload, at: number, say: Say): void {
  if (account.mode === 'closed') say('G7', 'closed twice')
  if (finalState === 'escalated') {
    if (!account.escalating) say('G7', 'closed as escalated, and nothing was')
    account.escalating = false
    account.mode = 'escalated'
    return
  }
  if (finalState === 'satisfied' && !account.satisfied) say('G7', 'satisfied, and no judgement says so')
  if (account.satisfied && finalState !== 'satisfied')
    say('G7', `judged satisfied, and closed as ${String(finalState)}`)
  account.mode = 'closed'
  account.closedAt = at
}

/** Words that payloads may have; everything else in them is an id, a number or a boolean. */
const WORDS = /^[A-Za-z0-9._:-]{1,200}$/

function checkContent({ type, payload }: GoalLogEvent, say: Say): void {
  const isFree = (value: unknown): boolean => {
    if (typeof value === 'string') return WORDS.test(value)
    if (Array.isArray(value)) return value.every(isFree)
    if (typeof value === 'object' && value !== null) return Object.values(value).every(isFree)
    return true
  }
  if (!isFree(payload)) say('G11', `${type} says more than ids and numbers`)
}
