import { pathToFileURL } from 'node:url'

/** Code that the operator wrote for this host: the one place that imports what is not known beforehand. */
export async function loadModule(file: string): Promise<unknown> {
  const module: { readonly default?: unknown } = await import(pathToFileURL(file).href)
  return module.default
}
