import { readFileSync } from 'node:fs'

/** The version of this package, as discovery and `assay --version` tell it. */
export const packageVersion = (): string =>
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
