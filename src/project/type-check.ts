import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { filesIn } from './folder.js'

/** Folders of a project that may hold TypeScript. */
const FOLDERS = ['steps', 'workflows']
const PATIENCE_MS = 120_000
const MOST_TOLD = 20

/** How the files are read where the project does not say so itself: as a host reads them. */
const USUAL = [
  '--strict',
  '--skipLibCheck',
  '--target',
  'es2022',
  '--module',
  'nodenext',
  '--moduleResolution',
  'nodenext',
  '--allowImportingTsExtensions',
]

/** What the compiler of the project says of its TypeScript; nothing where it has no compiler, or none to compile. */
export async function typeProblems(project: string): Promise<string[]> {
  const compiler = compilerOf(project)
  const files = await typeScriptIn(project)
  if (compiler === undefined || files.length === 0) return []
  const own = existsSync(path.join(project, 'tsconfig.json'))
  const said = await run(compiler, project, own ? ['-p', 'tsconfig.json'] : [...USUAL, ...files])
  return said
    .split('\n')
    .filter(line => line.includes('error TS'))
    .slice(0, MOST_TOLD)
}

async function typeScriptIn(project: string): Promise<string[]> {
  const found = await Promise.all(
    FOLDERS.map(async folder =>
      (await filesIn(path.join(project, folder), /\.m?ts$/)).map(name => path.join(folder, name)),
    ),
  )
  return found.flat()
}

function compilerOf(project: string): string | undefined {
  try {
    const own = createRequire(path.join(project, 'package.json'))
    return path.join(path.dirname(own.resolve('typescript/package.json')), 'bin/tsc')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Its exit code says no more than what it prints. */
const run = (compiler: string, cwd: string, args: readonly string[]): Promise<string> =>
  new Promise(resolve => {
    execFile(
      process.execPath,
      [compiler, '--noEmit', '--pretty', 'false', ...args],
      { cwd, env: {}, timeout: PATIENCE_MS, maxBuffer: 16 * 1_048_576 },
      (_error, stdout) => resolve(stdout),
    )
  })
