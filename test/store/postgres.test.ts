import { afterAll, beforeAll } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.js'
import { startPostgres, type TestPostgres } from '../support/postgres.js'
import { storeContract } from './contract.js'

let server: TestPostgres
let database: string
let schemas = 0

beforeAll(async () => {
  server = await startPostgres()
  database = await server.createDatabase()
})

afterAll(() => server.stop())

storeContract({
  name: 'postgres',
  open: async () => {
    schemas += 1
    const options = { schema: `contract_${schemas}` }
    return { store: await openPostgresStore(database, options), peer: () => openPostgresStore(database, options) }
  },
})
