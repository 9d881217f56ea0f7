import { Type } from 'typebox'
import { type ToolError, toolError } from '../../invocation/tool-codes.js'
import { isObject, type Json, type JsonObject } from '../../json.js'
import { summaryOf } from '../../reasoning.js'
import { Closed, Flag, ListOf, May, NumberFrom } from '../../schema/kinds.js'
import { type AgentOpinion, hold, ratification, ratificationProblems, tellOpinion } from '../../supervisor/hold.js'
import { Anything, SomeText } from '../fields.js'
import { type AgentSaid, completed, type NodeContext, type NodeType, type Write } from '../node-type.js'
import { agentOf } from '../supervisor-loop.js'
import { notApproved } from './interrupt.js'

const AgentName = (description: string) =>
  Type.String({ minLength: 3, maxLength: 256, 'x-must-be': 'text of 3 to 256 characters', description })

const Count = (description: string) => Type.Number({ minimum: 0, 'x-must-be': 'a number, 0 or more', description })

/** R-MOCK-3: a call that brings back neither a result nor an error, or both, is not one. */
const ToolCall = Type.Refine(
  Closed({
    toolId: SomeText({ description: 'Which tool' }),
    arguments: May(Anything({ description: 'What it is given' })),
    result: May(Anything({ description: 'What it brings back' })),
    error: May(Anything({ description: 'What went wrong' })),
    durationMs: May(Count('How long it takes')),
  }),
  call => (call.result === undefined) !== (call.error === undefined),
  () => 'must have either a result or an error; give one of them',
)

/** Contract agents §13.3. */
export const mockAgentNode = {
  typeId: 'core.conformance.mock-agent',
  about: 'For conformance runs: says what its configuration says that an agent would.',
  config: Closed({
    agentId: May(AgentName('Who speaks')),
    mockReasoning: May(
      Type.Union(
        [
          Flag(),
          Closed({
            summary: SomeText({ description: 'The reasoning in a line' }),
            trace: May(SomeText({ description: 'The whole of it' })),
            tokenCount: May(Count('What it took')),
            streamChunks: May(ListOf(Type.String(), 1, 10_000, { description: 'The parts in which it is told' })),
          }),
        ],
        { description: 'What it says it thought', 'x-must-be': 'true, or an object with summary' },
      ),
    ),
    mockToolCalls: May(ListOf(ToolCall, 0, 10_000, { description: 'The tools it says it called' })),
    mockHandoff: May(
      Closed(
        {
          toAgentId: AgentName('To whom'),
          reason: May(SomeText({ description: 'Why' })),
          context: May(Anything({ description: 'What goes with it' })),
        },
        { description: 'A hand-over that it tells of' },
      ),
    ),
    mockDecision: May(
      Closed(
        {
          decision: Anything({ description: 'What it decides' }),
          confidence: May(NumberFrom(0, 1, { description: 'How sure it is' })),
          reasoning: May(SomeText({ description: 'Why' })),
        },
        { description: 'What it decides' },
      ),
    ),
    mockConfidence: May(NumberFrom(0, 1, { description: 'How sure it is of a decision that is not shown' })),
  }),
  check: (_node, { mocks }) =>
    mocks
      ? []
      : [
          'typeId core.conformance.mock-agent is for conformance runs only; name the workflow conformance-… or start the host with --conformance',
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
} as const satisfies NodeType

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
