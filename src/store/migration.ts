import { readdirSync } from 'node:fs'
import { readSql } from './sql-file.js'

/** One numbered, immutable step of a schema. */
export type Migration = { readonly version: number; readonly name: string; readonly sql: string }

/** A step as a database lists it. */
export type AppliedStep = Pick<Migration, 'version' | 'name'>

const FILE = /^(\d{4})-([\w-]+)\.sql$/

/** The steps in a folder, `0001-baseline.sql` and what follows it, in their order. */
export function readMigrations(folder: URL): readonly Migration[] {
  return readdirSync(folder)
    .sort()
    .flatMap(file => {
      const [, version, name] = FILE.exec(file) ?? []
      return name === undefined ? [] : [{ version: Number(version), name, sql: readSql(new URL(file, folder)) }]
    })
}

/** The steps a database still needs. Refuses a database that a newer Assay has changed: this one would misread it. */
export function stepsFrom(applied: number, known: readonly Migration[], database: string): readonly Migration[] {
  const newest = known.at(-1)?.version ?? 0
  if (applied > newest) {
    throw new Error(
      `${database} has schema version ${applied}, but this version of Assay knows only up to ${newest}. ` +
        'Start the version of Assay that wrote it, or a newer one.',
    )
  }
  return known.filter(step => step.version > applied)
}

/**
 * Before the first release the steps were made one baseline, and their numbers begin anew. A database that began
 * otherwise is of before, whatever its number is; nothing leads from it to here.
 */
export function refuseOlderLine(applied: readonly AppliedStep[], known: readonly Migration[], database: string): void {
  const [first] = applied
  if (first === undefined || first.name === known[0]?.name) return
  throw new Error(
    `${database} was written before the first release of Assay (its schema begins with "${first.name}" and has come to ` +
      `version ${applied.at(-1)?.version}) and cannot be upgraded; nothing in it was changed. Start the Assay that wrote ` +
      'it, or begin with an empty database: move this one away, or name another with --data or --database.',
  )
}
