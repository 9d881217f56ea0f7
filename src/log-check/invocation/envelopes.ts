import { eachRun, type LoggedEvent, type Rule } from '../checked.js'
import { get, number, show } from '../json.js'
import { nodeAttemptsOf } from '../node/node-attempts.js'
import { stepsOf } from './invocation-order.js'
import { COMPLETED, type Invocation, invocationsOf } from './invocations.js'

/** Answers of a model that are not what was asked for. */
export const envelopeRules: readonly Rule[] = [
  {
    id: 'L23l',
    title: 'A refusal is told once and never retried: its node fails, and its invocation ends refused',
    source: 'agents R-ENV-1, R-ENV-3, R-LIVE-30',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const nodeAttempt of nodeAttemptsOf(run)) {
        const place = nodeAttempt.events.findIndex(({ type }) => type === REFUSAL)
        if (place < 0) continue
        const refusal = nodeAttempt.events[place] as LoggedEvent
        for (const event of nodeAttempt.events.slice(place + 1)) {
          if (event.type === REFUSAL) say('refused twice', event)
          if (TRIES.includes(event.type)) say(`${event.type} after a refusal`, event)
          if (event.type === COMPLETED && event.payload.outcome !== 'refused')
            say(`${show(event.payload.outcome)} after a refusal`, event)
        }
        if (nodeAttempt.end !== undefined && !['node.failed', 'node.cancelled'].includes(nodeAttempt.end.type))
          say(`${nodeAttempt.end.type} after a refusal`, nodeAttempt.end)
        if (assay && refusal.payload.refusalText !== null) say('the words of the refusal', refusal)
      }
    }),
  },
  {
    id: 'L23r',
    title:
      'Repeated requests for an answer count 2, 3 … within an invocation, no further than its brief allows; when they are used up that is told with their number, and nothing more is asked',
    source: 'agents R-ENV-2, §17',
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of countProblems(invocation)) say(problem, event)
    }),
  },
  {
    id: 'L23s',
    title:
      'An answer that was cut off is asked for again as one, and only such; what was wrong is asked for again with a correction; what uses up the tries is what the node fails with',
    source: 'agents R-ENV-2',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of reasonProblems(invocation)) say(problem, event)
    }),
  },
]

type Problem = readonly [string, LoggedEvent | undefined]

const REFUSAL = 'envelope.refusal'
const TRUNCATED = 'envelope.truncated'
const ATTEMPTED = 'envelope.retry.attempted'
const EXHAUSTED = 'envelope.retry.exhausted'

const TRIES: readonly string[] = [
  ATTEMPTED,
  'assay.model.requested',
  'provider.usage',
  'agent.toolCalled',
  'agent.decided',
  'node.retried',
]

function countProblems({ events, brief }: Invocation): Problem[] {
  const problems: Problem[] = []
  const most = number(brief?.maxRetries)
  let tries = 1
  let over = false
  for (const event of events) {
    if (over && TRIES.includes(event.type)) problems.push([`${event.type} after all tries were used up`, event])
    if (event.type === ATTEMPTED) {
      tries += 1
      if (event.payload.attempt !== tries) problems.push([`try ${show(event.payload.attempt)}; ${tries} is due`, event])
      if (most !== undefined && tries > most + 1) problems.push([`try ${tries} of ${most + 1}`, event])
    } else if (event.type === EXHAUSTED) {
      over = true
      if (event.payload.totalAttempts !== tries)
        problems.push([`${show(event.payload.totalAttempts)} tries, there were ${tries}`, event])
      if (most !== undefined && tries < most + 1) problems.push([`used up after ${tries} of ${most + 1}`, event])
    }
  }
  return problems
}

const OURS: readonly unknown[] = ['schema-violation', 'parse-error', 'truncation', 'unknown']
const CORRECTED: readonly unknown[] = ['schema-violation', 'parse-error']

/** What a node fails with when the last try was of no use. */
const CODES: { readonly [reason: string]: readonly unknown[] } = {
  truncation: ['envelope_truncation_unrecoverable'],
  'parse-error': ['envelope_invalid'],
  'schema-violation': ['envelope_invalid', 'handoff_return_schema_violation'],
}

function reasonProblems(invocation: Invocation): Problem[] {
  const problems: Problem[] = []
  const { nodeAttempt, started } = invocation
  let before = started
  for (const event of stepsOf(invocation)) {
    const again = event.type === ATTEMPTED || event.type === EXHAUSTED
    const reason = event.payload.reason ?? event.payload.finalReason
    if (again && !OURS.includes(reason)) problems.push([`asked again because of ${show(reason)}`, event])
    if (again && (reason === 'truncation') !== (before.type === TRUNCATED))
      problems.push([`${show(reason)} after ${before.type}`, event])
    if (event.type === ATTEMPTED && invocation.brief !== undefined) {
      const corrected = typeof get(event.raw.secret, 'correction') === 'string'
      if (corrected !== CORRECTED.includes(reason))
        problems.push([`${show(reason)} ${corrected ? 'with' : 'without'} a correction`, event])
    }
    if (event.type === TRUNCATED || event.type === REFUSAL)
      for (const [told, resolved] of [
        ['provider', 'resolvedProvider'],
        ['model', 'resolvedModel'],
      ] as const)
        if (event.payload[told] !== started.payload[resolved])
          problems.push([`${told} ${show(event.payload[told])} was not resolved`, event])
    const code = get(nodeAttempt.end?.payload.error, 'code')
    const codes = event.type === EXHAUSTED ? CODES[String(reason)] : undefined
    if (codes !== undefined && nodeAttempt.end?.type === 'node.failed' && !codes.includes(code))
      problems.push([`${show(reason)} fails the node with ${show(code)}`, nodeAttempt.end])
    before = event
  }
  return problems
}
