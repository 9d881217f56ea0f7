import path from 'node:path'
import { isObject, type JsonObject } from '../core/json.js'
import { DocumentError, parseDocument, readDocument, readText } from './document.js'
import { filesIn } from './folder.js'
import { ProjectError } from './load-project.js'

/** What the work of a project is held to: one document of its folders `gates/`, `intents/` or `knowledge/`. */
export type ProjectStandard = {
  /** Relative to the project folder, for messages. */
  readonly file: string
  readonly kind: StandardFolder['kind']
  readonly document: JsonObject
}

export type StandardFolder = (typeof STANDARD_FOLDERS)[number]

export const STANDARD_FOLDERS = [
  { kind: 'gate', folder: 'gates', idField: 'gate_id', files: /^[^.].*\.(json|ya?ml)$/ },
  { kind: 'intent', folder: 'intents', idField: 'intent_id', files: /^[^.].*\.(json|ya?ml)$/ },
  { kind: 'knowledge', folder: 'knowledge', idField: 'entry_id', files: /^[^.].*\.(json|ya?ml|md)$/ },
] as const

/** Reads them all. Throws ProjectError with every problem found; whether they make sense is for the host to say. */
export async function loadStandards(dir: string): Promise<readonly ProjectStandard[]> {
  const problems: string[] = []
  const found = new Map<string, ProjectStandard>()
  for (const { kind, folder, idField, files } of STANDARD_FOLDERS)
    for (const name of await filesIn(path.join(dir, folder), files)) {
      const file = path.join(folder, name)
      try {
        const document = await readStandard(path.join(dir, file), kind)
        const id = `${kind} ${String(document[idField])}`
        const other = found.get(id)
        if (other === undefined) found.set(id, { file, kind, document })
        else problems.push(`${file}: the ${id} is already in ${other.file}; give one another id`)
      } catch (error) {
        if (!(error instanceof DocumentError)) throw error
        problems.push(error.message)
      }
    }
  if (problems.length > 0) throw new ProjectError(problems)
  return [...found.values()]
}

/** One file; its id defaults to the file's name. */
export async function readStandard(file: string, kind: StandardFolder['kind']): Promise<JsonObject> {
  const { idField } = STANDARD_FOLDERS.find(one => one.kind === kind)!
  const isProse = kind === 'knowledge' && path.extname(file) === '.md'
  const document = isProse ? fromProse(await readText(file), file) : await readDocument(file)
  if (!isObject(document)) throw new DocumentError(`${file}: must hold one document (an object)`)
  return { [idField]: path.basename(file, path.extname(file)), ...document }
}

/** Prose is its own text; its title is its first heading, unless what stands between `---` lines above it says more. */
function fromProse(prose: string, file: string): JsonObject {
  const [, front, body = prose] = /^---\r?\n([\s\S]*?\n)?---\r?\n([\s\S]*)$/.exec(prose) ?? []
  const said = front === undefined || front.trim() === '' ? {} : parseDocument(front, `${file}.yaml`)
  if (!isObject(said)) throw new DocumentError(`${file}: must have fields such as title: … between its --- lines`)
  const title = /^#{1,6} +(.+?)[ #]*$/m.exec(body)?.[1]
  return { ...(title === undefined ? {} : { title }), text: body.trim(), ...said }
}
