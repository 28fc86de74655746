/**
 * Whether an IP address is one of the public internet. A client that names an address of this machine's own network would
 * turn us against whoever trusts that network (server-side request forgery).
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
/** Within 2000::/3: protocol assignments with Teredo and ORCHID, documentation, 6to4, which carries an IPv4 address inside. */
const NOT_PUBLIC_6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const notPublic = new BlockList()
for (const [network, prefix] of NOT_PUBLIC_4) notPublic.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of NOT_PUBLIC_6) notPublic.addSubnet(network, prefix, 'ipv6')

// Everything else is loopback, unique-local, link-local, multicast, or a way to write an IPv4 address (::ffff:…, 64:ff9b::…).
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
      // Its zone (`%eth0`) makes an address local whatever it is.
      return !address.includes('%') && global6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
    default:
      return false
  }
}

/** This machine itself, which a developer's client may run on. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && !address.startsWith('::ffff:') && development.check(address, family === 4 ? 'ipv4' : 'ipv6')
}
