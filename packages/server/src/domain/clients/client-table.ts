/**
 * The clients in memory, for lists that are sorted and searched: the store has no index on names. The table has what lists sort and search by, not
 * the whole records. When the revision of the store has changed, only the clients that changed since are read again.
 */
import { isClientId } from '../model/client-id.ts'
import type { Client } from '../model/records.ts'
import type { Store } from '../model/store.ts'
import { namedRow } from './deceptive-names.ts'

/** `skeleton`: names that look alike have the same one. */
export type ClientRow = Pick<Client, 'id' | 'name' | 'type' | 'createdAt' | 'disabledAt'> & { skeleton: string }

/** Clients of one read. */
const READ = 500
/** The most clients of a table: about 10 MB. */
export const CLIENTS_IN_TABLE = 50_000

type ClientTableStore = Pick<Store, 'clients' | 'readRevision' | 'readChanges'>
/** By id. Null if there are more than `CLIENTS_IN_TABLE` clients. */
type ClientRows = Map<string, ClientRow> | null
type LoadedClients = { revision: number; rows: Promise<ClientRows> }

const tables = new WeakMap<ClientTableStore['clients'], LoadedClients>()

/** Later calls change the same map, so read the rows before the next `await`. */
export async function readClientTable(store: ClientTableStore): Promise<ReadonlyMap<string, ClientRow> | null> {
  const revision = await store.readRevision()
  const present = tables.get(store.clients)
  if (present?.revision === revision) return present.rows
  const table: LoadedClients = { revision, rows: present ? renewRows(store, present) : readRows(store) }
  tables.set(store.clients, table)
  table.rows.catch(() => tables.delete(store.clients))
  return table.rows
}

async function readRows({ clients }: ClientTableStore): Promise<ClientRows> {
  if ((await clients.countClients()) > CLIENTS_IN_TABLE) return null
  const rows = new Map<string, ClientRow>()
  for (let after = ''; rows.size <= CLIENTS_IN_TABLE; ) {
    const page = await clients.readClients({ after, limit: READ })
    for (const client of page) rows.set(client.id, rowOf(client))
    if (page.length < READ) return rows
    after = page.at(-1)?.id ?? ''
  }
  return null
}

/** Changes after `revision` that are read here too are read again next time, which does no harm. */
async function renewRows(store: ClientTableStore, { revision, rows: before }: LoadedClients): Promise<ClientRows> {
  const [{ changed }, rows] = await Promise.all([store.readChanges(revision), before])
  if (changed === 'everything' || rows === null) return readRows(store)
  const ids = [...new Set(changed)].filter(isClientId)
  const clients = await Promise.all(ids.map((id) => store.clients.readClient(id)))
  for (const [index, id] of ids.entries()) {
    const client = clients[index]
    if (client) rows.set(id, rowOf(client))
    else rows.delete(id)
  }
  return rows.size > CLIENTS_IN_TABLE ? null : rows
}

function rowOf({ id, name, type, createdAt, disabledAt }: Client): ClientRow {
  return { ...namedRow({ id, name }), type, createdAt, disabledAt }
}
