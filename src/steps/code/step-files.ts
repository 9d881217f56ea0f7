import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { sha256 } from '../../digest.js'

/** `steps/<name>.ts` or `.mjs` of the project is the step of that name; what they share stands in folders below. */
export type StepFile = { readonly name: string; readonly file: string }

const STEP = /^([A-Za-z0-9][A-Za-z0-9_-]{0,63})\.(?:m?ts|mjs)$/
const CODE = /\.(?:[cm]?[jt]s|json)$/
/** Of all the code of a project's steps; whoever has more keeps it elsewhere. */
const MOST_FILES = 1_000

export async function stepFiles(project: string): Promise<readonly StepFile[]> {
  const entries = await readdir(path.join(project, 'steps'), { withFileTypes: true }).catch(noFolder)
  return entries
    .filter(entry => entry.isFile() && !/\.(?:d|test)\.m?ts$|\.test\.mjs$/.test(entry.name))
    .flatMap(({ name }) => {
      const step = STEP.exec(name)?.[1]
      return step === undefined ? [] : [{ name: step, file: path.join(project, 'steps', name) }]
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Of the file, and of whatever stands in the folders below, which it may import. */
export async function codeDigest(file: string): Promise<string> {
  const folder = path.dirname(file)
  const shared = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile() && CODE.test(entry.name) && entry.parentPath !== folder)
    .map(entry => path.join(entry.parentPath, entry.name))
    .filter(name => !name.includes(`${path.sep}node_modules${path.sep}`))
    .sort()
    .slice(0, MOST_FILES)
  const parts = await Promise.all(
    [file, ...shared].map(async name => `${path.relative(folder, name)}\0${sha256(await readFile(name))}`),
  )
  return sha256(parts.join('\n'))
}

function noFolder(error: NodeJS.ErrnoException): never[] {
  if (error.code === 'ENOENT') return []
  throw error
}
