import path from 'node:path'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { parseDocument, readDocument } from '../../project/document.js'
import { UsageError } from '../terminal/usage-error.js'
import { blobOf } from './journal/local-file.js'

/**
 * Run inputs from `--input` values, later ones winning:
 * `k=v` sets one input (v is JSON if it reads as JSON, else text), `@file` and `-` merge an object.
 */
export async function readInputs(
  values: readonly string[],
  readStdin: () => Promise<string>,
  option = '--input',
): Promise<JsonObject> {
  let inputs: JsonObject = {}
  for (const value of values) inputs = { ...inputs, ...(await readInput(value, readStdin, option)) }
  return inputs
}

export type RunInputs = { readonly inputs: JsonObject; readonly files: { readonly [input: string]: File } }

/**
 * The same for a run, whose inputs may be files, too: `k=@file` sends the file, and the host makes of it what it is: text,
 * JSON, or a file of the workspace.
 */
export async function readRunInputs(values: readonly string[], readStdin: () => Promise<string>): Promise<RunInputs> {
  let inputs: JsonObject = {}
  let files: { readonly [input: string]: File } = {}
  for (const value of values) {
    const [, name = '', file] = /^([^=@][^=]*)=@(.*)$/s.exec(value) ?? []
    const given: JsonObject = file === undefined ? await readInput(value, readStdin, '--input') : {}
    const sent = file === undefined ? {} : { [nameOf(name, '--input')]: await fileFor(name, file) }
    const isNew = (key: string) => !(key in given) && !(key in sent)
    inputs = { ...only(inputs, isNew), ...given }
    files = { ...only(files, isNew), ...sent }
  }
  return { inputs, files }
}

const only = <T>(values: { readonly [name: string]: T }, isKept: (name: string) => boolean): { [name: string]: T } =>
  Object.fromEntries(Object.entries(values).filter(([name]) => isKept(name)))

async function fileFor(name: string, file: string): Promise<File> {
  const quoted = `; a text that begins with @ needs quotes: --input '${name}="@…"'`
  if (name === 'run') throw new UsageError(`--input run=@${file}: a file cannot be sent for an input named run`)
  const bytes = await blobOf(file, problem => `--input ${name}=@${problem}${quoted}`)
  return new File([bytes], path.basename(file))
}

function nameOf(key: string, option: string): string {
  if (key === '__proto__') throw new UsageError(`${option} cannot set __proto__`)
  return key
}

async function readInput(value: string, readStdin: () => Promise<string>, option: string): Promise<JsonObject> {
  if (value === '-') return objectFrom(parseDocument(await readStdin(), 'stdin'), `${option} -`)
  if (value.startsWith('@')) return objectFrom(await readFile(value.slice(1), option), `${option} ${value}`)
  const [, key, text] = /^([^=]+)=(.*)$/s.exec(value) ?? []
  if (key === undefined || text === undefined) {
    throw new UsageError(`${option} ${JSON.stringify(value)} is not understood; use name=value, @file or -`)
  }
  return { [nameOf(key, option)]: jsonOrText(text) }
}

/** One value, written as JSON, or read from `@file` (JSON or YAML) or stdin (`-`). */
export async function readJson(text: string, option: string, readStdin: () => Promise<string>): Promise<Json> {
  if (text === '-') return parseDocument(await readStdin(), 'stdin')
  if (text.startsWith('@')) return readFile(text.slice(1), option)
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new UsageError(`${option} is not JSON: ${(error as Error).message}; text needs quotes: '"text"'`)
  }
}

async function readFile(file: string, option: string): Promise<Json> {
  try {
    return await readDocument(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new UsageError(`${option} @${file}: no such file`)
  }
}

function objectFrom(value: Json, source: string): JsonObject {
  if (isObject(value)) return value
  throw new UsageError(`${source} must give an object of inputs`)
}

function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    if (error instanceof SyntaxError) return text
    throw error
  }
}
