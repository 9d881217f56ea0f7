import path from 'node:path'
import { isObject, type JsonObject } from '../core/json.js'
import { completeDefinition } from './complete.js'
import { DocumentError, readDocument } from './document.js'
import { filesIn, isFolder } from './folder.js'

/** Workflows of a project folder, ready for the host to check and register. */
export type Project = { readonly dir: string; readonly workflows: readonly ProjectWorkflow[] }

export type ProjectWorkflow = {
  /** Relative to the project folder, for messages. */
  readonly file: string
  readonly id: string
  readonly definition: JsonObject
}

/** The project cannot be loaded as it is; each problem names its file. */
export class ProjectError extends Error {
  override readonly name = 'ProjectError'
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'))
  }
}

const MAX_WORKFLOWS = 10_000

/**
 * Reads `workflows/*.{json,yaml,yml}`, in name order, and what `compile` makes of those in TypeScript. A folder without
 * `workflows` has none. Throws ProjectError with every problem found; whether a definition makes sense is for the host to say.
 */
export async function loadProject(dir: string, compile: CompileWorkflow = nobodyCompiles): Promise<Project> {
  const names = await workflowFiles(dir)
  const problems: string[] = []
  const workflows = new Map<string, ProjectWorkflow>()
  for (const name of names) {
    const file = path.join('workflows', name)
    try {
      const definition = await definitionIn(path.join(dir, file), compile)
      const id = String(definition.id)
      const other = workflows.get(id)
      if (other !== undefined)
        problems.push(`${file}: the id ${id} is already used by ${other.file}; give one another id`)
      else workflows.set(id, { file, id, definition })
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error
      problems.push(error.message)
    }
  }
  if (problems.length > 0) throw new ProjectError(problems)
  return { dir, workflows: [...workflows.values()] }
}

/** The workflow that a file of code makes, or why it makes none. */
export type CompileWorkflow = (file: string) => Promise<JsonObject | string>

const nobodyCompiles: CompileWorkflow = async () => 'it is code, and compiled only where a host takes up its project'

const CODE = /\.(?:m?ts|mjs)$/

async function definitionIn(file: string, compile: CompileWorkflow): Promise<JsonObject> {
  if (!CODE.test(file)) return readDefinition(file)
  const made = await compile(file)
  if (typeof made === 'string') throw new DocumentError(`${file}: ${made}`)
  return completed(made, file)
}

/** One workflow file, completed; its id defaults to the file's name. */
export async function readDefinition(file: string): Promise<JsonObject> {
  const document = await readDocument(file)
  if (!isObject(document)) throw new DocumentError(`${file}: must hold one workflow definition (an object)`)
  return completed(document, file)
}

function completed(document: JsonObject, file: string): JsonObject {
  const definition = completeDefinition(document, path.basename(file, path.extname(file)))
  if (typeof definition.id !== 'string') throw new DocumentError(`${file}: id must be a string`)
  return definition
}

/** Names of them, in order. */
export async function workflowFiles(dir: string): Promise<string[]> {
  if (!(await isFolder(dir))) throw new ProjectError([`${dir}: no such project folder; check --project`])
  const folder = path.join(dir, 'workflows')
  const names = await filesIn(folder, /^[^.].*(?<!\.d|\.test)\.(json|ya?ml|m?ts|mjs)$/)
  if (names.length > MAX_WORKFLOWS) throw new ProjectError([`${folder}: more than ${MAX_WORKFLOWS} workflow files`])
  return names
}
