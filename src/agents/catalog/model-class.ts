import type { ModelClass } from '../../core/invocation/brief.js'

/** What an AgentRef calls the class of a manifest: the protocol has two sets of names (contract agents D21). */
const SHOWN = {
  reasoning: 'reasoning',
  writing: 'chat',
  coding: 'code',
  research: 'chat',
  classification: 'classification',
  general: 'chat',
} as const satisfies { readonly [Class in ModelClass]: string }

export const shownModelClass = (modelClass: ModelClass): (typeof SHOWN)[ModelClass] => SHOWN[modelClass]
