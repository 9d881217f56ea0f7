import { isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '../core/problem.js'

/**
 * Whether a request was meant for this host. A page whose name resolves to this machine is, to a browser, of the same
 * origin as what it fetches from here; only the Host header tells that it is not (DNS rebinding).
 */
export function hostHeaderCheck(
  allowed: readonly string[] | undefined,
): (request: FastifyRequest) => Refusal | undefined {
  const names = allowed && new Set(allowed.map(spelled))
  return ({ raw, headers }) => {
    if (hasTwo(raw.rawHeaders, 'host')) return TWICE
    return names === undefined || names.has(nameIn(headers.host ?? '')) ? undefined : MISDIRECTED
  }
}

const TWICE = refuse('validation_error', 'The request has more than one Host header; send one.', { field: 'Host' })

const MISDIRECTED = refuse(
  'misdirected_request',
  'The Host header names another server; use an address this host listens on, or add the name to allowedHosts.',
  { field: 'Host' },
)

/** Node keeps the first of two headers, or joins them; another reader might take the second. */
export function hasTwo(rawHeaders: readonly string[], name: string): boolean {
  let seen = false
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string
    if (header.length !== name.length || header.toLowerCase() !== name) continue
    if (seen) return true
    seen = true
  }
  return false
}

/** Without the port. */
const nameIn = (header: string): string => header.replace(/:\d*$/, '').toLowerCase()

const spelled = (name: string): string => (isIPv6(name) ? `[${name}]` : name).toLowerCase()
