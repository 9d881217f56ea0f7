import { ask, type Heard } from './asking-nodes.js'
import { aside, crossing, exhaust, left, spend } from './budgeting.js'
import { type Choose, chance, pick } from './choice.js'
import type { SimulatedRun } from './simulated-run.js'
import type { Decision, NodeState } from './simulated-state.js'
import { decideFor, settleTurn } from './supervising.js'
import { type Node, SUPERVISOR } from './workflows.js'

/** An agent at work in a simulated node; places in the log are sequences, so that a fork can go on with them. */
export type Live = {
  readonly invocationId: string
  readonly agentId: string
  readonly brief: Brief
  readonly started: number
  now: 'between' | 'thinking' | 'using'
  /** What the next step is due to. */
  cause: number
  requested: number
  call: number
  attempt: number
  retries: number
  deltas: number
  input: number
  output: number
  reservedTokens: number
  reservedNano: number
  wanted: { toolId?: string; argsHash: string }[]
  /** The tool that is being called. */
  using?: { readonly callId: string; readonly toolId: string; readonly called: number }
}

type Brief = {
  readonly provider: string
  readonly model: string
  readonly agentId: string
  readonly modelClass: string
  readonly prompts: readonly object[]
  readonly composed: object
  readonly tools: readonly { toolId: string; transport: string; repeat: string; scopes: string[] }[]
  readonly memoryBound: boolean
  readonly checksResult: boolean
  readonly threshold?: number
  readonly maxOutputTokens: number
  readonly maxRounds: number
  readonly maxRetries: number
  readonly price?: { readonly input: number; readonly output: number }
  readonly inputTokens: number
}

const TOOLS = ['mcp:read', 'http:fetch', 'native:sum']
const HASH = 'ab'.repeat(32)
const LEAST = 64

export const isLive = ({ typeId, config }: Node): boolean =>
  typeId === 'core.agent' || (typeId === SUPERVISOR && config.prompt !== undefined)

const agentOf = (node: Node): string =>
  node.agent?.agentId ?? (node.typeId === SUPERVISOR ? `host:orchestrator:${node.id}` : 'local.acme.worker')

/** Nothing can be done until what others have set aside is settled. */
export function mustWait(run: SimulatedRun, { live }: NodeState): boolean {
  if (live === undefined || live.now !== 'between' || live.wanted.length > 0) return false
  const held = aside(run)
  const others = held.tokens > 0 || held.costNano > 0
  return others && room(run, live) < Math.min(LEAST, live.output)
}

/** Output tokens that can be afforded. */
function room(run: SimulatedRun, { input, brief: { price } }: Live): number {
  const { maxTokens = Number.POSITIVE_INFINITY, maxCostUsd } = left(run)
  const byTokens = maxTokens - input
  if (maxCostUsd === undefined || price === undefined) return byTokens
  const nano = Math.round(maxCostUsd * 1e9) - input * price.input * 1_000
  return Math.min(byTokens, Math.floor(nano / (price.output * 1_000)))
}

/** One step. */
export function workLive(run: SimulatedRun, node: Node, state: NodeState): void {
  const { choose } = run.world
  const { live } = state
  if (live === undefined) return begin(run, node, state)
  if (chance(choose, 40)) return failLive(run, node, state, 'node_timeout', live.started, true)
  if (live.now === 'thinking') return chance(choose, 10) ? lose(run, node, state, live) : think(run, node, state, live)
  if (live.now === 'using') return comeBack(run, node, live)
  const next = live.wanted.shift()
  if (next === undefined) return callModel(run, node, state, live)
  callTool(run, node, live, next)
}

