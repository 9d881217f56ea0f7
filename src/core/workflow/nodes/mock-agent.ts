import { type ToolError, toolError } from '../../invocation/tool-codes.js'
import { isObject, type Json, type JsonObject, own } from '../../json.js'
import { summaryOf } from '../../reasoning.js'
import { type AgentOpinion, hold, ratification, ratificationProblems, tellOpinion } from '../../supervisor/hold.js'
import { type AgentSaid, completed, type NodeContext, type NodeType, type Write } from '../node-type.js'
import { agentOf } from '../supervisor-loop.js'
import { notApproved } from './interrupt.js'

/** A conformance node that says what its configuration says an agent would (contract agents §13.3). */
export const mockAgentNode: NodeType = {
  typeId: 'core.conformance.mock-agent',
  check: ({ config }, { mocks }) => [
    ...(mocks
      ? []
      : [
          'typeId core.conformance.mock-agent is for conformance runs only; name the workflow conformance-… or start the host with --conformance',
        ]),
    ...objectProblems(config, CONFIG, 'config'),
  ],
  start: ctx => {
    const agentId = identityOf(ctx)
    const said = [...reasoning(ctx, agentId), ...toolCalls(ctx, agentId), ...handoff(ctx, agentId)]
    const opinion = opinionOf(ctx, agentId)
    if (opinion === undefined) return completed({}, said)
    const held = hold(ctx, opinion)
    if (held?.kind === 'asking') return { ...held, writes: [...said, ...(held.writes ?? [])] }
    return completed({}, [...said, tellOpinion(opinion)])
  },
  settle: (_ctx, _wait, outcome) => {
    if (outcome.kind !== 'resolved') throw new Error(`mock agent settled by ${outcome.kind}`)
    const { value, data, timedOut, by } = outcome.resolution
    return ratification(value, data.decision ?? null) === undefined ? notApproved(timedOut, by) : completed({})
  },
  answerProblems: (_asked, value) => ratificationProblems(value, () => []),
}

/** R-MOCK-4 */
const identityOf = ({ config, node }: NodeContext): string =>
  typeof config.agentId === 'string' ? config.agentId : (agentOf(node) ?? `host:mock-agent:${node.id}`)

const write = (event: AgentSaid): Write => ({ kind: 'agent', event })

/** R-MOCK-2, R-EVENT-4, R-EVENT-5: the deltas, numbered, and then the whole, which is what counts. */
function reasoning({ config, configurable }: NodeContext, agentId: string): Write[] {
  const { mockReasoning } = config
  const verbosity = configurable.reasoningVerbosity ?? 'summary'
  if (mockReasoning === undefined || mockReasoning === false || verbosity === 'off') return []
  const told = isObject(mockReasoning) ? mockReasoning : { summary: 'mock reasoning' }
  const chunks = Array.isArray(told.streamChunks) ? told.streamChunks.map(String) : []
  const whole =
    chunks.length > 0 ? chunks.join('') : String((verbosity === 'full' ? told.trace : undefined) ?? told.summary)
  const shown = verbosity === 'full' ? 'full' : 'summary'
  const reasoning = shown === 'full' || chunks.length > 0 ? whole : summaryOf(whole)
  return [
    ...chunks.map((delta, sequence) =>
      write({ type: 'agent.reasoning.delta', payload: { agentId, delta, sequence, verbosity: shown } }),
    ),
    write({ type: 'agent.reasoned', payload: { agentId, reasoning, verbosity: shown } }),
  ]
}

function toolCalls({ config }: NodeContext, agentId: string): Write[] {
  const calls = Array.isArray(config.mockToolCalls) ? (config.mockToolCalls as readonly JsonObject[]) : []
  return calls.flatMap(({ toolId, arguments: inputs, result, error, durationMs }) => {
    const tool = { agentId, toolName: String(toolId), toolId: String(toolId) }
    const took = typeof durationMs === 'number' ? { durationMs } : {}
    const outcome =
      error === undefined
        ? { outcome: result ?? null, status: 'ok' as const }
        : { error: mockError(error), status: 'error' as const }
    return [
      write({ type: 'agent.toolCalled', payload: { ...tool, ...(inputs === undefined ? {} : { inputs }) } }),
      write({ type: 'agent.toolReturned', payload: { ...tool, ...outcome, ...took } }),
    ]
  })
}

