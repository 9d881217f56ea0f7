import net from 'node:net'

/**
 * Which addresses are on the public internet. Judged is the address itself, never its spelling, and an IPv6 address
 * that carries an IPv4 one (mapped, NAT64, 6to4) is judged by what it carries.
 */
export function isPublicAddress(address: string): boolean {
  switch (net.isIP(address)) {
    case 4:
      return !NOT_PUBLIC_4.check(address, 'ipv4')
    case 6:
      // A zone (`%eth0`) names an interface of this machine.
      return !address.includes('%') && isPublic6(address)
    default:
      return false
  }
}

function isPublic6(address: string): boolean {
  const groups = groupsOf(address)
  const carried = carriedAddress(groups)
  if (carried !== undefined) return isPublicAddress(carried)
  return GLOBAL_6.check(address, 'ipv6') && !NOT_PUBLIC_6.check(address, 'ipv6')
}

/** The IPv4 address inside ::ffff:0:0/96, 64:ff9b::/96 and 2002::/16. */
function carriedAddress(groups: readonly number[]): string | undefined {
  const start = groups.slice(0, 6).join()
  if (start === MAPPED || start === NAT64) return dotted(groups[6], groups[7])
  return groups[0] === SIX_TO_FOUR ? dotted(groups[1], groups[2]) : undefined
}

const MAPPED = [0, 0, 0, 0, 0, 0xffff].join()
const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0].join()
const SIX_TO_FOUR = 0x2002

const dotted = (high = 0, low = 0): string => [high >> 8, high & 255, low >> 8, low & 255].join('.')

/** The eight groups of an IPv6 address, which `net.isIP` has found to be one. */
function groupsOf(address: string): number[] {
  // The URL parser writes a trailing IPv4 part as two groups, so that only one notation is left.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after].map(group => Number.parseInt(group, 16))
}

const NOT_PUBLIC_4 = ranges('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Public by number, yet answered by Azure's host to the machine itself.
  '168.63.129.16/32',
])

/** All global unicast addresses there are; loopback, ULA, link-local, site-local and multicast lie outside. */
const GLOBAL_6 = ranges('ipv6', ['2000::/3'])

/** Within 2000::/3: protocol assignments (Teredo, ORCHID, benchmarking) and documentation. */
const NOT_PUBLIC_6 = ranges('ipv6', ['2001::/23', '2001:db8::/32', '3fff::/20'])

function ranges(family: 'ipv4' | 'ipv6', list: readonly string[]): net.BlockList {
  const blocks = new net.BlockList()
  for (const range of list) {
    const [start = '', bits] = range.split('/')
    blocks.addSubnet(start, Number(bits), family)
  }
  return blocks
}
