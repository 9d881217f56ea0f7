import { hash } from 'node:crypto'
import { canonicalJson } from '../../core/json.js'
import type { Perform } from './performing.js'

/** Evidence first: what the host can find out by itself, and what is known of those who will judge. */
export const inspect: Perform<'inspect'> = async (shop, { tenant, runId }, effect, signal) => {
  const { nodeId, since, bound, attempt, round, dimensions, result, output } = effect
  const gateId = bound.gate.gate_id
  const evidence = await shop.inspector.inspect({ tenant, runId, bound, dimensions, output, signal })
  if (signal.aborted) return undefined
  const { n, lower, effectiveVotes } = await shop.records.standing(tenant, gateId, bound.hash)
  const resultHash = `sha256:${hash('sha256', canonicalJson(result), 'hex')}`
  const told = { nodeId, since, gateId, attempt, round, resultHash, evidence, licence: { n, lower } }
  return { input: { type: 'Inspected', ...told, ...(effectiveVotes === undefined ? {} : { effectiveVotes }) } }
}
