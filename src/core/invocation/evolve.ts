import type { Recorded } from '../run/events.js'
import { type CallAccount, NO_CALLS, type OnAgent, type OnBrief, type ToolGate, type Waiting } from '../run/waiting.js'
import type { InvocationState, RoundState, ToolResult } from './state.js'
import { withheldResult } from './withheld.js'

/** UTF-8 takes at most three bytes for what JavaScript counts as one, and no text has more tokens than bytes. */
const TOKENS_PER_UNIT = 3
const PER_MESSAGE = 16

/** Folds an event into how far a node's agent has come. Other events leave it as it is. */
export function evolveInvocation(node: Waiting, event: Recorded): Waiting {
  if (node.on === 'brief') return event.type === 'agent.invocation.started' ? begun(node, event) : node
  if (event.type === 'agent.invocation.completed') return closed(node)
  if (node.on === 'gate' && node.point === 'tool') return judged(node, event)
  if (node.on !== 'agent') return node
  if (event.type === 'agent.decided') return { ...node, decided: event.sequence }
  const after = told(node.invocation, event)
  return after === node.invocation ? node : { ...node, invocation: after, ...counted(node, event) }
}

/** The gates are done with what a tool has brought, and the agent goes on with it or without it. */
function judged(node: ToolGate, event: Recorded): ToolGate | OnAgent {
  const { staged: _staged, hold: _hold, point: _point, invocation, ...agent } = node
  const { now } = invocation
  if (now.is !== 'judging') return node
  const cause = event.sequence
  if (event.type === 'assay.tool.delivered') {
    const { contents, resultTokens } = now
    return { ...agent, on: 'agent', invocation: returned(invocation, now.position, { contents }, resultTokens, cause) }
  }
  if (event.type !== 'assay.tool.withheld' || !event.secret) return node
  const { gateId, failed } = event.secret
  const { result, tokens } = withheldResult('tool_withheld', { gateId, failed })
  return { ...agent, on: 'agent', invocation: returned(invocation, now.position, result, tokens, cause) }
}

/** What has become of one of the calls that the model asked for. */
function returned(
  before: InvocationState,
  position: number,
  result: ToolResult,
  tokens: number,
  cause: number,
): InvocationState {
  const rounds = replacedLast(before.rounds, round => ({
    ...round,
    results: { ...round.results, [position]: result },
  }))
  return { ...before, rounds, inputTokens: before.inputTokens + tokens, now: { is: 'between', cause } }
}

/** Nobody is at work any more: the node settles in the same step, unless its result stands before a gate. */
function closed(node: Waiting): Waiting {
  if (node.on === 'agent') {
    const { invocation: _invocation, decided: _decided, asked: _asked, ...others } = node
    return { ...others, on: 'host', wait: { kind: 'none' } }
  }
  if (node.on === 'gate' && node.point === 'tool') {
    const { invocation: _invocation, staged: _staged, hold: _hold, point: _point, ...others } = node
    return { ...others, on: 'host', wait: { kind: 'none' } }
  }
  if (node.on !== 'gate' || node.point !== 'node') return node
  // A result that is staged may be sent back: then the same agent is wanted again.
  const { invocation: _, ...others } = node
  return others
}

/** What a later attempt of the node must know: which calls are paid for, and of which one the answer was lost. */
function counted({ calls = NO_CALLS, invocation }: OnAgent, event: Recorded): { readonly calls?: CallAccount } {
  const { made } = calls
  if (event.type === 'assay.model.lost')
    return { calls: { ...calls, spoiled: { call: event.payload.call, attempt: event.payload.attempt } } }
  // The run that this one branched off from has paid for its own calls, and this one makes them anew.
  if (invocation.inherited) return {}
  // Only what was billed is kept; a call that broke off unbilled is made anew.
  if (event.type === 'provider.usage' && event.payload.totalTokens > 0)
    return { calls: { ...calls, made: { ...made, calls: Math.max(made.calls, invocation.calls) } } }
  // A tool whose return is not kept is called anew.
  const isKept = event.type === 'agent.toolReturned' && event.secret?.contents !== undefined
  return isKept ? { calls: { ...calls, made: { ...made, uses: made.uses + 1 } } } : {}
}

