import type { Brief, PromptResolution, PromptsTold } from '../core/invocation/brief.js'
import { isObject, type Json, type JsonObject, own } from '../core/json.js'
import { fieldsOf, type TeamMember } from '../core/supervisor/team.js'
import type { Bundle } from '../core/verification/bundle.js'
import type {
  AgentFailure,
  Agents,
  BriefContents,
  PrepareAgentRequest,
  ToolContentsOfBrief,
  ToolLacking,
} from '../engine/ports/agents.js'
import type { Ids } from '../engine/ports/clock.js'
import type { JournalDesk } from '../engine/ports/desk.js'
import type { Log } from '../engine/ports/log.js'
import type { SchemaChecker } from '../engine/ports/schema-checker.js'
import type { Today } from '../engine/ports/today.js'
import type { Secrets } from '../secrets/secrets.js'
import { type Actor, actorOf, nameOfPrompt, promptsOf } from './actor.js'
import type { Catalog } from './catalog/catalog.js'
import type { Models } from './models/models.js'
import { compositionOf, rubricHash, slotsOf, teamHash } from './prompts/compose.js'
import type { AgentPrompts } from './prompts/layers.js'
import { markOf } from './prompts/marks.js'
import { type ResolvedPrompts, resolvePrompts } from './prompts/resolve.js'
import { type AnswerForm, systemText } from './prompts/system-text.js'
import type { PromptProblem } from './prompts/template.js'
import { userText } from './prompts/user-text.js'
import { verifierRubric, verifierSystem, verifierUser } from './prompts/verifier-text.js'
import { type Remembered, remembered } from './remembered.js'
import type { ModelSettings } from './settings.js'
import { tokenBound } from './token-bound.js'
import type { HostTool } from './tools/host-tool.js'
import type { Tools } from './tools/tools.js'

export type BriefDeps = {
  readonly catalog: Pick<Catalog, 'get' | 'prompt'>
  readonly models: Pick<Models, 'choose' | 'priceOf' | 'toolName'>
  readonly tools: Pick<Tools, 'surface' | 'lacking'>
  readonly schemas: Pick<SchemaChecker, 'check'>
  readonly secrets: Pick<Secrets, 'redact'>
  readonly limits: Pick<ModelSettings, 'maxOutputTokens' | 'maxRounds' | 'maxRetries'>
  readonly ids: Pick<Ids, 'unique'>
  /** Without it no agent remembers anything. */
  readonly desk?: JournalDesk | undefined
  readonly log: Log
}

type Briefed = Awaited<ReturnType<Agents['prepare']>>

/** Makes everything ready for an invocation; calls no model and no tool. */
export function createBriefs(deps: BriefDeps): Agents['prepare'] {
  return async ask => {
    try {
      return await briefFor(deps, ask)
    } catch (error) {
      // Whatever it says may quote a task, so only its kind is told.
      const kind = error instanceof Error ? error.name : typeof error
      return failed('effect_failed', `the agent could not be made ready (${kind})`, true)
    }
  }
}

