import { reservesOf } from '../budget/spending.js'
import { eachRun, isBefore, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { get, number, show } from '../json.js'
import { walk } from '../walk.js'
import { stepsOf } from './invocation-order.js'
import { type Invocation, invocationOf, invocationsOf } from './invocations.js'

/** The calls that an agent makes of its model. */
export const modelCallRules: readonly Rule[] = [
  {
    id: 'L23g',
    title:
      'Calls of a model count 1, 2, 3 … within an invocation, and tries of a call that was lost 1, 2, 3 …; there are no more than the brief allows',
    source: 'agents §14.3, faults F8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of numberProblems(run, invocation)) say(problem, event)
    }),
  },
  {
    id: 'L23h',
    title:
      'A call is answered once or lost once; its usage is of the model that was resolved and adds up; its reasoning is told once, unless none is wanted or it broke off',
    source: 'agents R-BUDGET-1, R-EVENT-4, R-EVENT-5, R-LIVE-3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      if (invocationsOf(run).length === 0) return
      const silent = silentStarts(run)
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of answerProblems(invocation, silent)) say(problem, event)
    }),
  },
  {
    id: 'L23p',
    title: 'Usage of a model adds up, and is told before its node completes',
    source: 'agents R-BUDGET-1',
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        if (event.type !== USAGE) continue
        const { inputTokens, outputTokens, totalTokens } = event.payload
        const sum = (number(inputTokens) ?? 0) + (number(outputTokens) ?? 0)
        if (totalTokens !== undefined && totalTokens !== sum) say(`totalTokens ${show(totalTokens)}, not ${sum}`, event)
      }
      for (const { nodeAttempt, completed, events } of invocationsOf(run)) {
        if (completed === undefined || nodeAttempt.end?.type !== 'node.completed') continue
        const late = nodeAttempt.events.find(
          event =>
            event.type === USAGE && event.sequence > completed.sequence && invocationOf(run, event) === undefined,
        )
        if (late !== undefined) say('told after the invocation has ended', late)
        // Another host may tell nothing of calls, but not that there was an answer that cost nothing.
        const asked = events.filter(({ type }) => type === REQUESTED)
        if (asked.length > 0 && !events.some(({ type }) => type === USAGE)) say('no usage was told', completed)
      }
    }),
  },
  {
    id: 'L23m',
    title:
      'What is set aside for a call covers its input and its output; what was cut off gets twice the room, nothing else gets more; a lost call is charged in full',
    source: 'agents R-ENV-2, §18',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of reserveProblems(run, invocation)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent]

const REQUESTED = 'assay.model.requested'
const LOST = 'assay.model.lost'
const USAGE = 'provider.usage'

/** The call of an earlier attempt of the same node that was lost last: its tries are counted already. */
function lostBefore(run: RunLog, { nodeAttempt, started }: Invocation): LoggedEvent | undefined {
  if (nodeAttempt.start.payload.attempt === 0) return undefined
  const fresh = run.events.findLast(
    ({ type, node, payload, sequence }) =>
      sequence < started.sequence &&
      ((type === 'node.started' && node === started.node && payload.attempt === 0) || type === 'assay.run.forked'),
  )
  return run.events.findLast(
    ({ type, node, sequence }) =>
      type === LOST && node === started.node && sequence < started.sequence && sequence > (fresh?.sequence ?? -1),
  )
}

function numberProblems(run: RunLog, invocation: Invocation): Problem[] {
  const problems: Problem[] = []
  const before = lostBefore(run, invocation)?.payload
  const firstOf = (one: number): number => (before?.call === one ? (number(before.attempt) ?? 0) : 0) + 1
  let [call, attempt, retries] = [1, firstOf(1), 0]
  const most = number(invocation.brief?.maxRounds)
  for (const event of stepsOf(invocation)) {
    const { payload } = event
    if (event.type === 'envelope.retry.attempted') retries += 1
    if (event.type === REQUESTED || event.type === LOST) {
      if (payload.call !== call) problems.push([`call ${show(payload.call)}; ${call} is due`, event])
      if (payload.attempt !== attempt) problems.push([`attempt ${show(payload.attempt)}; ${attempt} is due`, event])
      if (payload.invocationId !== invocation.id) problems.push([`of ${show(payload.invocationId)}`, event])
    }
    if (event.type === REQUESTED && most !== undefined && call > most + retries)
      problems.push([`call ${call} of ${most + retries}`, event])
    if (event.type === LOST) attempt += 1
    if (event.type === USAGE) [call, attempt] = [call + 1, firstOf(call + 1)]
  }
  return problems
}

/** What a call that broke off leads to. */
const BROKEN: readonly string[] = ['envelope.retry.attempted', 'envelope.retry.exhausted', 'agent.invocation.completed']

function answerProblems(invocation: Invocation, silent: ReadonlySet<LoggedEvent>): Problem[] {
  const problems: Problem[] = []
  const { completed, started, brief } = invocation
  const steps = [...stepsOf(invocation), ...(completed === undefined ? [] : [completed])]
  let open: LoggedEvent | undefined
  let reasoned = 0
  steps.forEach((event, place) => {
    if (event.type === REQUESTED) {
      if (open !== undefined) problems.push(['a call while another is under way', event])
      open = event
      reasoned = 0
    } else if (event.type === 'agent.reasoned') {
      reasoned += 1
      if (reasoned > 1) problems.push(['reasoning told twice', event])
      if (silent.has(event)) problems.push(['reasoning that nobody wants to be told', event])
      if (open === undefined) problems.push(['reasoning without a call', event])
    } else if (event.type === LOST || event.type === USAGE) {
      if (open === undefined) problems.push([`${event.type} of a call that is not under way`, event])
      open = undefined
      if (event.type === LOST) return
      const next = steps[place + 1]
      const isBroken = next === undefined || (BROKEN.includes(next.type) && isUnexplained(next))
      if (reasoned === 0 && !silent.has(event) && !isBroken) problems.push(['an answer without its reasoning', event])
      problems.push(...usageProblems(event, started, brief))
    } else if (open !== undefined && event.type !== 'agent.reasoning.delta')
      problems.push([`${event.type} while a call is under way`, event])
  })
  return problems
}

