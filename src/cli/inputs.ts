import { isObject, type Json, type JsonObject } from '../core/json.js'
import { parseDocument, readDocument } from '../project/document.js'

/** The command line cannot be understood or acted on; the message says what to change. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Run inputs from `--input` values, later ones winning:
 * `k=v` sets one input (v is JSON if it reads as JSON, else text), `@file` and `-` merge an object.
 */
export async function readInputs(values: readonly string[], readStdin: () => Promise<string>): Promise<JsonObject> {
  let inputs: JsonObject = {}
  for (const value of values) inputs = { ...inputs, ...(await readInput(value, readStdin)) }
  return inputs
}

async function readInput(value: string, readStdin: () => Promise<string>): Promise<JsonObject> {
  if (value === '-') return objectFrom(parseDocument(await readStdin(), 'stdin'), '--input -')
  if (value.startsWith('@')) return objectFrom(await readFile(value.slice(1)), `--input ${value}`)
  const [, key, text] = /^([^=]+)=(.*)$/s.exec(value) ?? []
  if (key === undefined || text === undefined) {
    throw new UsageError(`--input ${JSON.stringify(value)} is not understood; use name=value, @file or -`)
  }
  if (key === '__proto__') throw new UsageError('--input cannot set __proto__')
  return { [key]: jsonOrText(text) }
}

async function readFile(file: string): Promise<Json> {
  try {
    return await readDocument(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new UsageError(`--input @${file}: no such file`)
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