/** R-LIVE-2: model, prompts, tools, memory, task, in this order. */
async function briefFor(deps: BriefDeps, given: PrepareAgentRequest): Promise<Briefed> {
  const { catalog, models, tools, schemas, limits } = deps
  const ask = given.role === 'verifier' ? secluded(given) : given
  const { role, ai } = ask
  const actor = actorOf(ask.agent, role, catalog)
  if (actor === undefined) return unknownAgent(ask, catalog)

  // The run may name the model of an agent at work, never that of one that judges.
  const said = role === 'verifier' ? undefined : own(ai.agents ?? {}, actor.agentId)
  const modelClass = said?.modelClass ?? actor.modelClass
  const fixed = ask.fixed(modelClass)
  const chosen = models.choose({
    role,
    modelClass,
    ai,
    ...(said?.model !== undefined && { ownModel: said.model }),
    ...(actor.model !== undefined && { inlineModel: actor.model }),
    ...(fixed && { fixed }),
    ...neededOf(ask, actor),
  })
  if (!chosen.ok) return { ...failed(chosen.code, chosen.message), ...(chosen.lacks && { lacks: chosen.lacks }) }
  const price = models.priceOf(chosen.name)

  const prompts = promptsFor(deps, ask, actor)
  if (!prompts.ok) return failed(prompts.code, prompts.message)

  const surface = allowedOf(await tools.surface(actor.toolAllowlist, ask.signal), actor)
  if (surface.missing.length > 0) return lackingTools(await tools.lacking(surface.missing, ask.signal), surface.missing)
  const memory = await remembered(deps.desk, ask.seat, actor)
  if ('problem' in memory) return failed('memory_refused', memory.problem)
  const problem = actor.taskSchema && (await schemas.check(actor.taskSchema, ask.task, ask.tenant))
  const team = introduced(ask.team, catalog)
  const contents = contentsFor(deps, { ...ask, ...(team && { team }) }, actor, prompts, surface.tools, memory)
  const told: Brief = {
    agentId: actor.agentId,
    ...(actor.version !== undefined && { version: actor.version }),
    modelClass,
    ...chosen.name,
    ...toldOf(deps, prompts, contents),
    ...(role === 'verifier' && { promptHash: rubricHash(verifierRubric(prompts.system.prompt?.text ?? '')) }),
    ...(team && { teamHash: teamHash(team) }),
    tools: surface.tools.map(({ terms }) => terms),
    memoryBound: memory.bound,
    ...(memory.conversationRef !== undefined && { conversationRef: memory.conversationRef }),
    ...(problem !== undefined && { taskProblem: deps.secrets.redact.text(problem) }),
    checksResult: contents.returnSchema !== undefined,
    ...(actor.threshold !== undefined && { threshold: actor.threshold }),
    maxOutputTokens: ai.maxOutputTokens ?? actor.maxOutputTokens ?? limits.maxOutputTokens,
    maxRounds: limits.maxRounds,
    maxRetries: limits.maxRetries + (actor.moreRetries ?? 0),
    ...(price && { price }),
    ...(chosen.substituted && { substituted: chosen.substituted }),
    inputTokens: boundOf(contents),
  }
  return { ok: true, told, contents, ...(memory.read && { read: memory.read }) }
}

/** An agent that is given tools must be able to call them. */
function neededOf({ agent: { needs = [], fallback } }: PrepareAgentRequest, { toolAllowlist }: Actor) {
  const all = toolAllowlist.length > 0 ? [...new Set([...needs, 'function-calling'])] : needs
  return { ...(all.length > 0 && { needs: all }), ...(fallback && { fallback }) }
}

const toldOf = ({ secrets }: Pick<BriefDeps, 'secrets'>, prompts: ResolvedPrompts, sent: Texts): PromptsTold => ({
  prompts: slotsOf(prompts)
    .map(({ resolution }) => resolution)
    .filter(isWorthTelling),
  composed: compositionOf(prompts, sent, value => secrets.redact.json(value)),
})

/**
 * R-PROMPT-6: what an agent would be told today, by hash. The marks of a verifier are new each time, and whom a supervisor may
 * name is no prompt, and neither is what an agent remembers: of what these were sent only the parts are compared.
 */
export function createPromptsToday(deps: BriefDeps): Today['prompts'] {
  return (given, before) => {
    const team = introduced(given.team, deps.catalog)
    const ask = given.role === 'verifier' ? secluded(given) : { ...given, ...(team && { team }) }
    const actor = actorOf(ask.agent, ask.role, deps.catalog)
    const prompts = actor && promptsFor({ ...deps, log: SILENT }, ask, actor)
    if (actor === undefined || !prompts?.ok) return undefined
    const texts = textsFor(deps, ask, prompts, answerFormOf(ask, actor), before.tools.length > 0)
    const told = toldOf(deps, prompts, deps.secrets.redact.json(texts))
    const isSame = !before.memoryBound && (team && teamHash(team)) === before.teamHash
    const isComparable = ask.role !== 'verifier' && isSame
    return isComparable ? told : { ...told, composed: { ...told.composed, hash: before.composed.hash } }
  }
}

/** What is warned about was warned about then. */
const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** R-DWS-8 to R-DWS-12: nothing of any run reaches a verifier but its bundle, whatever the workflow or the host says. */
const secluded = ({
  transcript: _transcript,
  team: _team,
  seat: _seat,
  feedback: _feedback,
  ...ask
}: PrepareAgentRequest): PrepareAgentRequest => ({
  ...ask,
  prompts: { node: {}, workflow: {} },
  variables: { input: {} },
})