/** What a workflow makes up as an error is told in the form of one; what is beside its code and message is detail. */
function mockError(error: Json): ToolError {
  const { code, message, details, ...more } = isObject(error) ? error : { error }
  const beside = details === undefined ? more : isObject(details) ? { ...more, ...details } : { ...more, details }
  const told = toolError(
    typeof code === 'string' ? code : 'tool_failed',
    Object.keys(beside).length > 0 ? beside : undefined,
  )
  return typeof message === 'string' ? { ...told, message } : told
}

function handoff({ config }: NodeContext, fromAgentId: string): Write[] {
  if (!isObject(config.mockHandoff)) return []
  const { toAgentId, reason } = config.mockHandoff
  const payload = { fromAgentId, toAgentId: String(toAgentId), ...(typeof reason === 'string' ? { reason } : {}) }
  return [write({ type: 'agent.handoff', payload })]
}

function opinionOf(
  { config: { mockDecision, mockConfidence } }: NodeContext,
  agentId: string,
): AgentOpinion | undefined {
  const told = isObject(mockDecision) ? mockDecision : undefined
  if (told === undefined && mockConfidence === undefined) return undefined
  const confidence = told?.confidence ?? mockConfidence
  const decision: Json = told?.decision ?? { kind: 'mock' }
  return { agentId, decision, ...(typeof confidence === 'number' ? { confidence } : {}) }
}

type Field = readonly [(value: Json) => boolean, string]
type Fields = { readonly [name: string]: Field }

const text: Field = [value => typeof value === 'string' && value !== '', 'a text']
const anything: Field = [() => true, '']
const share: Field = [value => typeof value === 'number' && value >= 0 && value <= 1, 'a number from 0 to 1']
const count: Field = [value => typeof value === 'number' && value >= 0, 'a number, 0 or more']
const texts: Field = [
  value => Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string'),
  'a list of texts',
]
const agentId: Field = [
  value => typeof value === 'string' && value.length >= 3 && value.length <= 256,
  'a text of 3 to 256 characters',
]
const shaped = (fields: Fields, required: readonly string[]): Field => [
  value =>
    isObject(value) &&
    required.every(name => value[name] !== undefined) &&
    objectProblems(value, fields, '').length === 0,
  `an object with ${required.join(', ') || 'known fields'} and at most ${Object.keys(fields).join(', ')}`,
]

const REASONING = shaped({ summary: text, trace: text, tokenCount: count, streamChunks: texts }, ['summary'])
const TOOL_CALL: Fields = { toolId: text, arguments: anything, result: anything, error: anything, durationMs: count }

/** R-MOCK-3: a call that brings back neither a result nor an error, or both, is not one. */
const isToolCall = (call: Json): boolean =>
  isObject(call) &&
  objectProblems(call, TOOL_CALL, '').length === 0 &&
  call.toolId !== undefined &&
  (call.result === undefined) !== (call.error === undefined)

const CONFIG: Fields = {
  agentId,
  mockReasoning: [value => typeof value === 'boolean' || REASONING[0](value), `true or ${REASONING[1]}`],
  mockToolCalls: [
    value => Array.isArray(value) && value.every(isToolCall),
    'a list of {toolId, arguments?, result or error, durationMs?}',
  ],
  mockHandoff: shaped({ toAgentId: agentId, reason: text, context: anything }, ['toAgentId']),
  mockDecision: shaped({ decision: anything, confidence: share, reasoning: text }, ['decision']),
  mockConfidence: share,
}

function objectProblems(value: JsonObject, fields: Fields, at: string): string[] {
  return Object.entries(value).flatMap(([name, item]) => {
    const field = own(fields, name)
    if (field === undefined) return [`${at}.${name} is not known; known: ${Object.keys(fields).join(', ')}`]
    return field[0](item) ? [] : [`${at}.${name} must be ${field[1]}`]
  })
}
