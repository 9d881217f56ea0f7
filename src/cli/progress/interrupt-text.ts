import type { AskedInterrupt, Fields } from '../../client/wire-shapes.js'
import { isObject, type Json } from '../../core/json.js'
import { spanText } from '../terminal/span.js'
import { printable } from '../terminal/terminal.js'

/** How an interrupt reads to a person: what is asked, what may be answered, and with which command. */

export type Question = { readonly id: string; readonly question: string; readonly schema?: Fields }

export const questionsOf = (data: Fields): readonly Question[] =>
  (Array.isArray(data.questions) ? data.questions : []).filter(
    (one): one is Question => typeof one?.id === 'string' && typeof one.question === 'string',
  )

export const actionsOf = (data: Fields): readonly string[] =>
  (Array.isArray(data.actions) ? data.actions : []).filter((one): one is string => typeof one === 'string')

/** What is asked, in one line. */
export function headline(kind: string, data: Fields): string {
  const text = (name: string): string => (typeof data[name] === 'string' ? data[name] : '')
  switch (kind) {
    case 'approval':
      return text('title') || text('artifactId')
    case 'clarification': {
      const [first, ...others] = questionsOf(data)
      return `${first?.question ?? ''}${others.length > 0 ? ` (and ${others.length} more)` : ''}`
    }
    case 'external-event':
      return `the event ${text('eventType')}`
    case 'low-confidence':
      return `${text('agentId')} is sure to ${data.observed}; ${data.threshold} is needed`
    default:
      return text('customKind')
  }
}

/** Everything that is shown to whoever answers. */
export function describeInterrupt(interrupt: AskedInterrupt, now: number): string[] {
  const { kind, data, resumeSchema, requestedAt, expiresAt } = interrupt
  const rows: (readonly [name: string, value: string | undefined])[] = [
    ['run', `${interrupt.runId} (${interrupt.workflowId})`],
    ['node', interrupt.nodeId],
    ['kind', kind],
    ['asked', `${requestedAt}, ${spanText(now - Date.parse(requestedAt))} ago`],
    ['expires', expiresAt === undefined ? undefined : `${expiresAt}, ${expiryText(expiresAt, now)}`],
    ['votes', votesText(interrupt)],
    ['shown', interrupt.shownHash],
  ]
  return [
    ...rows.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(10)} ${printable(value)}`])),
    ...shownLines(kind, data),
    ...(resumeSchema === undefined ? [] : section('the answer must fit', resumeSchema)),
    'to answer:',
    ...answerCommands(interrupt).map(command => `  ${command}`),
  ]
}

/** How far a quorum has come. */
function votesText({ requiredApprovals, votes = [] }: AskedInterrupt): string | undefined {
  if (requiredApprovals === undefined) return undefined
  const cast = votes.map(({ voter, action }) => `${voter} ${action}`)
  return `${cast.join(', ') || 'none yet'}; ${requiredApprovals} must accept`
}

export function expiryText(expiresAt: string, now: number): string {
  const left = Date.parse(expiresAt) - now
  return left > 0 ? `in ${spanText(left)}` : 'over'
}

/** The data itself: what a person decides about, in full. */
export function shownLines(kind: string, data: Fields): string[] {
  const lines = [`${printable(headline(kind, data))}`]
  if (kind === 'clarification') {
    for (const { id, question, schema } of questionsOf(data))
      lines.push(`  ${printable(id)}: ${printable(question)}${schema === undefined ? '' : ` ${schemaHint(schema)}`}`)
  }
  const told = kind === 'clarification' ? ['questions'] : kind === 'approval' ? ['title'] : []
  for (const [name, value] of Object.entries(data)) if (!told.includes(name)) lines.push(...section(name, value))
  return ['', ...lines, '']
}

const SHORT = 80

/** Text keeps its lines; anything else is JSON. Each line is made harmless by itself. */
function section(name: string, value: unknown): string[] {
  const brief = JSON.stringify(value)
  const text = typeof value === 'string' ? value : brief.length <= SHORT ? brief : JSON.stringify(value, null, 2)
  const lines = text.split(/\r?\n/).map(printable)
  return lines.length === 1
    ? [`  ${printable(name)}: ${lines[0]}`]
    : [`  ${printable(name)}:`, ...lines.map(line => `    ${line}`)]
}

export const schemaHint = (schema: Fields): string => printable(`(${JSON.stringify(schema)})`)

/** The commands that answer, the plainest first. */
export function answerCommands({ runId, nodeId, kind, data }: AskedInterrupt): string[] {
  const command = `assay interrupts resolve ${shellWord(runId)} ${shellWord(nodeId)}`
  if (kind === 'approval') return actionsOf(data).flatMap(action => approvalFlags(action, command, data))
  if (kind === 'clarification') {
    return [
      `${command} ${questionsOf(data)
        .map(({ id }) => `--answer ${shellWord(`${id}=…`)}`)
        .join(' ')}`,
    ]
  }
  if (isDoubted(kind, data)) return DOUBT_ANSWERS.map(answer => `${command} --value ${shellWord(answer)}`)
  const correlation = isObject(data.correlation) ? data.correlation : undefined
  return [`${command} --value ${shellWord(JSON.stringify(correlation ?? {}))}`]
}

/** A decision that its maker was not sure enough of, put to a person by a kind that has no flags of its own. */
const isDoubted = (kind: string, { payload }: Fields): boolean =>
  kind === 'low-confidence' ||
  (kind === 'custom' && isObject(payload as Json) && Object.hasOwn(Object(payload), 'decision'))

const DOUBT_ANSWERS = [
  '{"action":"accept"}',
  '{"action":"reject"}',
  '{"action":"edit-accept","editedArtifactData":{…}}',
]

/** A run that has used up its budget needs to be told how much more it may spend. */
const added = ({ artifactType, setting, leastDelta }: Fields): string =>
  artifactType === 'budget' ? ` --add ${shellWord(`${setting}=${leastDelta}`)}` : ''

function approvalFlags(action: string, command: string, data: Fields): string[] {
  const flags: { readonly [action: string]: string } = {
    accept: `--accept${added(data)}`,
    reject: "--reject --feedback 'why'",
    refine: "--refine 'what to change'",
    'edit-accept': '--edit @file.json',
    ask: `--value '{"action":"ask","question":"…"}'`,
  }
  return flags[action] === undefined ? [] : [`${command} ${flags[action]}`]
}

/** A word as a POSIX shell reads it back. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./…-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", `'\\''`)}'`

/** An answer is text, unless the question's schema wants something that is not. */
export function answerFrom({ schema }: Question, text: string): Json {
  if (schema === undefined || schema.type === 'string') return text
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}
