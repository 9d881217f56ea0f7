import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Config, loadConfig, type Overrides } from '../../config.js'

/** Where this very program is installed, or its clone. */
export const programRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')

/** The project that is served where there is no other, so that there is something to run. */
const BUNDLED = path.join(programRoot, 'examples/hello')

export type Served = { readonly config: Config; readonly isBundled: boolean }

/** What `serve` goes by in this folder. */
export function servedConfig(overrides: Overrides): Served {
  const config = loadConfig(overrides)
  if (config.project !== undefined) return { config, isBundled: false }
  return { config: loadConfig({ ...overrides, project: BUNDLED }), isBundled: true }
}

/** What to type in this folder to get this very program: the file of a clone, or what an installation offers. */
export function commandHere(): string {
  const [folder, installed] = programRoot.split(`${path.sep}node_modules${path.sep}`)
  if (installed === undefined) return path.relative('', path.join(programRoot, 'bin/assay'))
  const isInstalledHere = !path.relative(folder as string, process.cwd()).startsWith('..')
  return isInstalledHere ? 'npx assay' : 'assay'
}
