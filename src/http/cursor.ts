import { sha256 } from '../digest.js'

/**
 * A place in a tenant's list of runs. Not a secret — the query filters by tenant whatever a cursor says — but bound to
 * its tenant, so that one taken from elsewhere is refused instead of silently starting at a stranger's place.
 */
export const writeCursor = (tenant: string, runId: string): string =>
  Buffer.from(`${runId}.${seal(tenant, runId)}`).toString('base64url')

/** The run id in the cursor, or undefined when it is not one of this tenant's. */
export function readCursor(tenant: string, cursor: string): string | undefined {
  const [runId = '', sealed, ...rest] = Buffer.from(cursor, 'base64url').toString().split('.')
  return rest.length === 0 && sealed === seal(tenant, runId) ? runId : undefined
}

const seal = (tenant: string, runId: string): string => sha256(`${tenant}\n${runId}`).slice(0, 16)
