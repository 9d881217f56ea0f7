import { openStore, type StoreOptions } from '../store/open-store.js'
import { readTrustedKeys } from './signing-key.js'
import { AuditVerifier, type Integrity } from './verify.js'

/** Checks a database as it lies there, with the keys of a data folder; beside a running host, or without one. */
export async function verifyDatabase(
  url: string,
  data: string,
  runIds: readonly string[] | 'all',
  options?: StoreOptions,
): Promise<Integrity> {
  const store = await openStore(url, options)
  try {
    const verifier = new AuditVerifier({ store, keys: () => readTrustedKeys(data) })
    return await (runIds === 'all' ? verifier.verifyAll() : verifier.verifyRuns(runIds))
  } finally {
    await store.close()
  }
}
