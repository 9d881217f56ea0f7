import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { parseDocument, readDocument } from '../../project/document.js'
import { UsageError } from '../terminal/usage-error.js'

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

async function readInput(value: string, readStdin: () => Promise<string>, option: string): Promise<JsonObject> {
  if (value === '-') return objectFrom(parseDocument(await readStdin(), 'stdin'), `${option} -`)
  if (value.startsWith('@')) return objectFrom(await readFile(value.slice(1), option), `${option} ${value}`)
  const [, key, text] = /^([^=]+)=(.*)$/s.exec(value) ?? []
  if (key === undefined || text === undefined) {
    throw new UsageError(`${option} ${JSON.stringify(value)} is not understood; use name=value, @file or -`)
  }
  if (key === '__proto__') throw new UsageError(`${option} cannot set __proto__`)
  return { [key]: jsonOrText(text) }
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
