/**
 * Which readers may see an ending: those of the resources of the grant, and those for whose resource a token of the grant can be exchanged
 * (RFC 8693).
 */
import type { Client } from '../model/records.ts'

/** The group of entries that every reader sees. */
export const EVERYONE = 0
/**
 * The number of different combinations of resources. Entries of further combinations are sent to every reader, which can read nothing but
 * identifiers: otherwise a client with many resources could fill the memory with combinations.
 */
const GROUPS_AT_MOST = 4096

/** From the resource of a resource server to the resources for which this server may exchange tokens; `client` is its id. */
export type Exchanges = readonly { client: string; from: string; to: readonly string[] }[]

export function exchangesOf(clients: readonly Client[]): Exchanges {
  return clients.flatMap(({ id: client, resourceServer: from, exchangeResources: to }) =>
    from === null || to.length === 0 ? [] : [{ client, from, to }],
  )
}

export class Visibility {
  readonly #groups = new Map<string, number>()
  readonly #resources: (readonly string[])[] = [[]]
  /** from the resource of a reader to what the reader may see */
  readonly #readers = new Map<string, { reach: ReadonlySet<string>; isVisible: boolean[] }>()
  #exchanges: Exchanges = []

  /** The group of entries with these resources. */
  groupOf(resources: readonly string[]): number {
    const name = resources.toSorted().join(' ')
    const known = this.#groups.get(name)
    if (known !== undefined) return known
    if (this.#groups.size >= GROUPS_AT_MOST) return EVERYONE
    this.#groups.set(name, this.#resources.length)
    return this.#resources.push(resources) - 1
  }

  /** The group of entries that concern the resources of both groups. */
  join(some: number, others: number): number {
    if (some === EVERYONE || others === EVERYONE) return EVERYONE
    return this.groupOf([...new Set([some, others].flatMap((group) => this.#resources[group] ?? []))])
  }

  /** The ids of the clients that may exchange tokens for the resources of the group. */
  exchangersOf(group: number): string[] {
    const resources = this.#resources[group] ?? []
    const found = this.#exchanges.filter(({ from }) => group === EVERYONE || resources.includes(from))
    return [...new Set(found.map(({ client }) => client))]
  }

  sees(reader: string, group: number): boolean {
    if (group === EVERYONE) return true
    const { reach, isVisible } = this.#reader(reader)
    return (isVisible[group] ??= (this.#resources[group] ?? []).some((resource) => reach.has(resource)))
  }

  /**
   * Replaces the exchanges, and returns the readers that may now see more than before. A reader never sees less: tokens that were exchanged
   * before are still valid.
   */
  allow(exchanges: Exchanges): string[] {
    this.#exchanges = [...exchanges, ...this.#exchanges.filter((earlier) => !isListed(earlier, exchanges))]
    return [...this.#readers].flatMap(([reader, { reach }]) => {
      if (this.#reachOf(reader).size === reach.size) return []
      this.#readers.delete(reader)
      return [reader]
    })
  }

  #reader(resource: string) {
    let reader = this.#readers.get(resource)
    if (!reader) this.#readers.set(resource, (reader = { reach: this.#reachOf(resource), isVisible: [] }))
    return reader
  }

  /** The resource, and every resource whose tokens can become tokens for it, in any number of exchanges. */
  #reachOf(resource: string): Set<string> {
    const reach = new Set([resource])
    for (const reached of reach) for (const { from, to } of this.#exchanges) if (to.includes(reached)) reach.add(from)
    return reach
  }
}

function isListed({ client, from, to }: Exchanges[number], exchanges: Exchanges): boolean {
  return exchanges.some(
    (each) => each.client === client && each.from === from && to.every((resource) => each.to.includes(resource)),
  )
}
