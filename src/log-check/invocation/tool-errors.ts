import { get, isFields } from '../json.js'

/** The sentence that goes with each code (docs/contract/agents.md, R-TOOL-4): no word of it is a model's or a tool's. */
const SENTENCES: ReadonlyMap<unknown, string> = new Map([
  ['forbidden', 'Whoever the run acts for lacks a scope that the tool asks for; nothing was called'],
  ['invalid_arguments', 'The arguments break the input schema of the tool; nothing was called'],
  ['tool_outcome_unknown', 'Nobody waits for the call any more; it may have had its effect'],
  ['tool_unknown', 'This host has no such tool any more; nothing was called'],
  ['tool_unavailable', 'The tool cannot be reached now; nothing was called'],
  ['tool_arguments_invalid', 'The arguments break the input schema that the tool has now; nothing was called'],
  ['rate_limited', 'The principal has used up its calls of this tool for now; nothing was called'],
  [
    'tool_refused',
    'The tool does not do what it was asked, such as fetch a URL that is not allowed; nothing was called',
  ],
  ['tool_failed', 'The tool says that it failed'],
  ['tool_timeout', 'The tool did not answer in time; the call may have had its effect'],
  ['tool_cancelled', 'The call was taken back; it may have had its effect'],
  ['tool_connection_lost', 'The tool went away during the call, which may have had its effect'],
  ['tool_result_too_large', 'The result was too large to be read; the call may have had its effect'],
  ['tool_result_invalid', 'The result is not what tools may return, or breaks the output schema'],
])
const UNLISTED = 'The tool gave no result'
/** What a code may be about: ids and numbers. */
const DETAILS: readonly string[] = ['scope', 'toolName', 'requiredScopes', 'retryAfterMs']

/** What is wrong with the error of a live agent's tool. */
export function toolErrorProblems(error: unknown): string[] {
  if (!isFields(error)) return ['its error is no object']
  const problems = Object.keys(error)
    .filter(key => !['code', 'message', 'details'].includes(key))
    .map(key => `its error has ${key} beside its code`)
  if (get(error, 'message') !== (SENTENCES.get(get(error, 'code')) ?? UNLISTED))
    problems.push('the message of its error is not the one of its code')
  for (const key of Object.keys(get(error, 'details') ?? {}))
    if (!DETAILS.includes(key)) problems.push(`the details of its error have ${key}`)
  return problems
}

/** R-TOOL-4: a call that was forbidden says which scopes it would have taken. */
export function forbiddenProblems(error: unknown, toolName: unknown): string[] {
  const details = get(error, 'details')
  const isTold = get(details, 'scope') === 'tool' && get(details, 'toolName') === toolName
  return isTold && Array.isArray(get(details, 'requiredScopes')) ? [] : ['forbidden without saying what it would take']
}
