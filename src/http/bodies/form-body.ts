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

/** A form (`multipart/form-data`) as the body it stands for and the files that came with it. */
export async function parseForm(
  bytes: Buffer,
  contentType: string,
  limits: Pick<HttpLimits, 'maxJsonDepth' | 'maxJsonMembers'>,
): Promise<{ readonly body: unknown; readonly uploads: readonly Upload[] }> {
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
  if (uploads.length > MOST_FILES) throw wrong(`The form has ${uploads.length} files; send at most ${MOST_FILES}.`)
  return { body: parsed.value, uploads }
}

async function formIn(bytes: Buffer, contentType: string): Promise<FormData> {
  try {
    // No copy of the bytes is made for it.
    const body = new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length)
    return await new Response(body, { headers: { 'content-type': contentType } }).formData()
  } catch {
    throw wrong('The body is not a valid multipart/form-data form; its boundary or one of its parts is broken.')
  }
}
