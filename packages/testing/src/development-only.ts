/** A test issuer gives tokens to every caller, so no stranger may reach the issuer. */
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { CommandError, EXIT, isDevelopmentHost } from 'grantor/private'

/** The networks of the IANA special-purpose registries (RFC 6890) that are not globally reachable and that a machine may use. */
const PRIVATE_NETWORKS = [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['198.18.0.0', 15],
  ['192.0.2.0', 24],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
  ['2001:db8::', 32],
] as const

const WILDCARDS = ['0.0.0.0', '::']

const privateAddresses = new BlockList()
for (const [network, bits] of PRIVATE_NETWORKS) privateAddresses.addSubnet(network, bits, familyOf(network))

type Place = {
  /** the address to listen on */
  host: string
  /** the host name in the URLs of the issuer */
  name: string
  env: Readonly<Record<string, string | undefined>>
  /** the addresses of this machine; those of the operating system unless given */
  ownAddresses?: readonly string[]
}

/** Throws before anything is started, unless the issuer is for development and no stranger can reach it. */
export function requireDevelopment({ host, name, env, ownAddresses = addressesOfThisMachine() }: Place): void {
  if (env.NODE_ENV === 'production')
    throw refusal('NODE_ENV is production. The test issuer gives a token to every caller. Use grantor serve')
  const isWildcard = WILDCARDS.includes(host)
  const open = isWildcard
    ? ownAddresses.find((address) => !isPrivate(address))
    : isIP(host) && !isPrivate(host)
      ? host
      : undefined
  if (open !== undefined)
    throw refusal(`${open} is a public address, and the test issuer gives a token to every caller. Listen on 127.0.0.1`)
  if (!isWildcard && !isLoopback(host))
    throw refusal(`it listens on a loopback address, or in a container on 0.0.0.0, not on ${JSON.stringify(host)}`)
  if (!isDevelopmentHost(name))
    throw refusal(`its host name must be localhost, *.localhost, *.test or a loopback address, not ${JSON.stringify(name)}`)
}

export function isLoopback(host: string): boolean {
  return host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function isPrivate(address: string): boolean {
  return privateAddresses.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}

function addressesOfThisMachine(): string[] {
  return Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address))
}

function refusal(why: string): CommandError {
  return new CommandError(`the test issuer was not started: ${why}`, EXIT.usage)
}
