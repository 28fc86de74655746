/** The network of a client address, for limits: one machine in IPv4, one customer's /64 in IPv6. */
import { isIP } from 'node:net'

/**
 * IPv4 unchanged, IPv4-mapped IPv6 as that IPv4, other IPv6 as its /64 (`2001:db8:0:1::/64`): one subscriber usually
 * has 2^64 addresses and would otherwise have as many attempts. Any other text is `unknown`, and so is the address of a
 * caller whose connection is closed: a closed socket has no address.
 */
export function networkOf(ip: string | undefined): string {
  const [address = ''] = (ip ?? '').split('%')
  const version = isIP(address)
  if (version === 4) return address
  if (version !== 6) return 'unknown'
  const groups = expand(address)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  const [high = 0, low = 0] = groups.slice(6)
  if (mapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** The first part of an address, for pages: `203.0.113` or `2001:db8:0`. Empty for any other text. */
export function networkPrefix(ip: string | undefined): string {
  const network = networkOf(ip)
  if (network === 'unknown') return ''
  const separator = network.includes(':') ? ':' : '.'
  return network.split(separator).slice(0, 3).join(separator)
}

/** The eight groups of a valid IPv6 address. */
function expand(address: string): number[] {
  const hex = address.replace(/(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/, (_, a, b, c, d) =>
    [(Number(a) << 8) | Number(b), (Number(c) << 8) | Number(d)].map((group) => group.toString(16)).join(':'),
  )
  const [head = '', tail] = hex.split('::')
  const left = groupsOf(head)
  const right = tail === undefined ? [] : groupsOf(tail)
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function groupsOf(part: string): number[] {
  return part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
}