function begin(run: SimulatedRun, node: Node, state: NodeState): void {
  const { choose } = run.world
  const nodeId = node.id
  if (chance(choose, 25)) return failLive(run, node, state, 'unknown_agent', state.startedAt, false)
  const brief = briefFor(choose, agentOf(node))
  const { agentId, provider, model, modelClass, memoryBound, tools } = brief
  const invocationId = `${nodeId}:${state.startedAt}`
  const started = run.emit(
    'agent.invocation.started',
    nodeId,
    {
      invocationId,
      agentId,
      source: 'workflow-node',
      modelClass,
      resolvedModel: model,
      resolvedProvider: provider,
      toolSurfaceCount: tools.length,
      memoryBound,
      ...(chance(choose, 3) ? { resolvedAgentVersion: '1.0.0' } : {}),
    },
    { cause: state.startedAt, secret: { brief, contents: 'c1' } },
  )
  for (const prompt of brief.prompts)
    run.emit('agent.promptResolved', nodeId, { nodeId, agentId, ...prompt }, { pass: 0, cause: started })
  run.emit('prompt.composed', nodeId, { nodeId, ...brief.composed }, { pass: 0, cause: started })
  const counters = {
    call: 0,
    attempt: 1,
    retries: 0,
    deltas: 0,
    requested: started,
    reservedTokens: 0,
    reservedNano: 0,
  }
  const sizes = { input: brief.inputTokens, output: brief.maxOutputTokens }
  state.live = {
    invocationId,
    agentId,
    brief,
    started,
    now: 'between',
    cause: started,
    ...counters,
    ...sizes,
    wanted: [],
  }
  if (chance(choose, 20)) return failLive(run, node, state, 'handoff_task_schema_violation', started, false)
  if (run.standing.purse.budget.maxCostUsd !== undefined && brief.price === undefined)
    failLive(run, node, state, 'budget_model_denied', started, false)
}

const CHAINS = [
  {
    kind: 'system',
    chain: [{ layer: 'agent-intrinsic', applied: true, source: 'acme' }],
    resolved: 'prompt:acme@1.0.0',
  },
  {
    kind: 'user',
    chain: [
      { layer: 'node', applied: false, reason: 'none' },
      { layer: 'host-defaults', applied: true },
    ],
    resolved: 'prompt:default@1.0.0',
  },
  { kind: 'schema-hint', chain: [{ layer: 'node', applied: false, reason: 'none' }], resolved: null },
]

function briefFor(choose: Choose, agentId: string): Brief {
  const threshold = pick(choose, [undefined, undefined, 0.95])
  const price = pick(choose, [{ input: 2, output: 10 }, { input: 1, output: 3 }, undefined])
  const tools = TOOLS.slice(0, choose(4)).map(toolId => ({
    toolId,
    transport: toolId.slice(0, toolId.indexOf(':')),
    repeat: 'safe',
    scopes: chance(choose, 4) ? ['tools:use'] : [],
  }))
  return {
    agentId,
    provider: 'openai',
    model: 'gpt-test',
    modelClass: 'general',
    tools,
    memoryBound: false,
    prompts: CHAINS.slice(0, 1 + choose(3)),
    checksResult: chance(choose, 3),
    composed: { refs: [], kind: 'system+user', hash: `sha256:${HASH}`, variableHashes: { x: `sha256:${HASH}` } },
    ...(threshold === undefined ? {} : { threshold }),
    ...(price === undefined ? {} : { price }),
    maxOutputTokens: pick(choose, [200, 100]),
    maxRounds: 4,
    maxRetries: choose(3),
    inputTokens: 100,
  }
}

function callModel(run: SimulatedRun, node: Node, state: NodeState, live: Live): void {
  const { brief, invocationId, input, cause } = live
  const nodeId = node.id
  if (live.call >= brief.maxRounds + live.retries)
    return failLive(run, node, state, 'agent_rounds_exceeded', cause, false)
  const maxOutputTokens = Math.max(Math.min(LEAST, live.output), Math.min(live.output, room(run, live)))
  const tokens = input + maxOutputTokens
  const costNano =
    brief.price === undefined ? 0 : (input * brief.price.input + maxOutputTokens * brief.price.output) * 1_000
  const over = crossing(run, { tokens, costNano })
  if (over !== undefined) return exhaust(run, nodeId, over, cause)
  live.call += 1
  live.attempt = triesOf(state, live)
  const cost = brief.price === undefined ? {} : { reservedCostUsd: costNano / 1e9 }
  const payload = {
    nodeId,
    invocationId,
    call: live.call,
    attempt: live.attempt,
    maxOutputTokens,
    reservedTokens: tokens,
  }
  live.requested = run.emit('assay.model.requested', nodeId, { ...payload, ...cost }, { cause })
  Object.assign(live, { now: 'thinking', deltas: 0, reservedTokens: tokens, reservedNano: costNano })
}

