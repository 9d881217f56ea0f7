import { sha256 } from '../../digest.js'

/**
 * The identity of one logical outside effect (contract core §4.2). The attempt is not part of it: a retry, a restart
 * and a second host all name the same effect, so it can be claimed once and recognised by its receiver.
 */
export const effectIdentity = (
  tenant: string,
  runId: string,
  nodeId: string,
  ordinal: number | string,
  provider: string,
): string => sha256(['openwop:activity:v2', tenant, runId, nodeId, ordinal, provider].join('\0'), 'base64url')
