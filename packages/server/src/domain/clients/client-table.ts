/**
 * The clients in memory, for lists that are sorted and searched: the store has no index on names. The table has what lists sort and search by, not
 * the whole records. The table is read again when the revision of the store has changed.
 */
import type { Client } from '../model/records.ts'
import type { Store } from '../model/store.ts'

export type ClientRow = Pick<Client, 'id' | 'name' | 'type' | 'createdAt' | 'disabledAt'>

/** Clients of one read. */
const READ = 500
/** The most clients of a table: about 10 MB. */
export const CLIENTS_IN_TABLE = 50_000

type ClientTableStore = Pick<Store, 'clients' | 'readRevision'>
type LoadedClients = { revision: number; rows: Promise<ClientRow[] | null> }

const tables = new WeakMap<ClientTableStore['clients'], LoadedClients>()

/** Sorted by id. Null if there are more than `CLIENTS_IN_TABLE` clients. */
export async function readClientTable(store: ClientTableStore): Promise<ClientRow[] | null> {
  const revision = await store.readRevision()
  const present = tables.get(store.clients)
  if (present?.revision === revision) return present.rows
  const table: LoadedClients = { revision, rows: readRows(store) }
  tables.set(store.clients, table)
  table.rows.catch(() => tables.delete(store.clients))
  return table.rows
}

async function readRows({ clients }: ClientTableStore): Promise<ClientRow[] | null> {
  const rows: ClientRow[] = []
  for (let after = ''; rows.length <= CLIENTS_IN_TABLE; after = rows.at(-1)?.id ?? '') {
    const page = await clients.readClients({ after, limit: READ })
    rows.push(...page.map(({ id, name, type, createdAt, disabledAt }) => ({ id, name, type, createdAt, disabledAt })))
    if (page.length < READ) return rows
  }
  return null
}
