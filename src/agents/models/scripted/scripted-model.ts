import { readFile } from 'node:fs/promises'
import type { Usage } from '../../../core/invocation/brief.js'
import type { Json } from '../../../core/json.js'
import type { ModelCallRequest, Round } from '../../../engine/ports/agents.js'
import type { Clock } from '../../../engine/ports/clock.js'
import type { Redactor } from '../../../secrets/secrets.js'
import { sleep } from '../../../timing/sleep.js'
import type { Spoken } from '../../answer/spoken.js'
import { conversationOf, type Message } from '../conversation.js'
import { type Failing, failureOfStatus, rejected, takenBack } from '../failure.js'
import type { LiveReply } from '../live.js'
import { reasoningFeed } from '../reasoning-feed.js'
import { minimalValue } from './minimal-value.js'
import { parseScript, type Script, type ScriptEntry, type ScriptReply } from './script.js'

/**
 * A model without a network: it says what a script of the project tells it to, or something small that fits. It
 * remembers nothing (A1): how often an entry has applied is found out by going through the conversation again.
 */
export function createScriptedModel(file: string | undefined, clock: Clock) {
  const read = scriptReader(file)
  return async (ask: ModelCallRequest, call: Failing, redact: Redactor): Promise<LiveReply> => {
    const script = await read()
    if (!script.ok) return rejected(script.problem, call)
    const reply = replyTo(ask, script.entries)
    const { said, takesMs = 0 } = reply
    if (takesMs > 0) await sleep(clock, takesMs, ask.signal)
    if (ask.signal.aborted) return takenBack(call)
    if (said.kind === 'fail') return failureOfStatus(said.status, call)
    const spoken = spokenOf(said, reply, ask)
    const feed = reasoningFeed(ask, redact)
    feed.add(spoken.reasoning)
    feed.end()
    return { ok: true, spoken, retries: 0 }
  }
}

/** Read anew for each request, so that a script can be written while the host runs; parsed only when it has changed. */
function scriptReader(file: string | undefined): () => Promise<Script> {
  let last: { readonly text: string; readonly script: Script } | undefined
  return async () => {
    if (file === undefined) return { ok: true, entries: [] }
    const text = await readScript(file)
    if (text === undefined) return { ok: false, problem: 'its script cannot be read' }
    if (last?.text !== text) last = { text, script: parseScript(text) }
    return last.script
  }
}

/** What is wrong with a script; undefined when nothing is. */
export async function checkScript(file: string): Promise<string | undefined> {
  const script = await scriptReader(file)()
  return script.ok ? undefined : script.problem
}

async function readScript(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error) return undefined
    throw error
  }
}

/** The first entry that applies; those that have applied as often as they may are passed over. */
function replyTo(ask: ModelCallRequest, entries: readonly ScriptEntry[]): ScriptReply {
  const used = new Map<ScriptEntry, number>()
  let entry: ScriptEntry | undefined
  for (let earlier = 0; earlier <= ask.rounds.length; earlier += 1) {
    const heard = heardBy(ask, ask.rounds.slice(0, earlier))
    entry = entries.find(
      one =>
        (one.agent === undefined || one.agent === ask.agentId) &&
        (one.role === undefined || one.role === ask.role) &&
        (one.round === undefined || one.round === earlier + 1) &&
        one.contains.every(text => heard.includes(text)) &&
        (used.get(one) ?? 0) < (one.times ?? Number.POSITIVE_INFINITY),
    )
    if (entry !== undefined) used.set(entry, (used.get(entry) ?? 0) + 1)
  }
  return entry?.reply ?? unscripted(ask)
}

/** What the model was told, without its own words and without the system prompt, which is the same for every task. */
const heardBy = ({ brief }: ModelCallRequest, rounds: readonly Round[]): string =>
  conversationOf({ brief, rounds })
    .flatMap(message => {
      if (message.role === 'tool') return message.results.map(result => result.text)
      return message.role === 'user' ? [message.text] : []
    })
    .join('\n')

const ECHO_LENGTH = 120

function unscripted({ brief, role }: ModelCallRequest): ScriptReply {
  // R-DWS-36: nobody has judged, so there is no vote; a value that fits could be a pass.
  if (role === 'verifier') return { said: { kind: 'refuse' } }
  if (brief.returnSchema !== undefined) return { said: { kind: 'json', json: minimalValue(brief.returnSchema) } }
  const echo = brief.user.trim().slice(0, ECHO_LENGTH)
  return { said: { kind: 'text', text: `The offline model was asked: ${echo}` } }
}

const CONFIDENCE = 0.9

type Words = Exclude<ScriptReply['said'], { kind: 'fail' }>

function spokenOf(said: Words, { reasoning = '', confidence, usage }: ScriptReply, ask: ModelCallRequest): Spoken {
  const { brief, rounds } = ask
  const wrap = (result: Json): string => JSON.stringify({ result, confidence: confidence ?? CONFIDENCE })
  const say = (text: string, more: Partial<Spoken> = {}): Spoken => {
    const spoken = { text, reasoning, calls: [], finish: { kind: 'done' as const }, ...more }
    return { ...spoken, usage: usage ?? usageOf(ask, spoken) }
  }
  switch (said.kind) {
    case 'text':
      return say(brief.wrapped ? wrap(said.text) : said.text)
    case 'json':
      return say(brief.wrapped ? wrap(said.json) : JSON.stringify(said.json))
    case 'invalid':
      return say(said.text)
    case 'truncate':
      return say(said.text, { finish: { kind: 'truncated', stopReason: 'length' } })
    case 'tools': {
      const calls = said.tools.map(({ tool, args }, i) => ({
        id: `call_${rounds.length + 1}_${i + 1}`,
        // By the id that people know, or by the name that the model knows.
        name: brief.tools.find(one => one.toolId === tool)?.name ?? tool,
        input: JSON.stringify(args),
      }))
      return say('', { calls })
    }
    case 'refuse':
      return say('', { finish: { kind: 'refused' } })
  }
}

/** Four bytes are about a token; the same request and reply always have the same usage. */
const BYTES_PER_TOKEN = 4
const tokens = (texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / BYTES_PER_TOKEN)

const usageOf = (
  ask: ModelCallRequest,
  { text, reasoning, calls }: Pick<Spoken, 'text' | 'reasoning' | 'calls'>,
): Usage => ({
  inputTokens: tokens(conversationOf(ask).map(sizeOf)),
  outputTokens: tokens([text, reasoning, ...calls.map(({ name, input }) => name + input)]),
})

const sizeOf = (message: Message): string =>
  message.role === 'tool' ? message.results.map(result => result.text).join('') : message.text
