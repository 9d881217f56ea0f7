import { AssayClient } from '../../client/assay-client.js'
import { readLocalKey } from '../../client/local-key.js'
import { findServer } from '../../client/local-server.js'
import { loadClientConfig } from '../../config.js'

/** Options every command takes. */
export type GlobalOptions = {
  readonly url?: string
  readonly key?: string
  readonly data?: string
  readonly json?: boolean
}

export const DEFAULT_URL = 'http://127.0.0.1:4100'

/** A client of the server that is named, or else of the one that announced itself in the data folder. */
export async function connect(options: GlobalOptions): Promise<AssayClient> {
  const config = loadClientConfig(options)
  const local = config.url === undefined ? await findServer(config.data) : undefined
  const url = config.url ?? local?.url ?? DEFAULT_URL
  // The local key never leaves this machine.
  const key =
    config.key ?? (config.url === undefined || isLocal(config.url) ? await readLocalKey(config.data) : undefined)
  return new AssayClient({ url, key })
}

const isLocal = (url: string): boolean => ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)