function begun(node: OnBrief, event: Extract<Recorded, { type: 'agent.invocation.started' }>): OnBrief | OnAgent {
  if (event.secret === undefined) return node
  const { brief, contents } = event.secret
  return {
    ...node,
    on: 'agent',
    invocation: {
      invocationId: event.payload.invocationId,
      started: event.sequence,
      brief,
      contents,
      rounds: [],
      calls: 0,
      lost: 0,
      retries: 0,
      inputTokens: brief.inputTokens,
      outputTokens: brief.maxOutputTokens,
      now: { is: 'between', cause: event.sequence },
    },
  }
}

function told(before: InvocationState, event: Recorded): InvocationState {
  const between = { is: 'between' as const, cause: event.sequence }
  switch (event.type) {
    case 'assay.model.requested': {
      const { call, attempt, maxOutputTokens, reservedTokens, reservedCostUsd = 0 } = event.payload
      const set = { tokens: reservedTokens, costNano: Math.round(reservedCostUsd * 1_000_000_000), deltas: 0 }
      const now = { is: 'thinking' as const, call, attempt, requested: event.sequence, maxOutputTokens, ...set }
      return { ...before, calls: call, now }
    }
    case 'agent.reasoning.delta':
      return before.now.is === 'thinking'
        ? { ...before, now: { ...before.now, deltas: before.now.deltas + 1 } }
        : before
    case 'assay.model.lost':
      // The same call is owed again: its number is not used up.
      return { ...before, calls: before.calls - 1, lost: before.lost + 1, now: between }
    case 'provider.usage': {
      const { exchange } = event.secret ?? {}
      if (event.secret?.contents === undefined)
        return { ...before, lost: 0, now: between, ...(exchange ? { exchange } : {}) }
      const { contents, replyTokens = 0, wanted = [] } = event.secret
      const rounds = [...before.rounds, { contents, wanted, results: {} }]
      return { ...before, rounds, inputTokens: before.inputTokens + replyTokens, lost: 0, now: between }
    }
    case 'envelope.retry.attempted':
      return { ...asked(before, event), retries: before.retries + 1, now: between }
    case 'agent.toolCalled': {
      const position = event.secret?.position
      if (position === undefined) return before
      return { ...before, now: { is: 'using', position, called: event.sequence, callId: event.payload.callId } }
    }
    case 'agent.toolReturned': {
      if (event.secret === undefined) return before
      const { position, contents, resultTokens = 0, code = 'failed', gated, withheld } = event.secret
      if (withheld) {
        const { result, tokens } = withheldResult(code, withheld)
        return returned(before, position, result, tokens, event.sequence)
      }
      if (contents === undefined) return returned(before, position, { code }, resultTokens, event.sequence)
      if (!gated) return returned(before, position, { contents }, resultTokens, event.sequence)
      const { callId, toolId } = event.payload
      return { ...before, now: { is: 'judging', position, callId, toolId, contents, resultTokens } }
    }
    default:
      return before
  }
}

/** R-ENV-2: what was cut off gets more room, as if it had not been said; what was wrong is said to be so. */
function asked(
  before: InvocationState,
  { payload, secret }: Extract<Recorded, { type: 'envelope.retry.attempted' }>,
): InvocationState {
  if (payload.reason === 'truncation')
    return { ...before, rounds: before.rounds.slice(0, -1), outputTokens: before.outputTokens * 2 }
  const correction = secret?.correction
  if (correction === undefined) return before
  const rounds = replacedLast(before.rounds, round => ({ ...round, correction }))
  return { ...before, rounds, inputTokens: before.inputTokens + correction.length * TOKENS_PER_UNIT + PER_MESSAGE }
}

const replacedLast = (rounds: readonly RoundState[], change: (round: RoundState) => RoundState): RoundState[] =>
  rounds.map((round, i) => (i === rounds.length - 1 ? change(round) : round))
