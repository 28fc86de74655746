/**
 * Name resolution over DNS alone, for hosts that any caller can name.
 *
 * The resolver of the operating system (`dns.lookup`) runs in two threads of the process. The look-up of a name whose servers do not respond
 * keeps its thread for up to half a minute, whatever timeout its caller has. A caller that names a few such hosts would therefore stop
 * every other look-up: of the database, of a chain, and of the hosts of registered clients. This resolver uses no thread.
 */
import { type LookupAddress, lookup as lookupBySystem, promises } from 'node:dns'

/** Milliseconds for each attempt. A call ends after three seconds. */
const ATTEMPT = { timeout: 1_000, tries: 2 }

export type NameLookup = typeof lookupBySystem

/** `servers`: addresses of DNS servers; those of the operating system unless set. */
export function createDnsLookup(servers?: readonly string[]): NameLookup {
  const resolver = new promises.Resolver(ATTEMPT)
  if (servers) resolver.setServers(servers)

  async function resolve(name: string): Promise<LookupAddress[]> {
    const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = [...addressesOf(four, 4), ...addressesOf(six, 6)]
    if (addresses.length === 0 && four.status === 'rejected') throw four.reason
    return addresses
  }

  const lookup = (
    name: string,
    options: object,
    callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
  ): void => {
    // RFC 6761 §6.3: the names of this machine are not in the DNS.
    if (name === 'localhost' || name.endsWith('.localhost')) return lookupBySystem(name, { ...options, all: true }, callback)
    resolve(name).then(
      (addresses) => callback(null, addresses),
      (error: NodeJS.ErrnoException) => callback(error, []),
    )
  }
  return lookup as unknown as NameLookup
}

function addressesOf(settled: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return settled.status === 'fulfilled' ? settled.value.map((address) => ({ address, family })) : []
}
