import type { PromptKind } from '../../core/invocation/brief.js'
import { refText } from './ref.js'
import type { PromptTemplate } from './template.js'

/** The library of the prompts that come with the host. */
export const HOST_LIBRARY = 'assay'

export const HOST_PROMPTS: readonly PromptTemplate[] = [
  {
    templateId: 'assay.default-system',
    version: '1.0.0',
    kind: 'system',
    name: 'A careful assistant',
    description: 'For an agent to which nobody has given a system prompt',
    text: 'You are a careful assistant. Do exactly the task you are given. Say so when you cannot, or are not sure.',
  },
]

/** The last layer of resolution, by kind. */
export const HOST_DEFAULTS: { readonly [Kind in PromptKind]?: string } = Object.fromEntries(
  HOST_PROMPTS.map(template => [template.kind, refText(template)]),
)
