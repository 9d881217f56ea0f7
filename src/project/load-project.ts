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
 * Reads `workflows/*.{json,yaml,yml}`, in name order. A folder without `workflows` has none. Throws ProjectError with
 * every problem found; whether a definition makes sense is for the host to say.
 */
export async function loadProject(dir: string): Promise<Project> {
  const names = await workflowFiles(dir)
  const problems: string[] = []
  const workflows = new Map<string, ProjectWorkflow>()
  for (const name of names) {
    const file = path.join('workflows', name)
    try {
      const definition = await readDefinition(path.join(dir, file))
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

/** One workflow file, completed; its id defaults to the file's name. */
export async function readDefinition(file: string): Promise<JsonObject> {
  const document = await readDocument(file)
  if (!isObject(document)) throw new DocumentError(`${file}: must hold one workflow definition (an object)`)
  const definition = completeDefinition(document, path.basename(file, path.extname(file)))
  if (typeof definition.id !== 'string') throw new DocumentError(`${file}: id must be a string`)
  return definition
}

async function workflowFiles(dir: string): Promise<string[]> {
  if (!(await isFolder(dir))) throw new ProjectError([`${dir}: no such project folder; check --project`])
  const folder = path.join(dir, 'workflows')
  const names = await filesIn(folder, /^[^.].*\.(json|ya?ml)$/)
  if (names.length > MAX_WORKFLOWS) throw new ProjectError([`${folder}: more than ${MAX_WORKFLOWS} workflow files`])
  return names
}
