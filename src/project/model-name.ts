import type { ModelName } from '../core/invocation/brief.js'
import { Matching } from '../core/schema/kinds.js'

/** `provider:model`; a model's own name may have colons too. */
const MODEL_NAME = /^([a-z][a-z0-9-]{0,63}):([\x21-\x7e]{1,200})$/

export const ModelNameText = (description: string) =>
  Matching(MODEL_NAME, 'the name of a model', { description, 'x-must-be': 'PROVIDER:MODEL, such as openai:gpt-5-mini' })

export function modelNamed(text: string): ModelName | undefined {
  const [, provider, model] = MODEL_NAME.exec(text) ?? []
  return provider === undefined || model === undefined ? undefined : { provider, model }
}
