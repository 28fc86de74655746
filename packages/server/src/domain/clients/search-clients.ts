/** Searches registered clients for operators. */
import { isClientId } from '../model/client-id.ts'
import type { Client } from '../model/records.ts'
import type { Store } from '../model/store.ts'

/** Clients of one read. */
const READ = 500
/** The store has no index on names, so a search reads this many clients at most. */
export const SEARCHED_AT_MOST = 50_000

/**
 * The clients whose name or id contains the text, sorted by id, after the id `after`. `too_many`: the search has read
 * `SEARCHED_AT_MOST` clients without filling the page.
 */
export async function searchClients(
  { clients }: Pick<Store, 'clients'>,
  text: string,
  page: { limit: number; after: string },
): Promise<Client[] | 'too_many'> {
  if (isClientId(text)) {
    const client = text > page.after ? await clients.readClient(text) : null
    return client ? [client] : []
  }
  const wanted = text.toLowerCase()
  const found: Client[] = []
  let { after } = page
  for (let read = 0; read < SEARCHED_AT_MOST; read += READ) {
    const rows = await clients.readClients({ after, limit: READ })
    found.push(...rows.filter(({ id, name }) => id.includes(wanted) || name.toLowerCase().includes(wanted)))
    if (found.length >= page.limit || rows.length < READ) return found.slice(0, page.limit)
    after = rows.at(-1)?.id ?? after
  }
  return 'too_many'
}
