import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { typeToKeep } from '../../../core/journal/entry-rules.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import { textOfBytes } from '../../../engine/journal/content.js'
import type { FileRead, IfMatch } from '../../../engine/journal/workspace-desk.js'
import type { WriteRow } from '../../../engine/ports/journal.js'
import {
  FileInfo,
  GetFileQuery,
  ListFilesAnswer,
  ListFilesQuery,
  PutFileBody,
  WorkspaceFile,
} from '../../../wire/journal/workspace.js'
import { RawBody } from '../../bodies/raw-body.js'
import type { Edge } from '../../deps.js'
import { etagMatches } from '../../etag.js'
import { json, problem } from '../../http-answer.js'
import { type Call, type Route, route, TAKEN } from '../../route.js'
import { isOfRun, momentOf, PRIVATE, switchedOff } from './moment.js'

/** Files that a tenant's runs and keys share (contract agents §19). */
export const workspaceRoutes = (edge: Edge): Route[] => {
  const rows = [listFiles(edge), getFile(edge), putFile(edge), removeFile(edge)]
  return edge.config.workspace.enabled ? rows : rows.map(row => ({ ...row, ...ABSENT, handle: () => OFF }))
}

const OFF = switchedOff('workspace.enabled', 'workspace')
/** R-WS-1: before anything is looked at. */
const ABSENT = { lateBody: true, lateQuery: true, latePath: true } as const
const OPTIONAL = 'capability_not_provided'
/** What asking as of a moment may lead to. */
const AS_OF = ['run_expired', 'invalid_from_seq', 'replay_memory_snapshot_unavailable'] as const

const IF_MATCH = {
  name: 'If-Match',
  description: 'The version that the file must have, `"3"`; `*`: there must be one, `"0"`: there must be none',
}

const listFiles = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/workspace/files',
    operation: 'listFiles',
    summary: "Files of the tenant's workspace, by path, without their content; as they are now, or as a run saw them",
    access: 'workspace:read',
    query: ListFilesQuery,
    responses: { 200: { description: 'The files', schema: ListFilesAnswer } },
    refusals: ['validation_error', 'not_found', ...AS_OF, OPTIONAL],
    async handle({ caller, query: { prefix, at, limit = 1000 } }) {
      const answer = await edge.workspace.list(caller.tenant, {
        limit: limit + 1,
        ...(prefix === undefined ? undefined : { prefix }),
        ...(at === undefined ? undefined : { at: momentOf(at) }),
      })
      if (!answer.ok) return problem(answer.refusal)
      const rows = answer.value
      const files = rows.slice(0, limit).map(row => infoOf(row))
      return json(200, { files, ...(rows.length > limit && { truncated: true }) }, PRIVATE)
    },
  })

const getFile = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/workspace/files/{path}',
    operation: 'getFile',
    summary: 'One file: as JSON where Accept has it, else its bytes; now, in an earlier version, or as a run saw it',
    access: 'workspace:read',
    query: GetFileQuery,
    headers: [{ name: 'If-None-Match', description: 'ETag of the version the reader has' }],
    responses: {
      200: { description: 'The file', schema: WorkspaceFile, contentType: 'application/octet-stream' },
      304: { description: 'Unchanged' },
    },
    refusals: ['validation_error', 'not_found', ...AS_OF, OPTIONAL],
    async handle(call) {
      const { version, at, raw } = call.query
      const answer = await edge.workspace.read(call.caller.tenant, call.params.path, {
        ...(version === undefined ? undefined : { version }),
        ...(at === undefined ? undefined : { at: momentOf(at) }),
      })
      if (!answer.ok) return problem(answer.refusal)
      const etag = etagOf(answer.value.row)
      if (etag !== undefined && etagMatches(call.request.headers['if-none-match'], etag))
        return { status: 304, body: '', headers: { etag, ...PRIVATE } }
      return raw !== undefined || !wantsJson(call.request.headers.accept)
        ? sendBytes(call, answer.value)
        : asJson(call, answer.value)
    },
  })

/** Whoever names no type takes JSON. */
const wantsJson = (accept: string | undefined): boolean =>
  accept === undefined || /\bapplication\/(?:json|\*)|\*\/\*/i.test(accept)

/** A long file is sent as it is read. Its place among the requests is held for so long. */
async function sendBytes({ reply }: Pick<Call, 'reply'>, { row, whole, pieces }: FileRead): Promise<typeof TAKEN> {
  const etag = etagOf(row)
  // What a browser would run, it must not run in this host's name.
  reply.code(200).headers({ ...PRIVATE, 'content-disposition': 'attachment', ...(etag && { etag }) })
  reply.header('content-type', row.contentType ?? 'application/octet-stream').header('content-length', row.bytes)
  if (whole) reply.send(whole)
  else await streamed(reply, pieces())
  return TAKEN
}

async function streamed(reply: Call['reply'], parts: AsyncIterable<string | Buffer>): Promise<void> {
  const stream = Readable.from(parts, { objectMode: false, highWaterMark: 1 })
  reply.send(stream)
  // Whoever went away, or was cut off, is no fault of anybody who could be told.
  await finished(reply.raw).catch(() => undefined)
}

