import { mkdirSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { refuseOlderLine, stepsFrom } from '../migration.js'
import { appliedSteps, Connection } from './connection.js'
import { MIGRATIONS } from './migrations/index.js'
import { ensurePrivateFile } from './private-file.js'
import { SQL } from './statements.js'

/** File systems on which SQLite's locks or its shared memory cannot be trusted. */
const NETWORK_FILESYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x5346414f, 'AFS'],
  [0x01021997, '9P'],
])

/** Creates the file if it is not there, for its owner only, and brings its schema up to date. */
export function prepareDatabase(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  refuseNetworkFilesystem(path)
  ensurePrivateFile(path)
  const connection = new Connection(path, 10_000, ['journal_mode = WAL', 'synchronous = FULL'])
  try {
    migrate(connection, path)
  } finally {
    connection.close()
  }
}

function refuseNetworkFilesystem(path: string): void {
  const kind = NETWORK_FILESYSTEMS.get(statfsSync(dirname(path)).type >>> 0)
  if (kind) throw new Error(`${path} is on a network file system (${kind}), where SQLite can lose data`)
}

function migrate(connection: Connection, path: string): void {
  connection.exec('BEGIN IMMEDIATE')
  try {
    const applied = appliedSteps(connection)
    refuseOlderLine(applied, MIGRATIONS, path)
    for (const { version, name, sql } of stepsFrom(applied.at(-1)?.version ?? 0, MIGRATIONS, path)) {
      connection.exec(sql)
      connection.run(SQL.migrations.add, version, name)
    }
    connection.exec('COMMIT')
  } catch (error) {
    connection.exec('ROLLBACK')
    throw error
  }
}
