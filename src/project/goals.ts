import path from 'node:path'
import { isObject, type JsonObject } from '../core/json.js'
import { DocumentError, readDocument } from './document.js'
import { filesIn } from './folder.js'
import { ProjectError } from './load-project.js'

/** A goal that a project has, in a file of its folder `goals/`. */
export type ProjectGoal = {
  /** Relative to the project folder, for messages. */
  readonly file: string
  /** Under which it is made, once. */
  readonly name: string
  readonly document: JsonObject
}

const FOLDER = 'goals'

/** Reads them all. Throws ProjectError with every problem found; whether they make sense is for the host to say. */
export async function loadGoals(dir: string): Promise<readonly ProjectGoal[]> {
  const problems: string[] = []
  const found = new Map<string, ProjectGoal>()
  for (const file of (await filesIn(path.join(dir, FOLDER), /^[^.].*\.(json|ya?ml)$/)).map(one =>
    path.join(FOLDER, one),
  ))
    try {
      const document = await readDocument(path.join(dir, file))
      const name = path.basename(file, path.extname(file))
      const other = found.get(name)
      if (!isObject(document)) problems.push(`${file}: must hold one goal (an object)`)
      else if (other) problems.push(`${file}: ${other.file} has the same name; give one another`)
      else found.set(name, { file, name, document })
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error
      problems.push(error.message)
    }
  if (problems.length > 0) throw new ProjectError(problems)
  return [...found.values()]
}

/** Makes a goal, unless it was made before; what is wrong with it. */
export type MakeGoal = (goal: ProjectGoal) => Promise<readonly string[]>

/** Makes the goals of a project, once everything that they name is there; what is wrong with them, by file. */
export async function makeGoals(dir: string, make: MakeGoal): Promise<string[]> {
  const problems: string[] = []
  for (const goal of await loadGoals(dir)) problems.push(...(await make(goal)).map(one => `${goal.file}: ${one}`))
  return problems
}