/** What agents are for, and what they take and make, is theirs to say. */
const introduced = (team: readonly TeamMember[] | undefined, catalog: Pick<Catalog, 'get'>) =>
  team?.map(member => {
    const agent = catalog.get(member.worker)
    if (agent === undefined) return member
    const { manifest, taskSchema, returnSchema } = agent
    const about = manifest.description ?? manifest.label ?? manifest.persona
    return { ...member, about, takes: fieldsOf(taskSchema), makes: fieldsOf(returnSchema) }
  })

/** Where there is no prompt of a kind, and need be none, nothing was resolved. */
const isWorthTelling = ({ kind, resolved }: PromptResolution): boolean => kind === 'system' || resolved !== null

/** R-PROMPT-3, R-PROMPT-7: a node may bind the prompts of another agent than the one that acts. */
function promptsFor(
  { catalog, log }: BriefDeps,
  ask: PrepareAgentRequest,
  actor: Actor,
): ResolvedPrompts | PromptProblem {
  const { node, workflow } = ask.prompts
  const { agentId } = actor
  const bound = typeof node.agentId === 'string' ? node.agentId : agentId
  const agent = bound === agentId ? actor.prompts : boundPrompts(bound, catalog)
  if (agent === undefined)
    log.warn({ agentId: bound, code: 'agent_binding_unresolvable' }, 'a node binds an unknown agent')
  const inline = inlineOf(node, agentId)
  const prompts = resolvePrompts({ node, inline, agent, workflow }, valuesOf(ask), catalog.prompt)
  const isInline = node.systemPromptRef !== undefined && ('inline' in ask.agent || inline.system !== undefined)
  if (isInline && prompts.ok && prompts.system.resolution.chain[0]?.applied) {
    log.warn(
      { agentId, code: 'prompt_ref_supersedes_inline' },
      'a prompt reference is used in place of an inline prompt',
    )
  }
  return prompts
}

function inlineOf({ systemPrompt, userPrompt }: JsonObject, agentId: string) {
  const named = (text: Json | undefined, kind: string) =>
    typeof text === 'string' ? { source: nameOfPrompt(agentId, undefined, kind), text } : undefined
  const [system, user] = [named(systemPrompt, 'system'), named(userPrompt, 'user')]
  return { ...(system && { system }), ...(user && { user }) }
}

function boundPrompts(agentId: string, catalog: Pick<Catalog, 'get'>): AgentPrompts | undefined {
  const agent = catalog.get(agentId)
  return agent && promptsOf(agent)
}

function valuesOf({ task, variables }: PrepareAgentRequest) {
  const part = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
  return { input: variables.input ?? task, variable: part(variables.variable), context: part(variables.context) }
}

/** R-TOOL-1, R-TOOL-2: whatever the source of tools answers, only what the allowlist names letter by letter is there. */
function allowedOf(tools: readonly HostTool[], { toolAllowlist }: Actor) {
  const allowed = new Map(tools.map(tool => [tool.terms.toolId, tool]))
  const wanted = [...new Set(toolAllowlist)].sort()
  return {
    tools: wanted.flatMap(toolId => allowed.get(toolId) ?? []),
    missing: wanted.filter(toolId => !allowed.has(toolId)),
  }
}

/** An agent does nothing without a tool that it was given: its answer would be taken for one that used it. */
function lackingTools(lacking: readonly ToolLacking[], missing: readonly string[]): AgentFailure {
  const unknown = lacking.find(({ why }) => why === 'unknown')
  if (unknown !== undefined) {
    const fix = unknown.close === undefined ? 'assay tools lists those there are' : `did you mean ${unknown.close}?`
    const message = `toolAllowlist names ${JSON.stringify(unknown.toolId)}, and there is no such tool here; ${fix}`
    return failed('unknown_tool', message)
  }
  const ids = missing.map(toolId => JSON.stringify(toolId)).join(', ')
  return failed('tool_unavailable', `the server of ${ids} does not answer; see that it runs`, true)
}

