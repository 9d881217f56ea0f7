import { eachRun, isBefore, type LoggedEvent, type Rule } from '../checked.js'
import { get, list, number, show, text } from '../json.js'
import { extraFields, fieldProblems, filled, hash, oneOf, type Shape } from '../structure/shape.js'
import { stepsOf } from './invocation-order.js'
import { type Invocation, invocationsOf } from './invocations.js'
import { forbiddenProblems, toolErrorProblems } from './tool-errors.js'

/** What an agent does outside. */
export const toolCallRules: readonly Rule[] = [
  {
    id: 'L23j',
    title:
      'An agent uses tools of its surface only: those its brief names, and never more different ones than were counted',
    source: 'agents R-TOOL-1, R-TOOL-2, R-LIVE-6',
    checks: eachRun((run, say) => {
      for (const { events, started, brief } of invocationsOf(run)) {
        const surface = brief && new Set(list(brief.tools).map(tool => get(tool, 'toolId')))
        const size = number(started.payload.toolSurfaceCount) ?? Number.POSITIVE_INFINITY
        if (surface !== undefined && surface.size !== size) say(`${size} tools counted of ${surface.size}`, started)
        const used = new Set<unknown>()
        for (const event of events) {
          if (event.type !== CALLED) continue
          used.add(event.payload.toolName)
          if (surface !== undefined && !surface.has(event.payload.toolName))
            say(`${show(event.payload.toolName)} is not on the surface`, event)
          else if (used.size > size) say(`${used.size} different tools of ${size}`, event)
        }
      }
    }),
  },
  {
    id: 'L23k',
    title:
      'A call of a tool is made as the model asked for it, in order and one at a time, and none that is on the surface is left out',
    source: 'agents R-TOOL-1, §14.3',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const invocation of invocationsOf(run))
        for (const [problem, event] of askedProblems(invocation)) say(problem, event)
    }),
  },
  {
    id: 'L23q',
    title:
      'A tool that was not called, because it is forbidden or called too often, has no duration and says so; one that was called and came back has',
    source: 'agents R-TOOL-3, R-TOOL-4, R-TOOL-5',
    checks: eachRun((run, say, log) => {
      const assay = log.input.dialect !== 'openwop'
      for (const { events } of invocationsOf(run)) {
        for (const event of events) {
          if (event.type !== RETURNED) continue
          const { status, durationMs, error } = event.payload
          const isDenied = status === 'forbidden' || status === 'rate_limited'
          if (isDenied && durationMs !== undefined) say(`${show(status)} after ${show(durationMs)} ms`, event)
          if (!assay) continue
          if (status === 'ok' && durationMs === undefined) say('a call without its duration', event)
          if ((status === 'ok') !== (error === undefined)) say(`${show(status)} with error ${show(error)}`, event)
          if (isDenied && get(error, 'code') !== status)
            say(`${show(status)}, told as ${show(get(error, 'code'))}`, event)
          if (status === 'forbidden' && !isBefore(run, 3))
            for (const problem of forbiddenProblems(error, event.payload.toolName)) say(problem, event)
        }
      }
    }),
  },
  {
    id: 'L31e',
    title:
      'What a live agent passes to a tool and gets back is told by hash and by code, not by content; each call names itself, whose it is and how it goes',
    source: 'agents R-TOOL-3, R-TOOL-8',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const { events, agentId } of invocationsOf(run)) {
        for (const event of events) {
          if (event.type !== CALLED && event.type !== RETURNED) continue
          for (const problem of shapeProblems(event)) say(problem, event)
          if (event.payload.error !== undefined && !isBefore(run, 3))
            for (const problem of toolErrorProblems(event.payload.error)) say(problem, event)
          if (event.payload.agentId !== agentId) say(`a call of ${show(event.payload.agentId)}`, event)
        }
      }
    }),
  },
]

const CALLED = 'agent.toolCalled'
const RETURNED = 'agent.toolReturned'

type Problem = readonly [string, LoggedEvent]

/** Where the log shows what the model asked for. */
function askedProblems(invocation: Invocation): Problem[] {
  const problems: Problem[] = []
  const surface = new Set(list(invocation.brief?.tools).map(tool => get(tool, 'toolId')))
  let wanted: { readonly toolId: unknown; readonly argsHash: unknown }[] | undefined
  for (const event of stepsOf(invocation)) {
    if (event.type === 'provider.usage')
      wanted =
        invocation.brief === undefined
          ? undefined
          : list(get(event.raw.secret, 'wanted'))
              .map(want => ({ toolId: get(want, 'toolId'), argsHash: get(want, 'argsHash') }))
              .filter(({ toolId }) => surface.has(toolId))
    else if (event.type === CALLED && wanted !== undefined) {
      const next = wanted.shift()
      if (next?.toolId !== event.payload.toolName || next?.argsHash !== event.payload.argsHash)
        problems.push([`${show(event.payload.toolName)} is called; asked for is ${show(next?.toolId)}`, event])
    } else if (event.type === 'assay.model.requested' && wanted !== undefined && wanted.length > 0)
      problems.push([`${show(wanted[0]?.toolId)} was asked for and not called`, event])
  }
  return problems
}

const CALL: Shape = {
  required: {
    agentId: filled,
    toolName: filled,
    toolId: filled,
    callId: filled,
    argsHash: hash,
    principal: filled,
    transport: oneOf('mcp', 'http', 'native'),
  },
  closed: true,
}

/** Names and lengths, but no words of the tool. Before version 3 what it is about stood beside the code. */
const code = {
  is: 'a code with what it is about',
  holds: (value: unknown) => {
    const keys = Object.keys(value ?? {})
    return filled.holds(get(value, 'code')) && keys.every(key => ERROR_FIELDS.includes(key))
  },
}
const ERROR_FIELDS: readonly string[] = [
  'code',
  'message',
  'details',
  'scope',
  'toolName',
  'requiredScopes',
  'retryAfterMs',
]

const RETURN: Shape = {
  required: {
    agentId: filled,
    toolName: filled,
    toolId: filled,
    callId: filled,
    status: oneOf('ok', 'error', 'forbidden', 'rate_limited'),
  },
  optional: { durationMs: { is: 'a number from 0', holds: value => (number(value) ?? -1) >= 0 }, error: code },
  closed: true,
}

function shapeProblems(event: LoggedEvent): string[] {
  const { payload, type } = event
  const shape = type === CALLED ? CALL : RETURN
  const problems = [
    ...fieldProblems(shape, payload, true),
    ...extraFields(shape, payload, true).map(field => `it tells ${field}`),
  ]
  if (payload.toolId !== payload.toolName) problems.push(`${show(payload.toolId)} is also ${show(payload.toolName)}`)
  if (type === CALLED && !isOwnName(event)) problems.push(`the call is ${show(payload.callId)}`)
  return problems
}

/** Before a remark that a replay makes the number may be one less. */
const isOwnName = ({ payload, sequence }: LoggedEvent): boolean =>
  [`call-${sequence}`, `call-${sequence - 1}`].includes(text(payload.callId) ?? '')