/** Tries that an earlier attempt of the node has lost are counted already. */
const triesOf = ({ spoiled }: NodeState, { call, attempt }: Live): number =>
  spoiled?.call === call ? Math.max(attempt, spoiled.attempt + 1) : attempt

/** Nobody will hear the answer; it counts as if it had taken all that was set aside. */
export function lose(run: SimulatedRun, { id: nodeId }: Node, state: NodeState, live: Live): void {
  const { invocationId, call, attempt, reservedTokens, reservedNano, brief } = live
  const cost = brief.price === undefined ? {} : { chargedCostUsd: reservedNano / 1e9 }
  const payload = { nodeId, invocationId, call, attempt, chargedTokens: reservedTokens, ...cost }
  live.cause = run.emit('assay.model.lost', nodeId, payload, { cause: live.requested })
  Object.assign(live, { now: 'between', call: call - 1, attempt: attempt + 1 })
  state.spoiled = { call, attempt }
  spend(run, { tokens: reservedTokens, costNano: reservedNano }, live.cause)
}

const ANSWERS = [
  'answered',
  'answered',
  'tools',
  'tools',
  'unusable',
  'truncated',
  'refused',
  'broken',
  'failed',
] as const

function think(run: SimulatedRun, node: Node, state: NodeState, live: Live): void {
  const { choose } = run.world
  const { agentId, brief, requested: cause } = live
  if (run.verbosity !== 'off' && live.deltas < 3 && chance(choose, 3)) {
    run.emit('agent.reasoning.delta', node.id, { agentId, delta: 'so ', sequence: live.deltas++ }, { cause })
    return
  }
  const answer = pick(choose, ANSWERS)
  const heard = answer !== 'broken' && answer !== 'failed'
  if (heard && run.verbosity !== 'off')
    run.emit('agent.reasoned', node.id, { agentId, reasoning: 'so', verbosity: 'summary' }, { cause })
  const wanted = answer === 'tools' ? toolsFor(choose, brief) : []
  const keeps = ['tools', 'unusable', 'truncated'].includes(answer)
  const replyTokens = keeps ? 10 : 0
  tellUsage(run, node, live, answer === 'failed', keeps ? { contents: 'c2', replyTokens, wanted } : {})
  live.input += replyTokens
  live.attempt = 1
  if (answer === 'answered') return decideLive(run, node, state, live)
  if (answer === 'tools') live.wanted = wanted.filter(({ toolId }) => brief.tools.some(tool => tool.toolId === toolId))
  else if (answer === 'refused') refuse(run, node, state, live)
  else if (answer === 'failed') failLive(run, node, state, 'provider_failed', cause, true)
  else askAgain(run, node, state, live, answer)
}

function toolsFor(choose: Choose, { tools }: Brief): { toolId?: string; argsHash: string }[] {
  return Array.from({ length: 1 + choose(3) }, () => {
    const toolId = pick(choose, [...tools.map(tool => tool.toolId), undefined])
    return { ...(toolId === undefined ? {} : { toolId }), argsHash: HASH }
  })
}

function tellUsage(run: SimulatedRun, node: Node, live: Live, free: boolean, kept: object): void {
  const { choose } = run.world
  const { brief, reservedTokens, requested: cause } = live
  const { provider, model, price } = brief
  const inputTokens = free ? 0 : 20 + choose(60)
  const outputTokens = free ? 0 : Math.min(10 + choose(50), reservedTokens - live.input)
  const costNano = price === undefined ? 0 : (inputTokens * price.input + outputTokens * price.output) * 1_000
  const cacheHit = !free && chance(choose, 12)
  live.now = 'between'
  live.cause = run.emit(
    'provider.usage',
    node.id,
    {
      provider,
      model,
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      nodeId: node.id,
      ...(price === undefined ? {} : { costEstimateUsd: costNano / 1e9, currency: 'USD' }),
      ...(cacheHit ? { cacheHit } : {}),
    },
    { cause, secret: Object.keys(kept).length > 0 ? kept : undefined },
  )
  if (!cacheHit) spend(run, { tokens: inputTokens + outputTokens, costNano }, live.cause)
}

