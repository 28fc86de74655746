/**
 * Whether an IP address belongs to the public internet. If a client registers an address of this machine's own network,
 * a call to it would use the trust that this network gives to this machine (server-side request forgery).
 */
import { BlockList, isIP } from 'node:net'

/** IANA's special-purpose registries (RFC 6890), multicast and reserved blocks: `[network, prefix]`. */
const NOT_PUBLIC_4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]
/** Within 2000::/3: protocol assignments with Teredo and ORCHID, documentation, and 6to4, which contains an IPv4 address. */
const NOT_PUBLIC_6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const notPublic = new BlockList()
for (const [network, prefix] of NOT_PUBLIC_4) notPublic.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of NOT_PUBLIC_6) notPublic.addSubnet(network, prefix, 'ipv6')

// All other ranges are loopback, unique-local, link-local, multicast, or other forms of IPv4 addresses (::ffff:…,
// 64:ff9b::…).
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

const development = new BlockList()
development.addSubnet('127.0.0.0', 8, 'ipv4')
development.addAddress('::1', 'ipv6')

export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublic.check(address, 'ipv4')
    case 6:
      // A zone (`%eth0`) makes any address local.
      return !address.includes('%') && global6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
    default:
      return false
  }
}

/** This machine itself, on which a developer's client may run. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && !address.startsWith('::ffff:') && development.check(address, family === 4 ? 'ipv4' : 'ipv6')
}
