import { own } from '../json.js'
import type { ModelName } from './brief.js'

/** What a model has of which nobody has said what it has: the host asks for values that fit, and for tools, itself. */
const ASSUMED: readonly string[] = ['structured-output', 'function-calling']

/** What is told of models by `provider:model`, or of all of a provider by `provider:*`. */
export const ofModel = <T>({ provider, model }: ModelName, told: { readonly [model: string]: T }): T | undefined =>
  own(told, `${provider}:${model}`) ?? own(told, `${provider}:*`)

/** R-ENV-4: what a model has, as the operator says. */
export const capabilitiesOf = (
  name: ModelName,
  capabilities: { readonly [model: string]: readonly string[] },
): readonly string[] => ofModel(name, capabilities) ?? ASSUMED