const REASONS = {
  unusable: ['schema-violation', 'parse-error'],
  truncated: ['truncation'],
  broken: ['unknown'],
} as const
const CODES = {
  unusable: 'envelope_invalid',
  truncated: 'envelope_truncation_unrecoverable',
  broken: 'provider_failed',
}

function askAgain(run: SimulatedRun, node: Node, state: NodeState, live: Live, why: keyof typeof REASONS): void {
  const nodeId = node.id
  const { brief, requested: cause } = live
  const { provider, model } = brief
  const reason = pick(run.world.choose, REASONS[why])
  if (why === 'truncated') {
    const told = { nodeId, provider, model, stopReason: 'max_tokens', outputTokenCount: 9 }
    run.emit('envelope.truncated', nodeId, told, { pass: 0, cause })
  }
  if (live.retries >= brief.maxRetries) {
    const payload = { nodeId, totalAttempts: live.retries + 1, finalReason: reason }
    const exhausted = run.emit('envelope.retry.exhausted', nodeId, payload, { pass: 0, cause })
    return failLive(run, node, state, CODES[why], exhausted, false)
  }
  const over = crossing(run, { retries: 1 })
  if (over?.dimension === 'retries') return exhaust(run, nodeId, over, cause)
  live.retries += 1
  const secret = why === 'unusable' ? { correction: 'mend it' } : undefined
  const payload = { nodeId, attempt: live.retries + 1, reason }
  live.cause = run.emit('envelope.retry.attempted', nodeId, payload, { pass: 0, cause, secret })
  if (why === 'truncated') live.output *= 2
  if (why === 'unusable') live.input += 40
  spend(run, { retries: 1 }, live.cause)
}

function refuse(run: SimulatedRun, node: Node, state: NodeState, live: Live): void {
  const { provider, model } = live.brief
  const payload = { nodeId: node.id, provider, model, refusalText: null, safetyCategory: 'violence' }
  const refusal = run.emit('envelope.refusal', node.id, payload, { pass: 0, cause: live.requested })
  closeLive(run, node, state, 'refused', refusal)
  run.failAs(node, state, 'envelope_refusal', refusal)
}

function callTool(run: SimulatedRun, node: Node, live: Live, { toolId = '', argsHash }: Live['wanted'][number]): void {
  const { choose } = run.world
  const { agentId, brief, cause } = live
  const over = crossing(run, { toolCalls: 1 })
  if (over?.dimension === 'toolCalls') return exhaust(run, node.id, over, cause)
  const callId = `call-${run.events.length}`
  const terms = brief.tools.find(tool => tool.toolId === toolId) as Brief['tools'][number]
  const names = { agentId, toolName: toolId, toolId, callId }
  const payload = { ...names, argsHash, principal: 'ann', transport: terms.transport }
  const called = run.emit('agent.toolCalled', node.id, payload, { cause, secret: { position: 0 } })
  spend(run, { toolCalls: 1 }, called)
  live.using = { callId, toolId, called }
  live.now = 'using'
  const isForbidden = terms.scopes.length > 0
  if (!isForbidden && !chance(choose, 6)) return
  const status = isForbidden ? 'forbidden' : 'error'
  comeBackWith(run, node, live, { status, error: { code: isForbidden ? 'forbidden' : 'invalid_arguments' } })
}

const RETURNS = [
  { status: 'ok', durationMs: 3 },
  { status: 'error', durationMs: 3, error: { code: 'tool_failed' } },
  { status: 'rate_limited', error: { code: 'rate_limited' } },
]

