import type { Transcript } from '../../client/wire-shapes.js'

type Entry = Transcript['entries'][number]

/** One entry of a transcript: a line that says what it is, and what was said under it. */
export function transcriptLines(entry: Entry): string[] {
  const { sequence, nodeId, is } = entry
  const head = [`${sequence} ${nodeId}`, is, ...about(entry)].join(' · ')
  const why = entry.missing === undefined ? [] : [`  (${WHY[entry.missing]})`]
  return [head, ...why, ...bodyOf(entry)]
}

const WHY: { readonly [Why in NonNullable<Entry['missing']>]: string } = {
  gated: 'a gate stands before it: a key with artifacts:read is shown it',
  sensitive: 'it carries what the workflow declares sensitive, which nobody is shown',
  purged: 'no longer kept: its time was over',
  erased: 'erased with its tenant',
  unreadable: 'sealed with a data key that the server does not have',
}

function about(entry: Entry): string[] {
  const { agentId, provider, model, call, attempt, inputTokens, outputTokens, toolId, status, reason, outcome } = entry
  const { cacheReadTokens, cached, retries, costUsd, durationMs } = entry
  const parts = [
    agentId,
    model && `${provider}:${model}`,
    call === undefined ? undefined : `call ${call}${(attempt ?? 1) > 1 ? `, attempt ${attempt}` : ''}`,
    inputTokens === undefined ? undefined : `${inputTokens} tokens in, ${outputTokens} out`,
    cacheReadTokens ? `${cacheReadTokens} of them cached` : undefined,
    cached ? 'an answer from before' : undefined,
    costUsd === undefined ? undefined : costUsd === null ? 'cost unknown' : `$${costUsd}`,
    retries ? `${retries} retries` : undefined,
    toolId,
    status,
    durationMs === undefined ? undefined : `${durationMs} ms`,
    reason,
    outcome,
  ]
  return parts.filter(part => part !== undefined && part !== '') as string[]
}

function bodyOf(entry: Entry): string[] {
  const { system, user, tools = [], returnSchema, text, calls = [], violation, problem, args, error } = entry
  return [
    ...titled('system', system),
    ...titled('user', user),
    ...titled('tools', tools.map(({ toolId }) => toolId).join(', ')),
    ...titled('answer schema', returnSchema === undefined ? '' : JSON.stringify(returnSchema)),
    ...titled('', text),
    ...calls.flatMap(({ toolId, name, args: given, problem: wrong, violation: broken }) => [
      `  calls ${toolId ?? name} ${JSON.stringify(given)}`,
      ...(broken ? brokenLines(broken) : titled('wrong', wrong)),
    ]),
    ...(violation ? brokenLines(violation) : titled('wrong', problem)),
    ...titled('arguments', args === undefined ? '' : JSON.stringify(args)),
    ...titled('error', error === undefined ? '' : JSON.stringify(error)),
  ]
}

const brokenLines = ({ field, rule, value }: NonNullable<Entry['violation']>): string[] => [
  `  wrong: ${field} ${rule}`,
  ...titled('there is', value),
]

function titled(title: string, text: string | undefined): string[] {
  if (text === undefined || text === '') return []
  const lines = text.split('\n').map(line => `    ${line}`)
  return title === '' ? lines : [`  ${title}:`, ...lines]
}
