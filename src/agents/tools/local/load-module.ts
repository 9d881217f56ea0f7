import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Code that the operator wrote for this host: the one place that imports what is not known beforehand. A file that was
 * changed is another module; what it imports itself is loaded once.
 */
export async function loadModule(file: string): Promise<unknown> {
  const place = pathToFileURL(file)
  place.search = String((await stat(file)).mtimeMs)
  const module: { readonly default?: unknown } = await import(place.href)
  return module.default
}

/**
 * Why it could not be imported, with the line where that is known. What a module throws by itself may quote anything,
 * also what it read from the environment; what the language says of it quotes no more than the file.
 */
export async function whyNotLoaded(error: unknown, file: string): Promise<string> {
  const { name = '', message = '', stack = '', code } = Object(error) as Partial<NodeJS.ErrnoException>
  const [said] = message.split('\n')
  if (code === 'ERR_MODULE_NOT_FOUND') return `it cannot be loaded: ${said}`
  if (error instanceof SyntaxError) return `it cannot be loaded: ${said}${placeText(await mistakenLine(file))}`
  const [, line] = stack.split(pathToFileURL(file).href)[1]?.match(/^[^\s:]*:(\d+)/) ?? []
  const what = /^[A-Z]\w{0,40}$/.test(name) ? name : 'something'
  return `it throws ${what}${placeText(line)} while it is loaded; \`node ${path.basename(file)}\` in its folder shows what`
}

const placeText = (line: string | undefined): string => (line === undefined ? '' : ` (line ${line})`)

const CHECK_MS = 5_000

/** The error of an import does not say where the mistake is; looking at the file without running it does. */
function mistakenLine(file: string): Promise<string | undefined> {
  return new Promise(resolve => {
    execFile(process.execPath, ['--check', file], { timeout: CHECK_MS, env: {} }, (_error, _stdout, stderr) =>
      resolve(/^[^\n]*:(\d+)\n/.exec(stderr)?.[1]),
    )
  })
}
