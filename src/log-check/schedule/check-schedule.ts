/**
 * Reads the log of one schedule and reports every place where it breaks what docs/design/schedule.md and docs/design/arm.md
 * promise. It knows the pages and stored events, and shares nothing with the engine: it walks the log once, with its own
 * account of what is owed, under way and done.
 */

export type ScheduleLogEvent = {
  readonly sequence: number
  readonly type: string
  readonly at: number
  readonly payload: { readonly [field: string]: unknown }
}

export type ScheduleFinding = { readonly rule: ScheduleRuleId; readonly sequence: number; readonly message: string }

/** What each rule says, by its id. */
export const SCHEDULE_RULES = {
  C1: 'A schedule begins with assay.schedule.registered; sequences are dense and times never fall',
  C2: 'Runs are numbered from 1 without a gap, no run begins twice, and no tick has two runs',
  C3: 'One run is under way at a time, and what ends is what is under way',
  C4: 'A run begins only for a tick that has come, is first in line, and was not skipped or refused',
  C5: 'Ticks are told in rising order, each once, beginning with the one that was set, and none before it is due',
  C6: 'Nothing comes while the arm is paused or disarmed, but by hand; requests by hand are counted from 1',
  C7: 'A pause, an edit and a removal leave no tick in line, but what was asked for by hand and may still be wanted',
  C8: 'Payloads are free of content: ids, numbers and words of closed lists',
  C9: 'A heartbeat looks while nothing is under way or in line; a change is told, and has a tick, exactly where there is one',
} as const

export type ScheduleRuleId = keyof typeof SCHEDULE_RULES

type Say = (rule: ScheduleRuleId, message: string) => void

type Account = {
  owed: string[]
  ticks: Set<string>
  runs: Set<string>
  underWay: string | undefined
  begun: number
  hands: number
  arm: 'armed' | 'paused' | 'disarmed'
  /** The tick that is waited for. */
  set: { readonly tick: number; readonly dueAt: number } | undefined
  /** The latest tick that was told of, whatever became of it. */
  told: number
  kind: string
  /** Of a heartbeat: what must follow what it has found. */
  due: readonly string[]
}

export function checkSchedule(events: readonly ScheduleLogEvent[]): ScheduleFinding[] {
  const found: ScheduleFinding[] = []
  const account: Account = {
    owed: [],
    ticks: new Set(),
    runs: new Set(),
    underWay: undefined,
    begun: 0,
    hands: 0,
    arm: 'disarmed',
    set: undefined,
    told: Number.NEGATIVE_INFINITY,
    kind: '',
    due: [],
  }
  let before = Number.NEGATIVE_INFINITY
  events.forEach((event, index) => {
    const say: Say = (rule, message) => found.push({ rule, sequence: event.sequence, message })
    if (event.sequence !== index) say('C1', `sequence ${event.sequence} in the place of ${index}`)
    if (event.at < before) say('C1', `time falls from ${before} to ${event.at}`)
    if (index === 0 && event.type !== 'assay.schedule.registered') say('C1', `${event.type} is the first event`)
    before = event.at
    checkShape(event, say)
    checkBeat(account, event, say)
    walk(account, event, say)
  })
  return found
}