const isUnexplained = ({ type, payload }: LoggedEvent): boolean =>
  type === 'agent.invocation.completed' || (payload.reason ?? payload.finalReason) === 'unknown'

function usageProblems(event: LoggedEvent, started: LoggedEvent, brief: Invocation['brief']): Problem[] {
  const { provider, model, costEstimateUsd, currency } = event.payload
  const problems: Problem[] = []
  if (provider !== started.payload.resolvedProvider || model !== started.payload.resolvedModel)
    problems.push([`of ${show(provider)} ${show(model)}, which was not resolved`, event])
  if ((costEstimateUsd === undefined) !== (currency === undefined)) problems.push(['an amount without currency', event])
  if (brief === undefined) return problems
  const due = costOf(event, brief.price)
  if (due === undefined && costEstimateUsd !== undefined) problems.push(['a cost without a price', event])
  if (due !== undefined && Math.abs(due - (number(costEstimateUsd) ?? -1)) > NANO)
    problems.push([`costs ${show(costEstimateUsd)}, not ${due}`, event])
  return problems
}

/** A billionth of a dollar: sums are told in whole ones. */
const NANO = 1.5e-9

/** Prices are in USD per million tokens; what is read from or written to a cache may cost otherwise. */
function costOf({ payload }: LoggedEvent, price: unknown): number | undefined {
  const [input, output] = [number(get(price, 'input')), number(get(price, 'output'))]
  if (input === undefined || output === undefined) return undefined
  const [all, read, written, out] = ['inputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'outputTokens'].map(
    field => number(payload[field]) ?? 0,
  ) as [number, number, number, number]
  const plain = Math.max(0, all - read - written)
  const cached =
    read * (number(get(price, 'cacheRead')) ?? input) + written * (number(get(price, 'cacheWrite')) ?? input)
  return (plain * input + cached + out * output) / 1_000_000
}

/** Events at whose time the run wants to be told no reasoning. */
function silentStarts(run: RunLog): Set<LoggedEvent> {
  const silent = new Set<LoggedEvent>()
  walk(run, ({ event, run: track }) => {
    const told = event.type === USAGE || event.type === 'agent.reasoned'
    if (told && track.configurable.reasoningVerbosity === 'off') silent.add(event)
  })
  return silent
}

function reserveProblems(run: RunLog, invocation: Invocation): Problem[] {
  const problems: Problem[] = []
  const { brief } = invocation
  const bounded = reservesOf(run).length > 0
  let room = number(brief?.maxOutputTokens)
  // At least this much input, as far as the log shows what the model is told.
  let input = number(brief?.inputTokens) ?? 0
  let reply = 0
  let open: LoggedEvent | undefined
  for (const event of stepsOf(invocation)) {
    const { payload, raw, type } = event
    if (type === REQUESTED) {
      open = event
      problems.push(...roomProblems(event, room, input, bounded), ...priceProblems(event, brief, input))
    } else if (type === LOST) {
      const told = payload.chargedTokens === undefined ? 'held' : 'charged'
      for (const amount of ['Tokens', 'CostUsd']) {
        const [kept, reserved] = [payload[`${told}${amount}`], open?.payload[`reserved${amount}`]]
        if (kept !== reserved) problems.push([`${told}${amount} ${show(kept)}; set aside was ${show(reserved)}`, event])
      }
      if (told === 'charged' && !isBefore(run, 4)) problems.push(['told as charged, which nobody knows', event])
    } else if (type === USAGE) {
      reply = number(get(raw.secret, 'replyTokens')) ?? 0
      input += reply
    } else if (type === 'agent.toolReturned') input += number(get(raw.secret, 'resultTokens')) ?? 0
    else if (type === 'envelope.retry.attempted' && payload.reason === 'truncation') {
      room = room === undefined ? undefined : room * 2
      // What was cut off is not told to the model again.
      input -= reply
    }
  }
  return problems
}

function roomProblems(event: LoggedEvent, room: number | undefined, input: number, bounded: boolean): Problem[] {
  const [output, reserved] = [number(event.payload.maxOutputTokens) ?? 0, number(event.payload.reservedTokens) ?? 0]
  const problems: Problem[] = []
  if (reserved < output + input)
    problems.push([`${reserved} tokens for ${input} of input and ${output} of output`, event])
  if (room === undefined) return problems
  if (output > room) problems.push([`room for ${output} tokens; ${room} is due`, event])
  if (output < room && !bounded) problems.push([`room for ${output} tokens of ${room}, and no budget`, event])
  return problems
}

function priceProblems(event: LoggedEvent, brief: Invocation['brief'], input: number): Problem[] {
  if (brief === undefined) return []
  const told = number(event.payload.reservedCostUsd)
  const output = number(event.payload.maxOutputTokens) ?? 0
  const price = brief.price
  if ((price === undefined) !== (told === undefined)) return [[`${show(told)} USD set aside`, event]]
  const least = (input * (number(get(price, 'input')) ?? 0) + output * (number(get(price, 'output')) ?? 0)) / 1_000_000
  return told !== undefined && told < least - NANO ? [[`${told} USD for what may cost ${least}`, event]] : []
}
