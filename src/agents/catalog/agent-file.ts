import path from 'node:path'
import { isObject, type JsonObject } from '../../core/json.js'
import { sha256OfJson } from '../../digest.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import { parseDocument } from '../../project/document.js'
import { parseRef, REF_RULE } from '../prompts/ref.js'
import type { FindPrompt } from '../prompts/template.js'
import { type CatalogAgent, lackingMemory } from './catalog-agent.js'
import { type Home, wordOf } from './home.js'
import { type AgentManifest, MAX_PROMPT, manifestProblems } from './manifest.js'
import { pathProblem, readInside, readObject } from './source-folder.js'
import { refuseIf, refuseManifest } from './unusable.js'

export type AgentFileContext = {
  readonly find: FindPrompt
  readonly schemas: SchemaChecker
  readonly capabilities: ReadonlySet<string>
  /** Told the files, beside or below, that a manifest refers to. */
  readonly refersTo: (file: string) => void
}

/** The file being read, for what it refers to. */
type Here = AgentFileContext & { readonly home: Home; readonly file: string }

/** Reads one manifest and all it refers to (R-MANIF-5). Throws; see `problemsOf`. */
export async function readAgent(home: Home, file: string, context: AgentFileContext): Promise<CatalogAgent> {
  const here = { ...context, home, file }
  const given = completed(await readManifest(here), here)
  refuseIf(shownName(here), manifestProblems(given))
  const manifest = given as unknown as AgentManifest
  const { systemPrompt = '', systemPromptRef, handoff = {}, evalSuiteRef, requiresCapabilities = [] } = manifest
  const taskSchema = await schemaAt(handoff.taskSchemaRef, 'handoff.taskSchemaRef', here)
  const returnSchema = await schemaAt(handoff.returnSchemaRef, 'handoff.returnSchemaRef', here)
  if (evalSuiteRef !== undefined) await readObject(home.folder, pathOf(evalSuiteRef, 'evalSuiteRef', here))
  const whole = {
    manifest,
    packName: home.name,
    packVersion: home.version,
    ...(systemPromptRef === undefined ? { systemPrompt } : await promptAt(systemPromptRef, here)),
    ...(taskSchema && { taskSchema }),
    ...(returnSchema && { returnSchema }),
  }
  const lacking = lackingMemory(manifest.memoryShape, context.capabilities.has('memory'))
  const missing = requiresCapabilities.filter(capability => !context.capabilities.has(capability))
  return {
    ...whole,
    digest: sha256OfJson(whole as unknown as JsonObject),
    degraded: [...new Set([...home.degraded, ...missing])],
    memoryDegraded: lacking.length > 0,
    degradedMemoryDimensions: lacking,
  }
}

async function readManifest({ home, file }: Here): Promise<JsonObject> {
  if (path.extname(file) !== '.md') return readObject(home.folder, file)
  const name = shownName({ home, file })
  const [, front, body = ''] = FRONT_MATTER.exec(await readInside(home.folder, file)) ?? []
  if (front === undefined) return refuseManifest(name, 'must begin with the manifest between two lines of ---')
  const given = parseDocument(front, name)
  if (!isObject(given)) return refuseManifest(name, 'the front matter must hold fields, such as modelClass: general')
  const prompt = body.trim()
  if (prompt === '') return given
  if (given.systemPrompt === undefined) return { ...given, systemPrompt: prompt }
  return refuseManifest(name, 'systemPrompt is in the front matter and below it; keep one of them')
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n([\s\S]*))?$/

/** Agents of a project need neither an id nor a persona of their own. */
function completed(given: JsonObject, { home: { idPrefix }, file }: Here): JsonObject {
  const name = path.basename(file, path.extname(file))
  const word = wordOf(name)
  const agentId = idPrefix === undefined || word === undefined ? {} : { agentId: `${idPrefix}.${word}` }
  return { ...agentId, persona: typeof given.label === 'string' ? given.label : name, ...given }
}

/** A file with the prompt, or a template of a library. */
async function promptAt(ref: string, here: Here): Promise<Pick<CatalogAgent, 'systemPrompt' | 'systemTemplate'>> {
  const { home, find } = here
  const name = shownName(here)
  if (ref.startsWith('prompt:')) {
    const parsed = parseRef(ref)
    if (parsed === undefined) return refuseManifest(name, `systemPromptRef must be ${REF_RULE}`)
    const found = find(parsed, home.name)
    if (!found.ok) return refuseManifest(name, `systemPromptRef: ${found.message}`)
    const { kind, text } = found.template
    if (kind !== 'system') return refuseManifest(name, `systemPromptRef: ${ref} is a ${kind} prompt, not a system one`)
    return { systemPrompt: text, systemTemplate: found.template }
  }
  const file = pathOf(ref, 'systemPromptRef', here)
  const text = (await readInside(home.folder, file)).trim()
  if (text !== '' && text.length <= MAX_PROMPT) return { systemPrompt: text }
  return refuseManifest(
    shownName({ home, file }),
    `must be a prompt of 1 to ${MAX_PROMPT} characters; it has ${text.length}`,
  )
}

async function schemaAt(ref: string | undefined, field: string, here: Here): Promise<JsonObject | undefined> {
  if (ref === undefined) return undefined
  const { home, schemas } = here
  const file = pathOf(ref, field, here)
  const schema = await readObject(home.folder, file)
  const problem = await schemas.inspect(schema, null)
  return problem === undefined ? schema : refuseManifest(shownName({ home, file }), `the schema ${problem}`)
}

/** From the folder's root; refused when it would lead out. */
function pathOf(ref: string, field: string, here: Here): string {
  const problem = pathProblem(ref)
  if (problem !== undefined) return refuseManifest(shownName(here), `${field} ${problem}; it is ${JSON.stringify(ref)}`)
  const file = path.posix.join(path.posix.dirname(here.file), ref)
  here.refersTo(shownName({ ...here, file }))
  return file
}

const shownName = ({ home, file }: Pick<Here, 'home' | 'file'>): string => `${home.folder.shown}${file}`