function walk(account: Account, { type, at, payload }: ScheduleLogEvent, say: Say): void {
  switch (type) {
    case 'assay.arm.armed':
      leavesNothing(account, type, say)
      account.arm = 'armed'
      account.set = undefined
      account.kind = String(payload.kind)
      // A heartbeat looks for the first time at the moment at which it is armed.
      account.told = Math.max(account.told, Number(payload.after) - Number(account.kind === 'heartbeat'))
      return
    case 'assay.arm.set':
      if (account.arm !== 'armed') say('C6', `set while ${account.arm}`)
      if (Number(payload.tick) <= account.told)
        say('C5', `tick ${payload.tick} is set, and ${account.told} was told of`)
      if (Number(payload.dueAt) < Number(payload.tick)) say('C5', `tick ${payload.tick} is due before it is`)
      account.set = { tick: Number(payload.tick), dueAt: Number(payload.dueAt) }
      return
    case 'assay.arm.ticked':
      return ticked(account, payload, at, say)
    case 'assay.arm.skipped':
      return skipped(account, payload, at, say)
    case 'assay.arm.paused':
    case 'assay.arm.disarmed':
      if (type === 'assay.arm.disarmed') account.owed = account.owed.filter(tick => !tick.startsWith('hand:'))
      leavesNothing(account, type, say)
      account.arm = type === 'assay.arm.paused' ? 'paused' : 'disarmed'
      account.set = undefined
      return
    case 'assay.arm.resumed':
      if (account.arm !== 'paused') say('C6', `resumed while ${account.arm}`)
      account.arm = 'armed'
      account.told = Math.max(account.told, Number(payload.after))
      return
    case 'assay.arm.spent':
      account.set = undefined
      return
    case 'assay.stream.run.began':
      return began(account, payload, say)
    case 'assay.schedule.run.ended':
      if (account.underWay !== payload.runId) say('C3', `${payload.runId} ends, and ${account.underWay} is under way`)
      account.underWay = undefined
      return
    case 'assay.schedule.refused':
      if (account.owed[0] !== payload.tick)
        say('C4', `${payload.tick} is refused, and ${account.owed[0]} is first in line`)
      account.owed.shift()
      return
  }
}

/** What a heartbeat has found, and what follows from it: in this order, and nothing between. */
function checkBeat(account: Account, { type, at, payload }: ScheduleLogEvent, say: Say): void {
  const [due, ...later] = account.due
  if (due !== undefined && type !== due) say('C9', `${type} in the place of ${due}`)
  account.due = due === type ? later : []
  if (type === 'heartbeat.stateChanged' || type === 'assay.arm.ticked') {
    const isOwed = due === type || account.kind !== 'heartbeat' || 'hand' in payload
    if (!isOwed) say('C9', `${type}, and nothing has changed`)
    return
  }
  if (type !== 'heartbeat.evaluated') return
  if (account.kind !== 'heartbeat' || account.arm !== 'armed') say('C9', `looks while ${account.kind} ${account.arm}`)
  if (account.underWay !== undefined || account.owed.length > 0) say('C9', 'looks while a run is under way or in line')
  if (account.set === undefined || at < account.set.dueAt) say('C9', `looks at ${at}, before it is due`)
  if (payload.changed === true && payload.status !== 'ok') say('C9', `a change, and the status is ${payload.status}`)
  account.due =
    payload.changed === true ? ['heartbeat.stateChanged', 'assay.arm.ticked', 'assay.arm.set'] : ['assay.arm.set']
}

function ticked(account: Account, payload: ScheduleLogEvent['payload'], at: number, say: Say): void {
  if ('hand' in payload) {
    account.hands += 1
    if (payload.hand !== account.hands) say('C6', `request ${payload.hand} by hand in the place of ${account.hands}`)
    if (account.arm === 'disarmed') say('C6', 'asked for by hand, and removed')
    account.owed.push(`hand:${payload.hand}`)
    return
  }
  if (account.arm !== 'armed') say('C6', `a tick while ${account.arm}`)
  for (const tick of payload.ticks as number[]) {
    comes(account, tick, at, say)
    account.owed.push(new Date(tick).toISOString())
  }
}

function skipped(account: Account, payload: ScheduleLogEvent['payload'], at: number, say: Say): void {
  const [from, before] = [Number(payload.from), Number(payload.before)]
  if (before <= from) say('C5', `skipped from ${from} until ${before}`)
  const isInLine = account.owed.some(tick => inside(tick, from, before))
  account.owed = account.owed.filter(tick => !inside(tick, from, before))
  // What was in line has come before; else it comes, and is skipped, here.
  if (isInLine) return
  comes(account, from, at, say)
  account.told = Math.max(account.told, before - 1)
}

const inside = (tick: string, from: number, before: number): boolean =>
  !tick.startsWith('hand:') && Date.parse(tick) >= from && Date.parse(tick) < before

