import fs from 'node:fs/promises'
import path from 'node:path'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { RunEngine } from '../engine/api.js'
import type { Log } from '../engine/ports/log.js'
import { DocumentError, readDocument } from '../project/document.js'

type Registry = Pick<RunEngine, 'putWorkflow'>

/**
 * Registers every workflow of a folder (`*.json`, in name order) for all tenants and returns the ids of those that this
 * host has taken. A suite has fixtures for features that a host need not have, so what is refused, or would be
 * taken and do nothing of what it says (R-CAP-3), is left out and logged.
 */
export async function registerFixtures(folder: string, engine: Registry, log: Log): Promise<readonly string[]> {
  const files = new Map<string, string>()
  for (const name of await jsonFiles(folder)) {
    const taken = await register(path.join(folder, name), engine, files)
    if ('id' in taken) files.set(taken.id, name)
    else log.warn({ fixture: name, reason: taken.reason }, 'a conformance fixture is left out')
  }
  log.info({ folder, registered: files.size }, 'conformance fixtures are registered')
  return [...files.keys()]
}

type Taken = { readonly id: string } | { readonly reason: string }

async function register(file: string, engine: Registry, before: ReadonlyMap<string, string>): Promise<Taken> {
  const document = await readDocument(file).catch(noDocument)
  if (document instanceof DocumentError) return { reason: document.message }
  const other = before.get(String(isObject(document) ? document.id : ''))
  if (other !== undefined) return { reason: `its id is already used by ${other}` }
  const ignored = ignoredKeys(document)
  if (ignored.length > 0) return { reason: `this host does nothing with ${ignored.join(', ')}` }
  const answer = await engine.putWorkflow(null, document)
  if ('refusal' in answer) return { reason: answer.refusal.message }
  if (!answer.ok) throw new Error('the engine gave a remembered response that was not asked for')
  return { id: answer.value.record.workflowId }
}

/** Whatever a fixture asks of the host beyond its nodes and this host does not do. */
const UNHEEDED_METADATA = ['requiresAgentId']

/** Of what fixtures are about: coercing prose into a form by another call, and a cap that is breached by a cut answer. */
const UNHEEDED_TAGS = ['nl-to-format-engaged', 'truncation-cap-exhaustion']

/** Its nodes cannot ask for what nothing would come of: no key of a configuration is taken that is not heeded. */
function ignoredKeys(definition: unknown): string[] {
  const metadata = isObject(definition as Json) ? (definition as { metadata?: Json }).metadata : undefined
  const asked = isObject(metadata ?? null) ? (metadata as JsonObject) : {}
  const tags = Array.isArray(asked.tags) ? asked.tags : []
  return [
    ...Object.keys(asked).filter(key => UNHEEDED_METADATA.includes(key)),
    ...tags.filter(tag => UNHEEDED_TAGS.includes(String(tag))).map(tag => `tags: ${String(tag)}`),
  ].map(key => `metadata.${key}`)
}

function noDocument(error: unknown): DocumentError {
  if (error instanceof DocumentError) return error
  throw error
}

async function jsonFiles(folder: string): Promise<string[]> {
  const names = await fs.readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`fixtures: cannot read the folder ${folder} (${error.code}); check --fixtures`, { cause: error })
  })
  return names.filter(name => /^[^.].*\.json$/.test(name)).sort()
}
