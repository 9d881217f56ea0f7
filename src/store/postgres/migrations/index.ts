import { readdirSync } from 'node:fs'
import type { Migration } from '../../migration.js'
import { readSql } from '../../sql-file.js'

/**
 * The steps of this folder, in the order of their numbers: `0002-name.sql`, or a folder of such a name whose files are
 * one step together. A released step is never edited, a new one is added.
 */
export const MIGRATIONS: readonly Migration[] = sorted(new URL('.', import.meta.url)).flatMap(entry => {
  const step = /^(?<number>\d{4})-(?<name>[a-z0-9-]+)(?<isFile>\.sql)?$/.exec(entry)?.groups
  if (!step) return []
  const { number, name = '', isFile } = step
  const sql = isFile ? readSql(new URL(entry, import.meta.url)) : readFolder(new URL(`${entry}/`, import.meta.url))
  return [{ version: Number(number), name, sql }]
})

function readFolder(folder: URL): string {
  const texts = sorted(folder).map(file => readSql(new URL(file, folder)))
  return texts.join('\n')
}

function sorted(folder: URL): string[] {
  return readdirSync(folder).sort()
}