const comeBack = (run: SimulatedRun, node: Node, live: Live): void =>
  comeBackWith(run, node, live, pick(run.world.choose, RETURNS))

function comeBackWith(run: SimulatedRun, node: Node, live: Live, returned: object): void {
  const { callId, toolId, called } = live.using as NonNullable<Live['using']>
  const payload = { agentId: live.agentId, toolName: toolId, toolId, callId, ...returned }
  const secret = { position: 0, contents: 'c3', resultTokens: 5 }
  live.cause = run.emit('agent.toolReturned', node.id, payload, { cause: called, secret })
  live.now = 'between'
  live.input += 5
  delete live.using
}

function decideLive(run: SimulatedRun, node: Node, state: NodeState, live: Live): void {
  const { choose } = run.world
  const { agentId, brief, requested: cause } = live
  const isLead = node.typeId === SUPERVISOR
  if (chance(choose, 5))
    run.emit('envelope.recovery.applied', node.id, { nodeId: node.id, path: 'jsonrepair' }, { pass: 0, cause })
  const decision = isLead ? decideFor(run) : { text: 'well' }
  const sure = pick(choose, [{}, { confidence: 0.9 }, { confidence: 0.4 }])
  const decided = run.emit('agent.decided', node.id, { agentId, decision, ...sure }, { pass: 0, cause })
  const threshold = brief.threshold ?? run.threshold ?? 0.7
  const observed = 'confidence' in sure ? sure.confidence : 1
  if (isLead || observed >= threshold) return finish(run, node, state, decided, sure, decision)
  const facts = { agentId, threshold, observed }
  const data = { ...facts, decision }
  ask(run, node, state, { kind: 'low-confidence', data, suspended: { reason: 'low-confidence', ...facts } }, decided)
}

/** A person has looked at what the agent was not sure of. */
export function liveAnswered(run: SimulatedRun, node: Node, state: NodeState, { rejected, answeredAt }: Heard): void {
  const { live } = state
  if (!rejected) {
    const decided = run.events.findLast(({ type, nodeId }) => type === 'agent.decided' && nodeId === node.id)
    const { confidence } = (decided?.payload ?? {}) as { confidence?: number }
    const sure = confidence === undefined ? {} : { confidence }
    return finish(run, node, state, answeredAt, sure, { text: 'well' })
  }
  closeLive(run, node, state, 'escalated', answeredAt)
  if (live !== undefined) run.failAs(node, state, 'interrupt_rejected', answeredAt)
}

function finish(run: SimulatedRun, node: Node, state: NodeState, cause: number, sure: object, decision: object): void {
  const validated = state.live?.brief.checksResult === true ? { schemaValidated: true } : {}
  const closed = closeLive(run, node, state, 'completed', cause, { ...validated, ...sure })
  if (node.typeId === SUPERVISOR) return settleTurn(run, node, state, decision as Decision, closed)
  run.complete(node, { result: decision }, closed)
}

/** The last word of an invocation; a call that is under way is lost first. */
export function closeLive(
  run: SimulatedRun,
  node: Node,
  state: NodeState,
  outcome: string,
  cause: number,
  more: object = {},
): number {
  const { live } = state
  if (live === undefined) return cause
  if (live.now === 'thinking') lose(run, node, state, live)
  const { invocationId, agentId } = live
  delete state.live
  return run.emit(
    'agent.invocation.completed',
    node.id,
    { invocationId, agentId, outcome, ...more },
    { pass: 0, cause },
  )
}

/** Whatever ends the node ends its agent's work first. */
export function failLive(
  run: SimulatedRun,
  node: Node,
  state: NodeState,
  code: string,
  cause: number,
  retryable: boolean,
): void {
  const due = closeLive(run, node, state, 'failed', cause)
  if (retryable && run.mayRetry(node, state)) {
    const over = crossing(run, { retries: 1 })
    if (over?.dimension === 'retries') return exhaust(run, node.id, over, due)
    return run.retry(node.id, state, { code, message: 'again' }, due)
  }
  run.failAs(node, state, code, due)
}
