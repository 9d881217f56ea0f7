import { readFile } from 'node:fs/promises'
import type { LoadHook, ResolveHook } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from '@swc/wasm-typescript'

/** How modules of a project are found and read in a process of their own: TypeScript without its types. */

/** What a project imports from here is the little that its files need, wherever this is installed. */
const OURS: { readonly [name: string]: string } = {
  assay: new URL('../index.js', import.meta.url).href,
  'assay/steps': new URL('../index.js', import.meta.url).href,
}

const find: ResolveHook = async (specifier, context, next) => {
  const url = OURS[specifier]
  if (url !== undefined) return { url, shortCircuit: true }
  try {
    return await next(specifier, context)
  } catch (error) {
    // TypeScript lets a module be named as what will become of it.
    if (!/^\.{1,2}\/.*\.m?js$/.test(specifier)) throw error
    return next(specifier.replace(/js$/, 'ts'), context)
  }
}

const read: LoadHook = async (url, context, next) => {
  if (!/\.m?ts$/.test(url)) return next(url, context)
  const filename = fileURLToPath(url)
  const { code } = transformSync(await readFile(filename, 'utf8'), { filename, mode: 'strip-only', module: true })
  return { format: 'module', source: code, shortCircuit: true }
}

/** By the names that Node knows them by. */
export { find as resolve, read as load }