function comes(account: Account, tick: number, at: number, say: Say): void {
  if (tick <= account.told) say('C5', `tick ${tick} comes after ${account.told}`)
  if (account.set !== undefined && tick !== account.set.tick)
    say('C5', `${tick} comes, and ${account.set.tick} was set`)
  if (account.set !== undefined && at < account.set.dueAt) say('C5', `${tick} comes at ${at}, before it is due`)
  if (tick > at) say('C5', `${tick} comes at ${at}`)
  account.set = undefined
  account.told = tick
}

function began(account: Account, { role, ordinal, runId, tick }: ScheduleLogEvent['payload'], say: Say): void {
  account.begun += 1
  if (role !== 'work' || ordinal !== account.begun) say('C2', `run ${ordinal} in the place of ${account.begun}`)
  if (account.runs.has(String(runId))) say('C2', `run ${runId} begins twice`)
  if (account.ticks.has(String(tick))) say('C2', `${tick} has two runs`)
  if (account.underWay !== undefined) say('C3', `${runId} begins beside ${account.underWay}`)
  const first = account.arm === 'paused' ? account.owed.find(one => one.startsWith('hand:')) : account.owed[0]
  if (first !== tick) say('C4', `${tick} has a run, and ${first} is first in line`)
  account.owed = account.owed.filter(one => one !== tick)
  account.runs.add(String(runId))
  account.ticks.add(String(tick))
  account.underWay = String(runId)
}

function leavesNothing({ owed }: Account, type: string, say: Say): void {
  const left = owed.filter(tick => !tick.startsWith('hand:'))
  if (left.length > 0) say('C7', `${left.join(', ')} is still in line after ${type}`)
}

type Check = (value: unknown) => boolean
const count: Check = value => Number.isSafeInteger(value)
const id: Check = value => typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9:._-]{0,127}$/.test(value)
const truth: Check = value => typeof value === 'boolean'
const predicateState: Check = value =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === 'holds' && truth(Object.values(value)[0])
const oneOf =
  (...words: readonly string[]): Check =>
  value =>
    words.includes(value as string)
const counts: Check = value => Array.isArray(value) && value.length > 0 && value.length <= 100 && value.every(count)

/** All fields of each type; every one is there. */
const SHAPES: { readonly [type: string]: readonly { readonly [field: string]: Check }[] } = {
  'assay.schedule.registered': [{ workflowId: id, triggerId: id }],
  'assay.schedule.removed': [{}],
  'assay.schedule.run.ended': [{ runId: id, outcome: oneOf('completed', 'failed', 'cancelled') }],
  'assay.schedule.held': [{ code: id, failures: count, until: count }],
  'assay.schedule.refused': [{ tick: id, code: id }],
  'assay.schedule.quarantined': [{ attempts: count }],
  'assay.stream.run.began': [{ role: id, ordinal: count, runId: id, tick: id }],
  'assay.arm.armed': [{ kind: oneOf('schedule', 'heartbeat'), after: count }],
  'heartbeat.evaluated': [{ heartbeatId: id, status: oneOf('ok', 'timeout', 'error'), changed: truth }],
  'heartbeat.stateChanged': [{ heartbeatId: id, from: predicateState, to: predicateState }],
  'assay.arm.set': [{ tick: count, dueAt: count }],
  'assay.arm.ticked': [{ ticks: counts }, { hand: count }],
  'assay.arm.skipped': [{ from: count, before: count, reason: oneOf('missed', 'busy', 'paused', 'rearmed', 'closed') }],
  'assay.arm.paused': [{}],
  'assay.arm.resumed': [{ after: count }],
  'assay.arm.spent': [{}],
  'assay.arm.disarmed': [{}],
}

function checkShape({ type, payload }: ScheduleLogEvent, say: Say): void {
  const shapes = SHAPES[type]
  if (shapes === undefined) return say('C8', `${type} is no event of a schedule`)
  const fits = shapes.some(
    shape =>
      Object.keys(payload).length === Object.keys(shape).length &&
      Object.entries(shape).every(([field, isIt]) => isIt(payload[field])),
  )
  if (!fits) say('C8', `${type} has ${JSON.stringify(payload)}`)
}