async function asJson({ reply }: Pick<Call, 'reply'>, { row, whole, pieces }: FileRead) {
  const { size: _, runId: _writer, ...info } = infoOf(row)
  const etag = etagOf(row)
  const headers = { ...PRIVATE, ...(etag && { etag }) }
  const content = whole && textOfBytes(whole)
  if (content !== undefined) return json(200, { ...info, content } satisfies WorkspaceFile, headers)
  if (whole || !(await areText(pieces()))) return noText(row)
  reply.code(200).headers(headers).header('content-type', 'application/json; charset=utf-8')
  await streamed(reply, jsonParts(info, pieces()))
  return TAKEN
}

const noText = ({ id, contentType }: WriteRow) => {
  const message = `File ${id} is no text, so it cannot stand in JSON; ask for its bytes with ?raw=true, or with another Accept header.`
  return problem(refuse('validation_error', message, { field: 'Accept', contentType: contentType ?? '' }))
}

async function areText(pieces: AsyncIterable<Buffer>): Promise<boolean> {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    for await (const piece of pieces) {
      if (piece.includes(0)) return false
      text.decode(piece, { stream: true })
    }
    text.decode()
    return true
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return false
  }
}

async function* jsonParts(info: object, pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  yield `${JSON.stringify(info).slice(0, -1)},"content":"`
  for await (const piece of pieces) yield JSON.stringify(text.decode(piece, { stream: true })).slice(1, -1)
  yield '"}'
}

const putFile = (edge: Edge): Route =>
  route({
    method: 'PUT',
    path: '/v1/host/workspace/files/{path}',
    operation: 'putFile',
    summary: 'Write a file: `{content, contentType?}` as JSON, or the bytes themselves under any other type',
    access: 'workspace:write',
    latePath: true,
    body: PutFileBody,
    rawBytes: edge.config.workspace.maxFileBytes,
    idempotency: 'lease',
    headers: [IF_MATCH, { name: 'If-None-Match', description: '`*`: there must be no such file yet' }],
    responses: {
      201: { description: 'Written; the path is new', schema: FileInfo },
      200: { description: 'Written; the version before stays readable', schema: FileInfo },
    },
    refusals: ['validation_error', 'workspace_conflict', 'workspace_too_large', 'quota_exceeded', OPTIONAL],
    async handle({ caller, params: { path }, body, request }) {
      const ifMatch = demandOf(request.headers)
      if (typeof ifMatch === 'object' && ifMatch !== null) return problem(ifMatch)
      const file = fileIn(body)
      const answer = await edge.workspace.write(caller.tenant, { path, ...file, ifMatch })
      if (!answer.ok) return problem(answer.refusal)
      const { version, at } = answer.value
      const etag = `"${version}"`
      const info: FileInfo = {
        path,
        version,
        updatedAt: new Date(at).toISOString(),
        contentType: file.contentType,
        etag,
        size: answer.value.bytes,
      }
      return json(version === 1 ? 201 : 200, info, { ...PRIVATE, etag })
    },
  })

/** What people write is mostly text, and most of that Markdown. */
const TEXT_TYPE = 'text/markdown'

const fileIn = (body: PutFileBody | RawBody) =>
  body instanceof RawBody
    ? { file: body.file, contentType: typeToKeep(body.contentType) }
    : { file: { whole: Buffer.from(body.content) }, contentType: body.contentType ?? TEXT_TYPE }

const removeFile = (edge: Edge): Route =>
  route({
    method: 'DELETE',
    path: '/v1/host/workspace/files/{path}',
    operation: 'removeFile',
    summary: 'Remove a file; earlier versions stay readable by their numbers',
    access: 'workspace:write',
    headers: [IF_MATCH],
    idempotency: 'lease',
    responses: { 204: { description: 'Removed' } },
    refusals: ['validation_error', 'not_found', 'workspace_conflict', OPTIONAL],
    async handle({ caller, params: { path }, request }) {
      const ifMatch = demandOf(request.headers)
      if (typeof ifMatch === 'object' && ifMatch !== null) return problem(ifMatch)
      const answer = await edge.workspace.remove(caller.tenant, path, ifMatch)
      if (!answer.ok) return problem(answer.refusal)
      return { status: 204, body: '', headers: { etag: `"${answer.value.version}"` } }
    },
  })

const infoOf = (row: WriteRow): FileInfo => {
  const etag = etagOf(row)
  return {
    path: row.id,
    // What is held before a gate has no version yet; it would have this one.
    version: row.version ?? 1,
    updatedAt: new Date(row.at).toISOString(),
    ...(row.contentType !== null && { contentType: row.contentType }),
    ...(etag && { etag }),
    size: row.bytes,
    ...(isOfRun(row) && { runId: row.runId }),
  }
}

const etagOf = ({ version }: WriteRow): string | undefined => (version === null ? undefined : `"${version}"`)

type Headers = { readonly [name: string]: string | string[] | undefined }

/** What If-Match and If-None-Match ask of the version that is there. */
function demandOf(headers: Headers): IfMatch | Refusal {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (match === undefined && noneMatch === undefined) return null
  if (match === undefined && noneMatch === '*') return 0
  if (noneMatch !== undefined)
    return wrongHeader('If-None-Match', 'must be *, and goes without If-Match', String(noneMatch))
  if (match === '*') return 'any'
  const [, digits] = /^(?:W\/)?"?(0|[1-9][0-9]{0,14})"?$/.exec(String(match)) ?? []
  return digits === undefined
    ? wrongHeader('If-Match', 'must be a version such as "3", or *', String(match))
    : Number(digits)
}

const wrongHeader = (field: string, demand: string, seen: string): Refusal =>
  refuse('validation_error', `${field} ${demand}; got ${JSON.stringify(seen.slice(0, 64))}.`, { field })
