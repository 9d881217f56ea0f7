import { Type } from 'typebox'
import { isObject, type Json, type JsonObject } from '../json.js'
import type { Failure } from '../problem.js'
import { Closed, ListOf, May, NumberFrom, Text } from '../schema/kinds.js'
import { schemaProblems } from '../schema/problems.js'
import { Anything, Cel, SomeText, Timeout } from '../workflow/fields.js'
import type { NodeContext, Permit } from '../workflow/node-type.js'
import { DecisionSchema, type OrchestratorDecision } from './decision.js'

/** Where a supervisor's decisions come from (contract agents §3.3). */
const SCRIPTS = ['mockDispatchPlan', 'mockDecisions']
const MOCKS = [...SCRIPTS, 'mockConfidence', 'mockPendingDecision']

/** Drives a supervisor that nothing else does, in conformance mode only: registration refuses it elsewhere. */
export const BUILT_IN_PLAN: readonly (OrchestratorDecision & JsonObject)[] = [
  { kind: 'next-worker', nextWorkerIds: ['conformance-noop'] },
  { kind: 'terminate' },
]

export const isScripted = (config: JsonObject): boolean => MOCKS.some(name => config[name] !== undefined)

const Script = (description: string) => May(ListOf(DecisionSchema, 0, 10_000, { description }))

const PromptText = Type.String({ pattern: '\\S', 'x-must-be': 'the text that tells the supervisor how to decide' })

export const SupervisorConfig = Closed({
  prompt: May(Anything({ description: 'Text that tells a model how to decide; a provider is given whatever it is' })),
  model: May(SomeText({ description: 'The model that decides: provider:model, such as openai:gpt-5-mini' })),
  toolAllowlist: May(ListOf(SomeText(), 0, 1_000, { description: 'Ids of tools that it may use' })),
  agentId: May(Text(256, { description: 'The agent that decides, in place of prompt; or who the supervisor is' })),
  rules: May(
    ListOf(
      Closed({
        when: May(Cel('Whether the rule applies to this turn; `iteration`, `workers` and `answer` can be read too')),
        decide: DecisionSchema,
      }),
      1,
      1_000,
      { description: 'The first that applies decides; the last has no when' },
    ),
  ),
  provider: May(SomeText({ description: 'Somebody configured on the host who decides' })),
  timeoutMs: May(Timeout('How long a person may take who is asked')),
  mockDispatchPlan: Script('For conformance runs: one decision each turn'),
  mockDecisions: Script('The same under another name'),
  mockConfidence: May(NumberFrom(0, 1, { description: 'For conformance runs: how sure it is of mockPendingDecision' })),
  mockPendingDecision: May(DecisionSchema),
})

/** What is wrong with the sources in a supervisor's configuration; each entry names the field and the fix. */
export function sourceProblems(config: JsonObject, permit: Permit): string[] {
  const problems = [...scriptProblems(config, permit), ...ruleProblems(config.rules)]
  const { prompt, agentId, provider, model } = config
  if (typeof provider === 'string' && permit.providers?.has(provider) === false)
    problems.push(`config.provider "${provider}" is not configured on this host; name one that is, or use rules`)
  if (isAgent(config) && prompt !== undefined) problems.push(...schemaProblems(PromptText, prompt, 'config.prompt'))
  if (isAgent(config) && prompt !== undefined && agentId !== undefined)
    problems.push('config has prompt and agentId; keep one of them')
  if (isAgent(config) && typeof model === 'string' && !model.includes(':'))
    problems.push(`config.model must be provider:model, such as openai:gpt-5-mini; got ${JSON.stringify(model)}`)
  const sources = [isScripted(config), config.rules !== undefined, provider !== undefined, isAgent(config)].filter(
    Boolean,
  ).length
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

/** R-ORCH-11 */
function scriptProblems(config: JsonObject, { mocks }: Permit): string[] {
  const [given] = MOCKS.filter(name => config[name] !== undefined)
  if (given !== undefined && !mocks)
    return [
      `config.${given} is for conformance runs only; use config.rules, name the workflow conformance-… or start the host with --conformance`,
    ]
  const { mockConfidence, mockPendingDecision } = config
  return (mockConfidence === undefined) === (mockPendingDecision === undefined)
    ? []
    : ['config.mockConfidence and config.mockPendingDecision belong together; give both or neither']
}

function ruleProblems(rules: Json | undefined): string[] {
  const last = Array.isArray(rules) ? rules.at(-1) : undefined
  return isObject(last) && last.when !== undefined
    ? [
        `config.rules[${(rules as readonly Json[]).length - 1}] is the last and must have no when, so that every turn has a decision`,
      ]
    : []
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
