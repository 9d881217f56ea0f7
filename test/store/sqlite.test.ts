import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.js'
import { storeContract } from './contract.js'

storeContract({
  name: 'sqlite',
  open: async () => {
    const store = await openSqliteStore(join(await mkdtemp(join(tmpdir(), 'assay-sqlite-')), 'assay.db'))
    return { store, peer: async () => store }
  },
})
