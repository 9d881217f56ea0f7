import { typeToKeep } from '../../../core/journal/entry-rules.js'
import type { Json, JsonObject } from '../../../core/json.js'
import { type Refusal, refuse } from '../../../core/problem.js'
import { textOfBytes } from '../../../engine/journal/content.js'
import { lacksScope } from '../../auth/authenticator.js'
import type { Caller } from '../../auth/key-cache.js'
import type { Upload } from '../../bodies/form-body.js'
import { parseJsonBody } from '../../bodies/json-body.js'
import { forInput, noPlace } from '../../bodies/receive-body.js'
import type { Edge } from '../../deps.js'

/** What files become that came with a request for a run. */
export type TakenIn = {
  /** By the name of the input: what the file says, or where in the workspace it is. */
  readonly inputs: JsonObject
  /** Files that were written for it: removed again where no run is made of them. */
  readonly files: readonly string[]
}

const NOTHING: TakenIn = { inputs: {}, files: [] }

/**
 * Text is the input's value, JSON what it stands for; anything else is put into the workspace, and the input says where:
 * `{file, version}`. Files are written before the run is asked for, under paths that nobody else has; if the run is refused
 * they are removed, and if the host dies in between nothing refers to them.
 */
export async function takeIn(
  edge: Edge,
  caller: Caller,
  given: JsonObject,
  uploads: readonly Upload[],
): Promise<TakenIn | Refusal> {
  if (uploads.length === 0) return NOTHING
  const inputs: { [name: string]: Json } = {}
  const files: string[] = []
  const folder = edge.ids.unique()
  for (const upload of uploads) {
    const taken = nameRefusal(upload.name, given) ?? (await takenFrom(edge, caller, upload, folder))
    if (isRefusal(taken)) {
      await putBack(edge, caller, files)
      return taken
    }
    inputs[upload.name] = taken.value
    if (taken.file !== undefined) files.push(taken.file)
  }
  return { inputs, files }
}

/** No run was made: what was written for it goes. */
export async function putBack({ workspace, log }: Edge, { tenant }: Caller, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const removed = await workspace.takeBack(tenant, file)
    if (!removed.ok) log.warn({ file, code: removed.refusal.code }, 'a file that no run was made of is still there')
  }
}

type Value = { readonly value: Json; readonly file?: string }

const isRefusal = (taken: Value | Refusal): taken is Refusal => 'code' in taken

async function takenFrom(edge: Edge, caller: Caller, upload: Upload, folder: string): Promise<Value | Refusal> {
  const { name, fileName, contentType, file } = upload
  if (file.pieces)
    return file.pieces.isText ? textTooLong(name, file.pieces.bytes, edge) : stored(edge, caller, upload, folder)
  const body = file.whole
  if (/^application\/json\b/i.test(contentType) || fileName.endsWith('.json')) {
    const parsed = parseJsonBody(body, edge.config.limits)
    return parsed.ok ? { value: parsed.value as Json } : notJson(name, parsed.refusal)
  }
  const text = textOfBytes(body)
  return text === undefined ? stored(edge, caller, upload, folder) : { value: text }
}

async function stored(edge: Edge, caller: Caller, upload: Upload, folder: string): Promise<Value | Refusal> {
  const { name, contentType, file } = upload
  if (!edge.config.workspace.enabled) return noPlace(name)
  if (!caller.scopes.has('workspace:write')) return lacksScope('workspace:write')
  const path = `inputs/${folder}/${plainName(upload)}`
  const kept = { path, file, contentType: typeToKeep(contentType), ifMatch: 0 }
  const written = await edge.workspace.write(caller.tenant, kept)
  if (!written.ok) return forInput(name, written.refusal)
  return { value: { file: path, version: written.value.version }, file: path }
}

/** The end of the sender's own name for it, which has the kind of file; without dots that would lead elsewhere. */
const plainName = ({ name, fileName }: Upload): string => {
  const plain = (fileName === '' ? name : fileName)
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/\.{2,}/g, '.')
    .slice(-128)
  return /[A-Za-z0-9]/.test(plain) ? plain : 'file'
}

const named = (name: string): string => JSON.stringify(name.slice(0, 64))

function nameRefusal(name: string, given: JsonObject): Refusal | undefined {
  const field = `inputs.${name.slice(0, 64)}`
  if (name === '__proto__')
    return refuse('validation_error', `No input can have the name ${named(name)}; choose another.`, { field })
  if (!Object.hasOwn(given, name)) return undefined
  const message = `Input ${named(name)} is given twice: as a value and as a file; leave one out.`
  return refuse('validation_error', message, { field })
}

/** What is said of inputs that are not what the workflow wants, to one who sent files that are no text. */
export function explainFiles(refusal: Refusal, { inputs, files }: TakenIn): Refusal {
  const isStored = (name: string) => files.includes(String((inputs[name] as { file?: Json } | null)?.file))
  const stored = Object.keys(inputs).filter(isStored)
  const meant = stored.filter(name => refusal.message.includes(`inputs.${name} must be`))
  if (meant.length === 0) return refusal
  const which = meant.map(named).join(', ')
  const message = `${refusal.message}; the file for ${which} is no text, so its input is {file, version}, where it is in the workspace: declare it as an object, or send text.`
  return { ...refusal, message }
}

const notJson = (name: string, { message }: Refusal): Refusal =>
  refuse(
    'validation_error',
    `The file for input ${named(name)} is to be JSON: ${message.replace('request body', 'file')}`,
    { field: `inputs.${name.slice(0, 64)}` },
  )

const textTooLong = (name: string, bytes: number, { config }: Edge): Refusal => {
  const limit = config.limits.maxRequestBodyBytes
  const message = `The file for input ${named(name)} is text of ${bytes} bytes; as the value of an input it may have ${limit} (limits.maxRequestBodyBytes). Put it into the workspace, and give its path.`
  return refuse('payload_too_large', message, { field: `inputs.${name.slice(0, 64)}`, limit, size: bytes })
}
