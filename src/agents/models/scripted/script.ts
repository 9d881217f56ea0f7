import { parse } from 'yaml'
import type { ModelRole } from '../../../core/invocation/brief.js'
import { isObject, type Json, type JsonObject } from '../../../core/json.js'

const MODEL_ROLES: readonly ModelRole[] = ['worker', 'supervisor', 'verifier']

/** One line of a script: to whom it applies, and what is said. See docs/guides/scripted-model.md. */
export type ScriptEntry = {
  readonly agent?: string
  readonly role?: ModelRole
  /** 1 is the first request of a conversation. */
  readonly round?: number
  /** All of them are in what the model was told. */
  readonly contains: readonly string[]
  /** So often in one conversation at most. */
  readonly times?: number
  readonly reply: ScriptReply
}

export type ScriptReply = {
  readonly said:
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'json'; readonly json: Json }
    | { readonly kind: 'tools'; readonly tools: readonly { readonly tool: string; readonly args: JsonObject }[] }
    | { readonly kind: 'refuse' }
    | { readonly kind: 'truncate'; readonly text: string }
    /** Said as it is, whatever was asked for. */
    | { readonly kind: 'invalid'; readonly text: string }
    | { readonly kind: 'fail'; readonly status: number }
  readonly reasoning?: string
  readonly confidence?: number
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
  /** How long it thinks before it says it. */
  readonly takesMs?: number
}

export type Script =
  | { readonly ok: true; readonly entries: readonly ScriptEntry[] }
  | { readonly ok: false; readonly problem: string }

export function parseScript(text: string): Script {
  try {
    const value = parse(text) as Json
    if (!Array.isArray(value)) return { ok: false, problem: 'the script must be a list of entries' }
    return { ok: true, entries: value.map((entry, i) => readEntry(entry as Json, `entry ${i + 1}`)) }
  } catch (error) {
    // YAML's own errors quote the text; ours do not.
    if (error instanceof ScriptProblem) return { ok: false, problem: error.message }
    return { ok: false, problem: 'the script is not YAML' }
  }
}

class ScriptProblem extends Error {}

function need(holds: boolean, where: string, what: string): asserts holds {
  if (!holds) throw new ScriptProblem(`${where} ${what}`)
}

function readEntry(entry: Json, where: string): ScriptEntry {
  need(isObject(entry), where, 'must have a reply')
  only(entry, ['agent', 'role', 'when', 'times', 'reply'], where)
  const { agent, role, when = {}, times, reply } = entry
  need(agent === undefined || typeof agent === 'string', where, 'has an agent that is not a text')
  need(
    role === undefined || MODEL_ROLES.includes(role as ModelRole),
    where,
    `has a role not of ${MODEL_ROLES.join(', ')}`,
  )
  need(times === undefined || isCount(times), where, 'has times that are not a number from 1')
  need(isObject(when), where, 'has a when that is not an object')
  only(when, ['round', 'contains'], `${where}, when,`)
  const { round, contains = [] } = when
  need(round === undefined || isCount(round), where, 'has a round that is not a number from 1')
  const texts = typeof contains === 'string' ? [contains] : contains
  need(Array.isArray(texts) && texts.every(isText), where, 'has a when.contains that is not a text or a list of texts')
  return {
    ...(agent === undefined || agent === '*' ? undefined : { agent }),
    ...(role === undefined ? undefined : { role: role as ModelRole }),
    ...(round === undefined ? undefined : { round: round as number }),
    contains: texts as readonly string[],
    ...(times === undefined ? undefined : { times: times as number }),
    reply: readReply(reply ?? null, `${where}, reply,`),
  }
}

const KINDS = ['text', 'json', 'tools', 'refuse', 'truncate', 'invalid', 'fail'] as const

function readReply(reply: Json, where: string): ScriptReply {
  need(isObject(reply), where, 'is missing')
  only(reply, [...KINDS, 'reasoning', 'confidence', 'usage', 'takesMs'], where)
  const kinds = KINDS.filter(kind => Object.hasOwn(reply, kind) && (reply[kind] !== false || kind === 'json'))
  // A cut-off reply may have a beginning.
  const [kind = 'text', ...others] = kinds.includes('truncate') ? kinds.filter(one => one !== 'text') : kinds
  need(kinds.length > 0 && others.length === 0, where, `must have exactly one of ${KINDS.join(', ')}`)
  const { reasoning, confidence, usage, takesMs } = reply
  need(reasoning === undefined || isText(reasoning), where, 'has reasoning that is not a text')
  need(confidence === undefined || typeof confidence === 'number', where, 'has a confidence that is not a number')
  need(takesMs === undefined || isPause(takesMs), where, `has takesMs that are not a number from 0 to ${LONGEST_MS}`)
  return {
    said: readSaid(kind, reply, where),
    ...(reasoning === undefined ? undefined : { reasoning: reasoning as string }),
    ...(confidence === undefined ? undefined : { confidence: confidence as number }),
    ...(usage === undefined ? undefined : { usage: readUsage(usage, where) }),
    ...(takesMs === undefined ? undefined : { takesMs: takesMs as number }),
  }
}

function readSaid(kind: (typeof KINDS)[number], reply: JsonObject, where: string): ScriptReply['said'] {
  const given = reply[kind] ?? null
  switch (kind) {
    case 'text':
    case 'invalid':
      need(isText(given), where, `has a ${kind} that is not a text`)
      return { kind, text: given }
    case 'json':
      return { kind, json: given }
    case 'tools':
      need(Array.isArray(given) && given.length > 0, where, 'has tools that are not a list')
      return { kind, tools: given.map((call, i) => readCall(call as Json, `${where} tool ${i + 1}`)) }
    case 'refuse':
      need(given === true, where, 'has a refuse that is not true')
      return { kind }
    case 'truncate':
      need(given === true, where, 'has a truncate that is not true')
      return { kind, text: isText(reply.text ?? null) ? (reply.text as string) : '' }
    case 'fail': {
      const status = isObject(given) ? (given.status ?? null) : null
      need(typeof status === 'number' && status >= 300 && status < 600, where, 'has a fail without a status from 300')
      return { kind, status }
    }
  }
}

function readCall(call: Json, where: string): { tool: string; args: JsonObject } {
  need(isObject(call), where, 'must have a tool')
  only(call, ['tool', 'args'], where)
  const { tool = null, args = {} } = call
  need(isText(tool), where, 'must have a tool')
  need(isObject(args), where, 'has args that are not an object')
  return { tool, args }
}

function readUsage(usage: Json, where: string): { inputTokens: number; outputTokens: number } {
  need(isObject(usage), where, 'has a usage that is not an object')
  const { inputTokens = null, outputTokens = null } = usage
  need(isTokens(inputTokens) && isTokens(outputTokens), where, 'has a usage without inputTokens and outputTokens')
  return { inputTokens, outputTokens }
}

const isText = (value: Json): value is string => typeof value === 'string'
const isTokens = (value: Json): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const LONGEST_MS = 60_000
const isPause = (value: Json): boolean => isTokens(value) && value <= LONGEST_MS
const isCount = (value: Json): boolean => isTokens(value) && value > 0

function only(value: JsonObject, names: readonly string[], where: string): void {
  const unknown = Object.keys(value).find(name => !names.includes(name))
  need(unknown === undefined, where, `has ${JSON.stringify(unknown)}, which is not one of ${names.join(', ')}`)
}
