import { refuse } from '../../core/problem.js'
import type { HttpLimits } from '../config.js'
import { Refused } from '../http-answer.js'
import { parseJsonBody } from './json-body.js'

/** A file that came in a form: `name` is the part's, and so the input's that it is for. */
export type Upload = {
  readonly name: string
  readonly fileName: string
  readonly contentType: string
  readonly body: Buffer
}

/** The part of a form that has the request itself. */
const REQUEST_PART = 'run'
const MOST_FILES = 32

const wrong = (message: string) => new Refused(refuse('validation_error', message, { field: 'body' }))

const BROKEN = wrong('The body is not a valid multipart/form-data form; its boundary or one of its parts is broken.')

/** A form (`multipart/form-data`) as the body it stands for and the files that came with it. */
export async function parseForm(
  bytes: Buffer,
  contentType: string,
  limits: Pick<HttpLimits, 'maxJsonDepth' | 'maxJsonMembers'>,
): Promise<{ readonly body: unknown; readonly uploads: readonly Upload[] }> {
  const parts = partsIn(bytes, contentType)
  if (parts > MOST_FILES + 1)
    throw wrong(`The form has ${parts} parts; send at most ${MOST_FILES} files, and the part "${REQUEST_PART}".`)
  const form = await formIn(bytes, contentType)
  const request = form.get(REQUEST_PART)
  if (request === null) throw wrong(`The form has no part "${REQUEST_PART}"; add one with the request as JSON.`)
  const text = typeof request === 'string' ? Buffer.from(request) : Buffer.from(await request.arrayBuffer())
  const parsed = parseJsonBody(text, limits)
  if (!parsed.ok) {
    const message = parsed.refusal.message.replace('The request body', `Part "${REQUEST_PART}" of the form`)
    throw new Refused({ ...parsed.refusal, message })
  }
  const uploads: Upload[] = []
  for (const [name, part] of form) {
    if (name === REQUEST_PART) continue
    if (typeof part === 'string')
      throw wrong(
        `Part ${JSON.stringify(name.slice(0, 64))} of the form is no file; values go into inputs of the part "${REQUEST_PART}".`,
      )
    if (uploads.some(upload => upload.name === name))
      throw wrong(`The form has two files for ${JSON.stringify(name.slice(0, 64))}; send one for each input.`)
    const type = part.type === '' ? 'application/octet-stream' : part.type
    uploads.push({ name, fileName: part.name, contentType: type, body: Buffer.from(await part.arrayBuffer()) })
  }
  return { body: parsed.value, uploads }
}

/** As many as the form can have: parsing takes time by their square, so they are counted first. */
function partsIn(bytes: Buffer, contentType: string): number {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]+)"|([^\s;"]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  // Two of them, or one that is spelled oddly, could be one to us and another to whoever parses it.
  if (boundary === undefined || contentType.split(/boundary\s*=/i).length !== 2) throw BROKEN
  const mark = Buffer.from(`--${boundary}`, 'latin1')
  let marks = 0
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + mark.length)) marks += 1
  return marks - 1
}

async function formIn(bytes: Buffer, contentType: string): Promise<FormData> {
  try {
    // No copy of the bytes is made for it.
    const body = new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length)
    return await new Response(body, { headers: { 'content-type': contentType } }).formData()
  } catch {
    throw BROKEN
  }
}
