import type { ToolTerms } from '../../core/invocation/brief.js'
import { own } from '../../core/json.js'
import { isNamed } from '../../core/names.js'
import type { RepeatPolicy } from '../../core/run/events.js'
import type { ToolSettings } from '../settings.js'

/** What a tool says of itself, unless the operator's rule for it says otherwise. */
export function termsOf(
  toolId: string,
  transport: ToolTerms['transport'],
  said: { readonly repeat: RepeatPolicy; readonly scopes?: readonly string[] },
  rules: ToolSettings['rules'],
): ToolTerms {
  const rule = own(rules, toolId)
  return { toolId, transport, repeat: rule?.repeat ?? said.repeat, scopes: rule?.scopes ?? said.scopes ?? [] }
}

/** The part of an id after its scope: what protocols and file systems agree on, with no look-alikes (R-TOOL-2). */
export const isToolName = (name: string): boolean => isNamed('toolName', name)
