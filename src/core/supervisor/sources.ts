import { timeoutProblems } from '../interrupt/interrupt.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import type { Failure } from '../problem.js'
import type { NodeContext, Permit } from '../workflow/node-type.js'
import { decisionProblems, type OrchestratorDecision } from './decision.js'

/** Where a supervisor's decisions come from (contract agents §3.3). */
const SCRIPTS = ['mockDispatchPlan', 'mockDecisions']
const MOCKS = [...SCRIPTS, 'mockConfidence', 'mockPendingDecision']

/** Drives a supervisor that nothing else does, in conformance mode only: registration refuses it elsewhere. */
export const BUILT_IN_PLAN: readonly (OrchestratorDecision & JsonObject)[] = [
  { kind: 'next-worker', nextWorkerIds: ['conformance-noop'] },
  { kind: 'terminate' },
]

export const isScripted = (config: JsonObject): boolean => MOCKS.some(name => config[name] !== undefined)

/** Everything wrong with the sources in a supervisor's configuration; each entry names the field and the fix. */
export function sourceProblems(config: JsonObject, permit: Permit): string[] {
  const problems = [...scriptProblems(config, permit), ...ruleProblems(config.rules), ...timeoutProblems(config)]
  if (config.provider !== undefined && (typeof config.provider !== 'string' || config.provider === ''))
    problems.push('config.provider must name who decides')
  else if (typeof config.provider === 'string' && permit.providers?.has(config.provider) === false)
    problems.push(`config.provider "${config.provider}" is not configured on this host; name one that is, or use rules`)
  if (isAgent(config)) problems.push(...agentProblems(config))
  const sources = [
    isScripted(config),
    config.rules !== undefined,
    config.provider !== undefined,
    isAgent(config),
  ].filter(Boolean).length
  if (sources > 1)
    problems.push('config has more than one source of decisions; keep prompt, agentId, rules, provider or the script')
  if (sources === 0 && !permit.builtInPlan)
    problems.push(
      'config has no source of decisions; give config.prompt, config.agentId, config.rules or config.provider',
    )
  return problems
}

/** A supervisor whose decisions a model makes: an agent of the catalogue, or one that the node describes. */
export const isAgent = (config: JsonObject): boolean =>
  config.agentId !== undefined || (config.prompt !== undefined && config.provider === undefined)

function agentProblems(config: JsonObject): string[] {
  const { prompt, agentId, model, toolAllowlist } = config
  const isText = (value: Json | undefined) => value === undefined || (typeof value === 'string' && value.trim() !== '')
  const isList =
    toolAllowlist === undefined ||
    (Array.isArray(toolAllowlist) && toolAllowlist.every(item => typeof item === 'string' && item !== ''))
  return [
    ...(isText(prompt) ? [] : ['config.prompt must be the text that tells the supervisor how to decide']),
    ...(isText(agentId) ? [] : ['config.agentId must name an agent']),
    ...(prompt !== undefined && agentId !== undefined ? ['config has prompt and agentId; keep one of them'] : []),
    ...(isText(model) && (model === undefined || (model as string).includes(':'))
      ? []
      : ['config.model must be provider:model, such as openai:gpt-5-mini']),
    ...(isList ? [] : ['config.toolAllowlist must be a list of tool ids']),
  ]
}

/** R-ORCH-11 */
function scriptProblems(config: JsonObject, { mocks }: Permit): string[] {
  const given = MOCKS.filter(name => config[name] !== undefined)
  if (given.length > 0 && !mocks)
    return [
      `config.${given[0]} is for conformance runs only; use config.rules, name the workflow conformance-… or start the host with --conformance`,
    ]
  const scripts = SCRIPTS.flatMap(name => {
    const script = config[name]
    if (script === undefined) return []
    if (!Array.isArray(script)) return [`config.${name} must be a list of decisions`]
    return script.flatMap((decision: Json, i) => decisionProblems(decision, `config.${name}[${i}]`))
  })
  const { mockConfidence, mockPendingDecision } = config
  if (mockConfidence === undefined && mockPendingDecision === undefined) return scripts
  const isShare = typeof mockConfidence === 'number' && mockConfidence >= 0 && mockConfidence <= 1
  return [
    ...scripts,
    ...(isShare ? [] : ['config.mockConfidence must be a number from 0 to 1, with config.mockPendingDecision']),
    ...decisionProblems(mockPendingDecision, 'config.mockPendingDecision'),
  ]
}

function ruleProblems(rules: Json | undefined): string[] {
  if (rules === undefined) return []
  if (!Array.isArray(rules) || rules.length === 0) return ['config.rules must be a list of {when, decide}']
  const problems = rules.flatMap((rule: Json, i) => {
    const field = `config.rules[${i}]`
    if (!isObject(rule)) return [`${field} must be {when, decide}`]
    const unknown = Object.keys(rule).filter(name => name !== 'when' && name !== 'decide')
    return [
      ...unknown.map(name => `${field}.${name} is not known; a rule has when and decide`),
      ...(rule.when === undefined || typeof rule.when === 'string' ? [] : [`${field}.when must be a CEL expression`]),
      ...decisionProblems(rule.decide, `${field}.decide`),
    ]
  })
  const last = rules.at(-1)
  if (isObject(last) && last.when !== undefined)
    problems.push(
      `config.rules[${rules.length - 1}] is the last and must have no when, so that every turn has a decision`,
    )
  return problems
}

const nameOf = (rule: number): string => `rules[${rule}].when`

export function ruleExpressions({ rules }: JsonObject): { readonly [name: string]: string } {
  if (!Array.isArray(rules)) return {}
  const texts = rules.flatMap((rule: Json, i) =>
    isObject(rule) && typeof rule.when === 'string' ? [[nameOf(i), rule.when]] : [],
  )
  return Object.fromEntries(texts)
}

type Found =
  | { readonly ok: true; readonly decision: OrchestratorDecision & JsonObject }
  | { readonly ok: false; readonly error: Failure }

/** The decision of the first rule that applies to this turn. */
export function ruleFor(ctx: NodeContext, iteration: number): Found {
  const { orchestrator, config } = ctx
  const rules = config.rules as readonly {
    readonly when?: string
    readonly decide: OrchestratorDecision & JsonObject
  }[]
  const scope = ctx.scopeWith({
    iteration,
    workers: orchestrator?.workers ?? [],
    answer: orchestrator?.answer ?? null,
  })
  for (const [i, { when, decide }] of rules.entries()) {
    if (when === undefined) return { ok: true, decision: decide }
    const result = ctx.expression(nameOf(i)).evaluate(scope)
    if (!result.ok) {
      const message = `config.${nameOf(i)}: ${result.error.message}`
      return { ok: false, error: { ...result.error, message } }
    }
    if (result.value === true) return { ok: true, decision: decide }
  }
  throw new Error('the last rule of a supervisor always applies')
}
