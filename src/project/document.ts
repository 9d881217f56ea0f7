import fs from 'node:fs/promises'
import path from 'node:path'
import { parse as parseYaml } from 'yaml'
import type { Json } from '../core/json.js'

/** A file a person wrote could not be taken; the message names the file and what to change. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
}

const MAX_BYTES = 1024 * 1024
const MAX_DEPTH = 64
const MAX_ALIASES = 50
const HOSTILE_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** Reads one JSON or YAML file, by its ending, as plain JSON data. */
export const readDocument = async (file: string): Promise<Json> => parseDocument(await readText(file), file)

export async function readText(file: string): Promise<string> {
  const stat = await fs.stat(file)
  if (!stat.isFile()) throw new DocumentError(`${file}: not a file`)
  if (stat.size > MAX_BYTES) throw new DocumentError(`${file}: ${stat.size} bytes; at most ${MAX_BYTES} are allowed`)
  return fs.readFile(file, 'utf8')
}

/** `name` decides the format (`.json`, else YAML) and appears in every message. */
export function parseDocument(text: string, name: string): Json {
  const value = path.extname(name) === '.json' ? fromJson(text, name) : fromYaml(text, name)
  refuseHostile(value, '', 0, name)
  return value as Json
}

function fromJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new DocumentError(`${name}: not valid JSON: ${(error as Error).message}`)
  }
}

function fromYaml(text: string, name: string): unknown {
  try {
    return parseYaml(text, {
      maxAliasCount: MAX_ALIASES,
      stringKeys: true,
      uniqueKeys: true,
      schema: 'core',
      logLevel: 'error',
    })
  } catch (error) {
    throw new DocumentError(`${name}: not valid YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}

/** Throws on anything JSON cannot hold, on keys that name a prototype, and on depth beyond reason. */
function refuseHostile(value: unknown, place: string, depth: number, name: string): void {
  if (depth > MAX_DEPTH) throw new DocumentError(`${name}: nested deeper than ${MAX_DEPTH} at ${place}`)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return
    throw new DocumentError(`${name}: ${place || 'the document'} is ${value}, which JSON cannot hold`)
  }
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      refuseHostile(item, `${place}[${index}]`, depth + 1, name)
    })
    return
  }
  if (typeof value !== 'object' || value === undefined) {
    throw new DocumentError(`${name}: ${place || 'the document'} is empty or not plain data`)
  }
  for (const key of Object.keys(value)) {
    const inner = place === '' ? key : `${place}.${key}`
    if (HOSTILE_KEYS.has(key)) throw new DocumentError(`${name}: the key ${inner} is not allowed`)
    refuseHostile((value as { [key: string]: unknown })[key], inner, depth + 1, name)
  }
}
