import type { MemoryShown } from '../../../engine/journal/memory-desk.js'
import {
  ConsolidateAnswer,
  ConsolidateBody,
  ForgetMemoryAnswer,
  ForgetMemoryQuery,
  GetMemoryQuery,
  ListMemoryAnswer,
  ListMemoryQuery,
  ListScopesAnswer,
  ListScopesQuery,
  MemoryEntryAnswer,
} from '../../../wire/journal/memory.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { isOfRun, PRIVATE, switchedOff, wantedBy } from './moment.js'

/** What agents have written down for later (contract agents §7), for those who look after it. */
export const memoryRoutes = (edge: Edge): Route[] => {
  const rows = [listMemory(edge), listScopes(edge), getMemory(edge), forgetMemory(edge), consolidateMemory(edge)]
  return edge.config.memory.enabled ? rows : rows.map(row => ({ ...row, ...ABSENT, handle: () => OFF }))
}

const OFF = switchedOff('memory.enabled', 'memory')
/** Before anything is looked at. */
const ABSENT = { lateBody: true, lateQuery: true } as const
/** What asking as of a moment may lead to besides. */
const AS_OF = ['invalid_from_seq', 'replay_memory_snapshot_unavailable'] as const
const OPTIONAL = 'capability_not_provided'

/** What a list shows of a longer entry. */
const SHOWN_CHARACTERS = 2_000

const listMemory = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/memory',
    operation: 'listMemory',
    summary: 'Entries of memory, newest first, or by their words; as they are now, or as a run saw them',
    access: 'memory:read',
    query: ListMemoryQuery,
    responses: { 200: { description: 'The entries; long ones cut', schema: ListMemoryAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired', ...AS_OF, OPTIONAL],
    async handle({ caller, query: { q, limit = 50, ref, tag, ...which } }) {
      const wanted = wantedBy(which)
      if ('code' in wanted) return problem(wanted)
      const words = q?.split(/\s+/u).filter(word => word !== '')
      const answer = await edge.memory.list(caller.tenant, wanted, {
        limit,
        ...(ref === undefined ? undefined : { ref }),
        ...(tag === undefined ? undefined : { tag }),
        ...(words === undefined ? undefined : { words }),
      })
      if (!answer.ok) return problem(answer.refusal)
      return json(200, { entries: answer.value.map(entry => render(entry, SHOWN_CHARACTERS)) }, PRIVATE)
    },
  })

const listScopes = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/memory/scopes',
    operation: 'listMemoryScopes',
    summary: 'Scopes that the tenant has memory in, by name',
    access: 'memory:read',
    query: ListScopesQuery,
    responses: { 200: { description: 'The scopes, with figures', schema: ListScopesAnswer } },
    refusals: ['validation_error', OPTIONAL],
    async handle({ caller, query: { limit = 100, after } }) {
      const found = await edge.memory.scopes(caller.tenant, limit, after)
      const scopes = found.map(({ scope, entries, head, horizon }) => ({
        scope,
        entries,
        writes: head,
        oldestReadable: horizon,
      }))
      return json(200, { scopes }, PRIVATE)
    },
  })

const getMemory = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/memory/entries/{memoryId}',
    operation: 'getMemory',
    summary: 'One entry of memory, complete; as it is now, or as a run saw it',
    access: 'memory:read',
    query: GetMemoryQuery,
    responses: { 200: { description: 'The entry', schema: MemoryEntryAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired', ...AS_OF, OPTIONAL],
    async handle({ caller, params: { memoryId }, query: { ref, ...which } }) {
      const wanted = wantedBy(which)
      if ('code' in wanted) return problem(wanted)
      const answer = await edge.memory.get(caller.tenant, wanted, { ref, id: memoryId })
      return answer.ok ? json(200, render(answer.value), PRIVATE) : problem(answer.refusal)
    },
  })

const forgetMemory = (edge: Edge): Route =>
  route({
    method: 'DELETE',
    path: '/v1/host/assay/memory/entries/{memoryId}',
    operation: 'forgetMemory',
    summary: 'Have an entry forgotten: from now on nobody finds it, but for runs that began before and their forks',
    access: 'memory:forget',
    query: ForgetMemoryQuery,
    idempotency: 'lease',
    responses: { 200: { description: 'It is forgotten; how many runs hold a copy', schema: ForgetMemoryAnswer } },
    refusals: ['validation_error', 'not_found', OPTIONAL],
    async handle({ caller, params: { memoryId: id }, query: { ref, scope, destroy } }) {
      const isDestroyed = destroy === 'true'
      const answer = await edge.memory.forget(caller.tenant, scope, { ref, id }, isDestroyed)
      if (!answer.ok) return problem(answer.refusal)
      const { copies, destroyed } = answer.value
      const about = { id, memoryRef: ref, scope, destroyedVersions: destroyed }
      const held = { runs: copies.length, runIds: copies.slice(0, RUNS_NAMED) }
      const note = isDestroyed ? DESTROYED : FORGOTTEN
      return json(200, { ...about, copies: held, note } satisfies ForgetMemoryAnswer, PRIVATE)
    },
  })

const RUNS_NAMED = 20
const COPIES =
  'Runs that wrote or read it may hold a copy in their variables and in the sealed words of their agents; retention of runs, or erasing the tenant, removes those.'
const FORGOTTEN = `Runs that began before still see it, and so do their forks; destroy=true ends that. ${COPIES}`
const DESTROYED = `The content of every version is destroyed, and forks that would see it are refused. ${COPIES}`

const consolidateMemory = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/host/assay/memory:consolidate',
    operation: 'consolidateMemory',
    summary: 'Of entries that say the same under the same tags keep one; the same again changes nothing',
    access: 'memory:forget',
    body: ConsolidateBody,
    idempotency: 'lease',
    responses: { 200: { description: 'What was there and what is left', schema: ConsolidateAnswer } },
    refusals: ['validation_error', 'service_unavailable', OPTIONAL],
    async handle({ caller, body: { scope, memoryRef } }) {
      const answer = await edge.memory.consolidate(caller.tenant, scope, memoryRef)
      if (!answer.ok) return problem(answer.refusal)
      return json(200, { memoryRef, scope, ...answer.value }, PRIVATE)
    },
  })

/** No half of a character at its end. */
const beginning = (text: string, most: number): string => text.slice(0, most).replace(/[\ud800-\udbff]$/, '')

function render({ row, scope, content }: MemoryShown, most = Number.POSITIVE_INFINITY): MemoryEntryAnswer {
  const { id, ref, bytes, tags, at, expiresAt, runId, sequence, nodeId, agentId } = row
  const isCut = content !== null && content.length > most
  return {
    id,
    memoryRef: ref,
    scope,
    content: isCut ? beginning(content, most) : content,
    ...(isCut && { truncated: true }),
    bytes,
    tags: [...tags],
    createdAt: new Date(at).toISOString(),
    ...(expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() }),
    ...(isOfRun(row) && { runId, sequence }),
    ...(nodeId !== null && nodeId !== '' && { nodeId }),
    ...(agentId !== null && { agentId }),
  }
}
