import type { EntriesRead, EntryMade } from '../../core/journal/entry.js'
import type { Space } from '../../core/journal/place.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { sha256OfJson } from '../../digest.js'
import type { Egress } from '../../egress/egress.js'
import type { DeskSeat, EntryWanted, JournalDesk, Looked, Prepared } from '../../engine/ports/desk.js'
import type { ActingSeat } from '../../engine/ports/performer.js'
import type { StepQuestion } from './messages.js'

export type StepDeskDeps = {
  readonly desk: JournalDesk
  readonly egress: Pick<Egress, 'send'>
}

/** What a step is given of memory, files and the world, and what it has written down and read so far. */
export type StepDesk = {
  /** Rejects with what is wrong, in words for the step. */
  answer(what: StepQuestion, args: Json): Promise<Json>
  readonly entries: readonly EntryMade[]
  readonly read: readonly EntriesRead[]
}

export type DeskFor = {
  readonly seat: ActingSeat
  readonly id: string
  readonly traceparent: string
  readonly signal: AbortSignal
}

const MOST_ASKED = 1_000
const MOST_BYTES = 1_048_576
const FETCH_MS = 30_000
const LONGEST_FETCH_MS = 600_000

/** As of agents (R-TOOL-4). */
const SCOPES: { readonly [What in StepQuestion]?: string } = {
  'workspace.read': 'workspace:read',
  'workspace.list': 'workspace:read',
  'workspace.write': 'workspace:write',
  'workspace.remove': 'workspace:write',
}

export function openStepDesk(deps: StepDeskDeps, call: DeskFor): StepDesk {
  const entries: EntryMade[] = []
  const read: EntriesRead[] = []
  let asked = 0
  let sent = 0

  const looked = (found: Looked): readonly Json[] => {
    if (!found.ok) throw new Error(found.message)
    read.push(found.read)
    return found.entries as readonly (Json & object)[]
  }
  const prepared = (made: Prepared): null => {
    if (!made.ok) throw new Error(made.message)
    entries.push(made.entry)
    return null
  }
  /** What is kept under it is named by what it says, too: another try may say something else. */
  const seatFor = (args: Json): DeskSeat => {
    const { tenant, runId, desk } = call.seat
    return { tenant, runId, desk, id: `${call.id}.${entries.length}.${sha256OfJson(args).slice(0, 16)}` }
  }

  async function answer(what: StepQuestion, args: Json): Promise<Json> {
    asked += 1
    if (asked > MOST_ASKED) throw new Error(`a step may ask the host ${MOST_ASKED} times at most`)
    const scope = SCOPES[what]
    if (scope !== undefined && !call.seat.scopes.includes(scope))
      throw new Error(`whoever this run acts for lacks the scope ${scope}`)
    const given = isObject(args) ? args : {}
    if (what === 'fetch') {
      sent += 1
      return fetched(deps, call, given, sent)
    }
    return ofJournal(what, given)
  }

  async function ofJournal(what: Exclude<StepQuestion, 'fetch'>, given: JsonObject): Promise<Json> {
    const { desk } = deps
    const seat = seatFor({ what, ...given })
    const space: Space = what.startsWith('memory') ? 'memory' : 'workspace'
    const ref = space === 'memory' ? String(given.memoryRef) : ''
    const limit = typeof given.limit === 'number' ? given.limit : 200
    switch (what) {
      case 'memory.get':
      case 'workspace.read': {
        const id = String(what === 'memory.get' ? given.memoryId : given.path)
        return looked(await desk.read(seat, space, { ref, id }))[0] ?? null
      }
      case 'memory.list': {
        const tag = typeof given.tag === 'string' ? { tag: given.tag } : {}
        return [...looked(await desk.list(seat, space, { ref, limit, ...tag }))]
      }
      case 'workspace.list':
        return [...looked(await desk.list(seat, space, { ref, limit, prefix: String(given.prefix ?? '') }))]
      case 'memory.put':
      case 'workspace.write':
        return prepared(await desk.put(seat, entryOf(space, ref, given)))
      case 'workspace.remove':
        return prepared(await desk.forget(seat, space, { ref, id: String(given.path) }))
    }
  }

  return { answer, entries, read }
}

function entryOf(space: Space, ref: string, given: JsonObject): EntryWanted {
  const { content, tags, ttlSeconds, contentType, ifMatch } = given
  const id = space === 'memory' ? given.memoryId : given.path
  return {
    space,
    ref,
    ...(id === undefined ? {} : { id: String(id) }),
    content: typeof content === 'string' ? content : JSON.stringify(content ?? null),
    tags: Array.isArray(tags) ? tags.map(String) : [],
    ...(typeof ttlSeconds === 'number' ? { ttlSeconds } : {}),
    ...(typeof contentType === 'string' ? { contentType } : {}),
    ...(typeof ifMatch === 'number' ? { ifMatch } : {}),
  }
}

async function fetched(
  { egress }: StepDeskDeps,
  { id, traceparent, signal }: DeskFor,
  { url, method = 'GET', headers, body, timeoutMs }: JsonObject,
  count: number,
): Promise<Json> {
  const verb = String(method).toUpperCase()
  const given = Object.entries(isObject(headers) ? headers : {}).map(([name, value]) => [
    name.toLowerCase(),
    String(value),
  ])
  const answer = await egress.send({
    method: verb,
    url: String(url),
    headers: {
      traceparent,
      ...(verb === 'GET' || verb === 'HEAD' ? {} : { 'idempotency-key': `${id}-${count}` }),
      ...(Object.fromEntries(given) as { [name: string]: string }),
      'accept-encoding': 'identity',
    },
    ...(body === undefined || body === null ? {} : { body: String(body) }),
    timeoutMs: typeof timeoutMs === 'number' ? Math.min(Math.max(timeoutMs, 1), LONGEST_FETCH_MS) : FETCH_MS,
    maxResponseBytes: MOST_BYTES,
    signal,
  })
  if (!answer.ok) throw new Error(`the request failed (${answer.code}): ${answer.message}`)
  const { status, truncated } = answer
  const named = Object.entries(answer.headers).map(([name, value = '']) => [
    name,
    typeof value === 'string' ? value : value.join(', '),
  ])
  return { status, headers: Object.fromEntries(named) as JsonObject, text: answer.body.toString(), truncated }
}
