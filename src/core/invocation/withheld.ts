import type { ToolResult, WithheldResult } from './state.js'
import { toolError } from './tool-codes.js'

/** UTF-8 takes at most three bytes for what JavaScript counts as one, and no text has more tokens than bytes. */
const TOKENS_PER_UNIT = 3
/** For the marks around it, which name the tool. */
const MARKS = 512

/**
 * What an agent is told in the place of what a tool has said: words of the host and keys of the gate, nothing of the
 * result.
 */
export function toldInstead({ code, withheld }: Extract<ToolResult, { code: string }>): string | undefined {
  if (withheld === undefined) return undefined
  const { gateId, failed } = withheld
  if (code !== 'tool_withheld')
    return `${code}: ${toolError(code).message}. What the tool itself says of it is not shown: it has not passed gate "${gateId}".`
  const which = failed.length > 0 ? ` (not met: ${failed.join(', ')})` : ''
  return `withheld by gate "${gateId}"${which}: the tool was called, and its result did not pass. Nothing of it may be used.`
}

/** The result in the place of the tool's own, and what it adds to the next request at most. */
export function withheldResult(code: string, withheld: WithheldResult): { result: ToolResult; tokens: number } {
  const result = { code, withheld }
  return { result, tokens: (toldInstead(result) ?? '').length * TOKENS_PER_UNIT + MARKS }
}
