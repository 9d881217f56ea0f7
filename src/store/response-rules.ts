import type { RememberedResponse, ResponseKey } from '../engine/ports/remembered-responses.js'

/**
 * Contract core §4.1: a retryable outcome is never replayed (the next try replaces it), and a pending one may be taken
 * over once its lease is over. Both only for the same request: another digest must see what is there and be refused.
 */
export const mayReplace = (existing: RememberedResponse, digest: string, now: number): boolean =>
  existing.digest === digest &&
  (existing.state === 'retryable-failure' || (existing.state === 'pending' && existing.leaseUntil <= now))

export const responseKey = ({ tenant, endpoint, key }: ResponseKey): string => JSON.stringify([tenant, endpoint, key])
