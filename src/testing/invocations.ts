import type { Brief, ModelSaid, ToolReply, ToolTerms, ToolWanted, Usage } from '../core/invocation/brief.js'
import type { Json, JsonObject } from '../core/json.js'
import type { Effect } from '../core/run/effects.js'
import type { Recorded } from '../core/run/events.js'
import type { NodeSettings } from '../core/workflow/definition.js'
import { BRIEF, replyOf, type Said } from './agents.js'
import type { Scenario } from './given-when-then.js'
import type { Sketch } from './workflow.js'

/** An agent at work, by hand: what its brief, its model and its tools say is put to the run one by one. */

export const AGENT = 'local.test.agent'
export const HASH = 'a'.repeat(64)

type AgentNode = { readonly config?: JsonObject; readonly settings?: NodeSettings }

export const agentNode = ({ config = {}, settings }: AgentNode = {}) => ({
  type: 'core.agent',
  config: { agentId: AGENT, ...config },
  ...(settings ? { settings } : {}),
})

/** A workflow that is one agent, the node `a`. */
export const agentFlow = (node: AgentNode = {}, more: Partial<Sketch> = {}): Sketch => ({
  nodes: { a: agentNode(node) },
  ...more,
})

export const tool = (toolId: string, more: Partial<ToolTerms> = {}): ToolTerms => ({
  toolId,
  transport: 'mcp',
  repeat: 'safe',
  scopes: [],
  ...more,
})

export const answered = (result: Json = 'done', confidence?: number): ModelSaid => ({
  kind: 'answered',
  result,
  ...(confidence === undefined ? {} : { confidence }),
})

/** Calls by tool id, or as they are given. */
export const wants = (...calls: readonly (string | ToolWanted)[]): ModelSaid => ({
  kind: 'tools',
  calls: calls.map(call => (typeof call === 'string' ? { toolId: call, argsHash: HASH } : call)),
})

/** What the run is owed of that kind by that node; undefined when it is not. */
export const owedTo = <Kind extends Effect['kind']>(run: Scenario, kind: Kind, nodeId = 'a') =>
  run.owed.find(effect => effect.kind === kind && 'nodeId' in effect && effect.nodeId === nodeId) as
    | Extract<Effect, { kind: Kind }>
    | undefined

const due = <Kind extends Effect['kind']>(run: Scenario, kind: Kind, nodeId: string) => {
  const effect = owedTo(run, kind, nodeId)
  if (!effect) throw new Error(`no ${kind} is owed to ${nodeId}; owed: ${run.owed.map(owed => owed.kind).join(', ')}`)
  return effect
}

/** The agent has been found, with what differs from `BRIEF`. */
export function briefs(run: Scenario, brief: Partial<Brief> = {}, nodeId = 'a'): Scenario {
  const { since, wait } = due(run, 'prepare-agent', nodeId)
  const told = { ...BRIEF, agentId: wait.agent.agentId, ...brief }
  return run.when({
    type: 'AgentBriefed',
    nodeId,
    since,
    answer: { ok: true, brief: told, contents: `brief-${nodeId}` },
  })
}

/** The model says something to the call that is under way. */
export function says(run: Scenario, said: ModelSaid | Said, nodeId = 'a'): Scenario {
  const { since, call } = due(run, 'call-model', nodeId)
  const reply = replyOf('said' in said ? said : { said })
  return run.when({
    type: 'ModelAnswered',
    nodeId,
    since,
    call,
    answer: { ok: true, reply, contents: `thought-${nodeId}-${call}` },
  })
}

type Break = { readonly retryable?: boolean; readonly usage?: Usage; readonly code?: string }

/** The call breaks off. */
export function breaks(run: Scenario, { retryable = true, usage, code = 'model_failed' }: Break = {}, nodeId = 'a') {
  const { since, call } = due(run, 'call-model', nodeId)
  const error = { code, message: 'it broke', retryable }
  return run.when({
    type: 'ModelAnswered',
    nodeId,
    since,
    call,
    answer: { ok: false, error, ...(usage ? { usage } : {}) },
  })
}

/** The host that made the call is gone. */
export function loses(run: Scenario, nodeId = 'a'): Scenario {
  const { since, call, attempt } = due(run, 'call-model', nodeId)
  return run.when({ type: 'ModelLost', nodeId, since, call, attempt })
}

export function reasons(run: Scenario, sequence: number, delta = `piece ${sequence}`, nodeId = 'a'): Scenario {
  const { since, call, attempt } = due(run, 'call-model', nodeId)
  return run.when({ type: 'ModelReasoned', nodeId, since, call, attempt, sequence, delta })
}

/** The tool that is being used returns; `result` is what a gate is to see of it. */
export function returns(run: Scenario, reply: Partial<ToolReply> = {}, nodeId = 'a', result?: Json): Scenario {
  const { since, call, position } = due(run, 'call-tool', nodeId)
  const told = { status: 'ok' as const, durationMs: 7, resultTokens: 30, ...reply }
  return run.when({
    type: 'ToolAnswered',
    nodeId,
    since,
    call,
    position,
    answer: {
      ok: true,
      reply: told,
      contents: `result-${nodeId}-${call}-${position}`,
      ...(result === undefined ? {} : { result }),
    },
  })
}

/** The tool fails in a way that nobody can go on from. */
export function toolFails(run: Scenario, code: string, retryable = false, nodeId = 'a'): Scenario {
  const { since, call, position } = due(run, 'call-tool', nodeId)
  const error = { code, message: 'nobody knows', retryable }
  return run.when({ type: 'ToolAnswered', nodeId, since, call, position, answer: { ok: false, error } })
}

/** A run of one agent that has its brief. */
export const atWork = (run: Scenario, brief: Partial<Brief> = {}, configurable?: JsonObject): Scenario =>
  briefs(run.start({}, configurable), brief)

export const eventsOf = <Type extends Recorded['type']>(run: Scenario, type: Type) =>
  run.log.filter((event): event is Extract<Recorded, { type: Type }> => event.type === type)

/** One line per event with the type and node of its cause, from `from` on. */
export const story = (run: Scenario, from = 0): string[] =>
  run.log.slice(from).map(({ type, cause }) => (cause === undefined ? type : `${type} < ${run.log[cause]!.type}`))
