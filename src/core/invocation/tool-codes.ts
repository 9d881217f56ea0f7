import type { Json } from '../json.js'

/** Why a tool call did not give a result. Told to the run, so a code says nothing of what the tool said. */
export const TOOL_CODES = {
  forbidden: 'Whoever the run acts for lacks a scope that the tool asks for; nothing was called',
  invalid_arguments: 'The arguments break the input schema of the tool; nothing was called',
  tool_outcome_unknown: 'Nobody waits for the call any more; it may have had its effect',
  tool_unknown: 'This host has no such tool any more; nothing was called',
  tool_unavailable: 'The tool cannot be reached now; nothing was called',
  tool_arguments_invalid: 'The arguments break the input schema that the tool has now; nothing was called',
  rate_limited: 'The principal has used up its calls of this tool for now; nothing was called',
  tool_refused: 'The tool does not do what it was asked, such as fetch a URL that is not allowed; nothing was called',
  tool_failed: 'The tool says that it failed',
  tool_timeout: 'The tool did not answer in time; the call may have had its effect',
  tool_cancelled: 'The call was taken back; it may have had its effect',
  tool_connection_lost: 'The tool went away during the call, which may have had its effect',
  tool_result_too_large: 'The result was too large to be read; the call may have had its effect',
  tool_withheld: 'A gate has not let the result pass; the call may have had its effect',
  tool_result_invalid: 'The result is not what tools may return, or breaks the output schema',
} as const

export type ToolCode = keyof typeof TOOL_CODES

/** As the protocol writes an error inside an event: its words are the host's own, never a model's or a tool's. */
export type ToolError = {
  readonly code: string
  readonly message: string
  readonly details?: { readonly [key: string]: Json }
}

/** R-TOOL-4: what a code is about stands in `details`. */
export function toolError(code: string, details?: ToolError['details']): ToolError {
  const message = Object.hasOwn(TOOL_CODES, code) ? TOOL_CODES[code as ToolCode] : 'The tool gave no result'
  return { code, message, ...(details === undefined ? {} : { details }) }
}
