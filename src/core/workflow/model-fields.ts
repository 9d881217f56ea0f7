import type { InlineAgent, ModelNeeds } from '../invocation/brief.js'
import { isObject, type JsonObject, own } from '../json.js'
import { Closed, ListOf, Matching, May, NumberFrom, Whole } from '../schema/kinds.js'
import { PromptRefField, SomeText } from './fields.js'

/** What nodes say of the models and prompts they use. */

const Capability = Matching(/^[a-z][a-z0-9-]{0,127}$/, 'a capability of models, such as vision-input', {
  'x-must-be': 'a capability of models, such as vision-input',
})

const ModelOfProvider = Closed({
  provider: SomeText({ description: 'Whose model' }),
  model: SomeText({ description: 'Which one' }),
})

/** R-ENV-4, as manifests of nodes say it. */
export const NEEDS_FIELDS = {
  requiredModelCapabilities: May(
    ListOf(Capability, 0, 32, {
      description: 'What the model must have; what models have, `models.capabilities` says',
    }),
  ),
  fallbackModel: May({ ...ModelOfProvider, description: 'Is used where the model lacks some of that' }),
}

export function needsOf(
  { requiredModelCapabilities, fallbackModel }: JsonObject,
  more: readonly string[] = [],
): ModelNeeds {
  const named = Array.isArray(requiredModelCapabilities) ? requiredModelCapabilities.map(String) : []
  const needs = [...new Set([...more, ...named])]
  const { provider, model } = isObject(fallbackModel) ? fallbackModel : {}
  return {
    ...(needs.length > 0 ? { needs } : {}),
    ...(typeof provider === 'string' && typeof model === 'string' ? { fallback: { provider, model } } : {}),
  }
}

/** Where the prompts of a node come from, in the place of what lies below it (contract agents §16). */
export const PROMPT_FIELDS = {
  systemPromptRef: May(PromptRefField('In place of the system prompt of the agent')),
  userPromptRef: May(PromptRefField('Puts the task into words')),
  schemaHintPromptRef: May(PromptRefField('Puts the output schema into words')),
  fewShotPromptRefs: May(ListOf(PromptRefField('An example'), 0, 100, { description: 'Examples, in this order' })),
}

/** Those of these fields that the node has. */
export const picked = (config: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(
    names.flatMap(name => {
      const value = own(config, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** Of nodes that ask a model by themselves, without an agent of the catalogue. */
export const CALL_FIELDS = {
  provider: May(SomeText({ description: 'Whose model; with `model`' })),
  model: May(
    SomeText({
      description: 'Which model: its name beside `provider`, else PROVIDER:MODEL; by default the one that agents use',
    }),
  ),
  temperature: May(NumberFrom(0, 2, { description: 'How freely it answers' })),
  maxTokens: May(Whole(1, 10_000_000, { description: 'Tokens of the answer, in place of `models.maxOutputTokens`' })),
  retryOnInvalidJson: May(
    Whole(0, 13, {
      description: 'Times an answer that cannot be used is asked for again, beyond those of `models.maxRetries`',
    }),
  ),
  agentId: May(SomeText({ description: 'The agent whose prompts count where the node has none' })),
  systemPrompt: May(SomeText({ description: 'What the model is told first; `{{name}}` stands for an input' })),
  prompt: May(SomeText({ description: 'What it is asked; `{{name}}` stands for an input' })),
  ...PROMPT_FIELDS,
  ...NEEDS_FIELDS,
}

export const callProblems = ({ provider, model }: JsonObject): string[] =>
  provider !== undefined && model === undefined ? ['config.model must say which model of the provider is meant'] : []

export function inlineOf({ provider, model, temperature, maxTokens, retryOnInvalidJson }: JsonObject): InlineAgent {
  const name = typeof provider === 'string' ? `${provider}:${String(model)}` : model
  return {
    ...(typeof name === 'string' ? { model: name } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof maxTokens === 'number' ? { maxOutputTokens: maxTokens } : {}),
    ...(typeof retryOnInvalidJson === 'number' ? { moreRetries: retryOnInvalidJson } : {}),
  }
}