function contentsFor(
  deps: BriefDeps,
  ask: PrepareAgentRequest,
  actor: Actor,
  prompts: ResolvedPrompts,
  surface: readonly HostTool[],
  memory: Remembered,
): BriefContents {
  const answer = answerFormOf(ask, actor)
  const temperature = ask.ai.temperature ?? actor.temperature
  const contents: BriefContents = {
    ...textsFor(deps, ask, prompts, answer, surface.length > 0, memory),
    tools: toolsFor(surface, deps.models),
    ...(answer.form !== 'text' && answer.schema && { returnSchema: answer.schema }),
    wrapped: answer.form === 'wrapped',
    ...(temperature !== undefined && { temperature }),
  }
  return deps.secrets.redact.json(contents)
}

const textsFor = (
  { ids }: Pick<BriefDeps, 'ids'>,
  ask: PrepareAgentRequest,
  prompts: ResolvedPrompts,
  answer: AnswerForm,
  hasTools: boolean,
  memory?: Remembered,
): Texts =>
  ask.role === 'verifier'
    ? verifierTexts(ask, prompts, answer, ids)
    : workerTexts(ask, prompts, answer, hasTools, memory)

type Texts = Pick<BriefContents, 'system' | 'user' | 'canary'>

function workerTexts(
  { task, transcript, team, feedback }: PrepareAgentRequest,
  { system, user, fewShot, schemaHint }: ResolvedPrompts,
  answer: AnswerForm,
  hasTools: boolean,
  memory: Remembered | undefined,
): Texts {
  return {
    system: systemText(system.prompt?.text ?? '', schemaHint.prompt?.text, answer, hasTools),
    user: userText({
      examples: fewShot.flatMap(({ prompt }) => prompt?.text ?? []),
      prompt: user.prompt?.text,
      task,
      memory,
      transcript,
      team,
      feedback,
    }),
  }
}

/** The marks are kept with the texts: a call that is made again, on another host too, is about the same ones. */
function verifierTexts(
  { task }: PrepareAgentRequest,
  { system }: ResolvedPrompts,
  answer: AnswerForm,
  ids: BriefDeps['ids'],
): Texts {
  const marks = { nonce: markOf(ids.unique()), canary: markOf(ids.unique()) }
  return {
    system: verifierSystem(system.prompt?.text ?? '', marks, answer),
    user: verifierUser(task as unknown as Bundle, marks),
    canary: marks.canary,
  }
}

/** What the node demands wins; an agent that promises a result, or must say how sure it is, says both in one object. */
function answerFormOf({ role, returnSchema }: PrepareAgentRequest, actor: Actor): AnswerForm {
  // R-VERIFY-9: a verifier says how sure it is, besides what its gate demands.
  if (role === 'verifier') return { form: 'wrapped', ...(returnSchema && { schema: returnSchema }) }
  if (returnSchema !== undefined) return { form: 'exact', schema: returnSchema }
  if (actor.returnSchema !== undefined) return { form: 'wrapped', schema: actor.returnSchema }
  return { form: actor.threshold === undefined ? 'text' : 'wrapped' }
}

function toolsFor(surface: readonly HostTool[], models: BriefDeps['models']): readonly ToolContentsOfBrief[] {
  const taken = new Set<string>()
  return surface.map(({ terms: { toolId }, description, inputSchema }) => {
    const name = models.toolName(toolId, taken)
    taken.add(name)
    return { toolId, name, description, inputSchema }
  })
}

/** Providers put instructions of their own before tools and schemas; none says how long, none takes this much. */
const PROVIDERS_OWN = 1_024

const boundOf = ({ system, user, tools, returnSchema }: BriefContents): number =>
  PROVIDERS_OWN +
  tokenBound(
    system,
    user,
    ...tools.map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema })),
    ...(returnSchema === undefined ? [] : [JSON.stringify(returnSchema)]),
  )

function unknownAgent({ agent }: PrepareAgentRequest, catalog: Pick<Catalog, 'get'>): AgentFailure {
  const installed = catalog.get(agent.agentId)?.packVersion
  const id = JSON.stringify(agent.agentId)
  if (installed === undefined || !('version' in agent))
    return failed('unknown_agent', `there is no agent ${id} on this host`)
  return failed(
    'unknown_agent',
    `agent ${id} is installed in version ${installed}, not ${JSON.stringify(agent.version)}`,
  )
}

const failed = (code: string, message: string, retryable = false): AgentFailure => ({
  ok: false,
  code,
  message,
  retryable,
})
