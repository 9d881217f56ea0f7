import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { type Refusal, refuse } from '../../core/problem.js'
import { type Found, got, refused } from '../../engine/journal/desk.js'
import type { ReceivedFile } from '../../engine/journal/upload.js'
import type { HttpLimits } from '../config.js'
import { parseJsonBody } from './json-body.js'

/** A file that came in a form: `name` is the part's, and so the input's that it is for. */
export type Upload = {
  readonly name: string
  readonly fileName: string
  readonly contentType: string
  readonly file: ReceivedFile
}

/** The body that a form stands for, and the files that came with it; those that had come where it is refused. */
export type Form = { readonly uploads: readonly Upload[] } & (
  | { readonly body: unknown }
  | { readonly refusal: Refusal }
)

export type FormSteps = {
  /** What is wrong with a form of which so many bytes have come. */
  readonly wrongWith: (sent: number) => Refusal | undefined
  /** And with one that has come to its end with so many. */
  readonly ended: (sent: number) => Refusal | undefined
  readonly receive: (name: string, file: Readable) => Promise<Found<ReceivedFile>>
}

type FormLimits = Pick<HttpLimits, 'maxJsonDepth' | 'maxJsonMembers' | 'maxRequestBodyBytes'>

/** The part of a form that has the request itself. */
const REQUEST_PART = 'run'
const MOST_FILES = 32

const wrong = (message: string) => refuse('validation_error', message, { field: 'body' })

const BROKEN = wrong('The body is not a valid multipart/form-data form; its boundary or one of its parts is broken.')

const TOO_MANY = wrong(
  `The form has more than ${MOST_FILES + 1} parts; send at most ${MOST_FILES} files, and the part "${REQUEST_PART}".`,
)

const ANY_TYPE = 'application/octet-stream'

/** Reads a form (`multipart/form-data`) part by part, as it comes. */
export async function readForm(
  chunks: AsyncIterable<Buffer>,
  contentType: string,
  limits: FormLimits,
  steps: FormSteps,
): Promise<Form> {
  if (!hasOneBoundary(contentType)) return { refusal: BROKEN, uploads: [] }
  const reading = new FormReading(contentType, limits, steps)
  let sent = 0
  try {
    for await (const chunk of chunks) {
      sent += chunk.length
      const refusal = steps.wrongWith(sent)
      if (refusal) reading.stop(refusal)
      else await reading.write(chunk)
      if (reading.refusal) break
    }
  } catch (error) {
    reading.stop(BROKEN)
    await reading.end()
    throw error
  }
  const uploads = await reading.end()
  const refusal = reading.refusal ?? steps.ended(sent)
  return refusal ? { refusal, uploads } : { ...bodyIn(reading.request, limits), uploads }
}

/** Two of them, or one that is spelled oddly, could be one to us and another to whoever reads it. */
const hasOneBoundary = (contentType: string): boolean =>
  /;\s*boundary=(?:"([^"\\]+)"|([^\s;"]+))/i.test(contentType) && contentType.split(/boundary\s*=/i).length === 2

function bodyIn(request: Buffer | undefined, limits: FormLimits): { body: unknown } | { refusal: Refusal } {
  if (request === undefined)
    return { refusal: wrong(`The form has no part "${REQUEST_PART}"; add one with the request as JSON.`) }
  const parsed = parseJsonBody(request, limits)
  if (parsed.ok) return { body: parsed.value }
  const message = parsed.refusal.message.replace('The request body', `Part "${REQUEST_PART}" of the form`)
  return { refusal: { ...parsed.refusal, message } }
}

/** One form on its way in. */
class FormReading {
  refusal: Refusal | undefined
  request: Buffer | undefined
  readonly #parser: BusboyInstance
  readonly #uploads: (Upload | undefined)[] = []
  readonly #names = new Set<string>()
  readonly #open = new Set<Readable>()
  readonly #work: Promise<void>[] = []
  readonly #stopped: Promise<void>
  #release: () => void = () => undefined

  constructor(
    contentType: string,
    private readonly limits: FormLimits,
    private readonly steps: FormSteps,
  ) {
    this.#stopped = new Promise(resolve => {
      this.#release = resolve
    })
    this.#parser = new Busboy({
      headers: { 'content-type': contentType },
      limits: { parts: MOST_FILES + 1, fieldSize: limits.maxRequestBodyBytes, headerPairs: 16, headerSize: 8 * 1024 },
    })
    this.#parser
      .on('file', (name, file, fileName = '', _encoding, contentType) =>
        this.#take({ name, fileName, contentType: contentType || ANY_TYPE }, file),
      )
      .on('field', (name, value, _cut, isCut) => this.#say(name, value, isCut))
      .on('partsLimit', () => this.stop(TOO_MANY))
      .on('error', () => this.stop(BROKEN))
      .on('finish', () => this.#release())
  }

  /** The first reason stands; what was being read is given up. */
  stop(refusal: Refusal): void {
    this.refusal ??= refusal
    for (const file of this.#open) file.destroy(new Error('the form is not read on'))
    this.#release()
  }

  async write(chunk: Buffer): Promise<void> {
    if (!this.#parser.write(chunk)) await Promise.race([once(this.#parser, 'drain'), this.#stopped])
  }

  /** The files that have come, once none is being read any more. */
  async end(): Promise<readonly Upload[]> {
    if (this.refusal === undefined) {
      this.#parser.end()
      await this.#stopped
    }
    await Promise.all(this.#work)
    return this.#uploads.filter(upload => upload !== undefined)
  }

  #say(name: string, value: string, isCut: boolean): void {
    if (name !== REQUEST_PART)
      return this.stop(
        wrong(`Part ${shortly(name)} of the form is no file; values go into inputs of the part "${REQUEST_PART}".`),
      )
    if (isCut) return this.stop(requestTooLong(this.limits.maxRequestBodyBytes))
    this.request ??= Buffer.from(value)
  }

  #take({ name, fileName, contentType }: Omit<Upload, 'file'>, file: Readable): void {
    file.on('error', () => undefined)
    if (this.#names.has(name)) this.stop(wrong(`The form has two files for ${shortly(name)}; send one for each input.`))
    this.#names.add(name)
    if (this.refusal) {
      file.destroy()
      return
    }
    this.#open.add(file)
    const place = this.#uploads.push(undefined) - 1
    const received = this.#receive(name, file).then(found => {
      if (found?.ok) this.#uploads[place] = { name, fileName, contentType, file: found.value }
      else if (found) this.stop(found.refusal)
    })
    this.#work.push(received.finally(() => this.#open.delete(file)))
  }

  async #receive(name: string, file: Readable): Promise<Found<ReceivedFile> | undefined> {
    try {
      if (name !== REQUEST_PART) return await this.steps.receive(name, file)
      const found = await wholeOf(file, this.limits.maxRequestBodyBytes)
      if (found.ok) this.request ??= found.value
      return found.ok ? undefined : found
    } catch (error) {
      if (this.refusal === undefined) throw error
      return undefined
    }
  }
}

const shortly = (name: string): string => JSON.stringify(name.slice(0, 64))

const requestTooLong = (limit: number): Refusal =>
  refuse('payload_too_large', `Part "${REQUEST_PART}" of the form is over ${limit} bytes; send less.`, { limit })

async function wholeOf(file: Readable, limit: number): Promise<Found<Buffer>> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of file as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) return refused(requestTooLong(limit))
    chunks.push(chunk)
  }
  return got(Buffer.concat(chunks))
}
