import net from 'node:net'
import { isPublicAddress } from './address.js'

/** Where a request may go. Nothing here touches the network; names are judged again by what they resolve to. */
export type Target = {
  readonly url: URL
  /** Without brackets and without the dot of the root, as certificates and resolvers spell it. */
  readonly host: string
  /** The address, when the URL names one instead of a host. */
  readonly literal: string | undefined
}

export type UrlProblem = {
  readonly code: 'malformed-url' | 'refused-url' | 'blocked-address' | 'unresolvable'
  /** Says what to change; repeats nothing of the URL, which may hold secrets. */
  readonly message: string
}

export type UrlVerdict =
  | { readonly ok: true; readonly target: Target }
  | { readonly ok: false; readonly problem: UrlProblem }

/** `allowPrivate` lifts the rules about scheme, port, name and address together: a half-open door tests nothing. */
export function judgeUrl(text: string, allowPrivate: boolean): UrlVerdict {
  if (!URL.canParse(text)) return no('malformed-url', 'it is not an absolute URL')
  const url = new URL(text)
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  const literal = net.isIP(host) === 0 ? undefined : host
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) return no('refused-url', 'use https')
  if (host === '') return no('refused-url', 'it names no host')
  if (url.username !== '' || url.password !== '') return no('refused-url', 'leave user name and password out')
  // `url.hash` is empty for a lone `#`, too.
  if (url.href.includes('#')) return no('refused-url', 'leave the fragment out')
  if (!allowPrivate) {
    if (CLOSED_PORTS.has(Number(url.port))) return no('refused-url', 'its port belongs to another protocol')
    if (isLocalName(host)) return no('blocked-address', 'its host is not on the public internet')
    if (literal !== undefined && !isPublicAddress(literal)) {
      return no('blocked-address', 'its address is not on the public internet')
    }
  }
  return { ok: true, target: { url, host, literal } }
}

const no = (code: UrlProblem['code'], message: string): UrlVerdict => ({ ok: false, problem: { code, message } })

/** Names that mean this machine or its network, whatever a resolver says. The URL parser has lower-cased them. */
const isLocalName = (host: string): boolean => /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/.test(host)

/** Ports on which something else than HTTP listens and might take a request for commands. */
export const CLOSED_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 138, 139, 143, 161, 162, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526,
  530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049,
  2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 4222, 5060, 5061, 5432, 5672, 5900, 6000, 6379, 6443, 6566,
  6665, 6666, 6667, 6668, 6669, 6679, 6697, 7000, 9042, 9092, 9200, 9300, 10080, 10250, 11211, 27017,
])
