/** The stores of clients, resources, keys, webhooks and lists, over what an engine does with the rows of a table. */
import type { ClientStore, KeyStore, ListStore, ResourceStore, SmallLists } from '../domain/model/operator-store.ts'
import type { WebhookStore } from '../domain/model/webhook-store.ts'
import { CLIENT_LOGOS, CLIENTS, KEYS, LISTS, RESOURCES, type RecordTable, WEBHOOKS } from './record-tables.ts'

/** Changes a record without losing a simultaneous change. `change` may be called more than once; if it returns null, nothing changes. */
export type Change<Item> = (key: string, change: (item: Item) => Item | null) => Promise<Item | null>

/** Each function prepares its statements. What it returns runs them. */
export type Records = {
  insert<Item>(table: RecordTable<Item>): (item: Item) => Promise<'inserted' | 'taken'>
  /** `full`: the table has as many rows as it may have, also if several inserts race. */
  insertBounded<Item>(table: RecordTable<Item>): (item: Item) => Promise<'inserted' | 'taken' | 'full'>
  /** Returns the changed record, or null if there is none or `change` returned null. */
  change<Item>(table: RecordTable<Item>): Change<Item>
  remove<Item>(table: RecordTable<Item>): (key: string) => Promise<'deleted' | 'unknown'>
  read<Item>(table: RecordTable<Item>): (key: string) => Promise<Item | null>
  list<Item>(table: RecordTable<Item>): () => Promise<Item[]>
  /** A page in the order of the keys, beginning after the key `after`. */
  page<Item>(table: RecordTable<Item>): (page: { after: string; limit: number }) => Promise<Item[]>
}

type RecordStores = { clients: ClientStore; resources: ResourceStore; keys: KeyStore; webhooks: WebhookStore; lists: ListStore }

export function createRecordStores(records: Records): RecordStores {
  const changeClient = records.change(CLIENTS)
  const changeLogo = records.change(CLIENT_LOGOS)
  return {
    clients: {
      insertClient: records.insert(CLIENTS),
      replaceClient: async (client) => ((await changeClient(client.id, () => client)) ? 'replaced' : 'unknown'),
      changeClient,
      changeClientLogo: async (id, change) => changeLogo(id, ({ client }) => change(client)),
      readClientLogo: records.read(CLIENT_LOGOS),
      deleteClient: records.remove(CLIENTS),
      readClient: records.read(CLIENTS),
      listClients: records.list(CLIENTS),
      readClients: records.page(CLIENTS),
    },
    resources: {
      insertResource: records.insertBounded(RESOURCES),
      changeResource: records.change(RESOURCES),
      deleteResource: records.remove(RESOURCES),
      readResource: records.read(RESOURCES),
      listResources: records.list(RESOURCES),
    },
    keys: createKeyStore(records),
    webhooks: createWebhookStore(records),
    lists: createListStore(records),
  }
}

function createKeyStore(records: Records): KeyStore {
  const change = records.change(KEYS)
  return {
    insertKey: records.insert(KEYS),
    listKeys: records.list(KEYS),
    async rewrapKey({ id, kind }, from, to) {
      const isFrom = (wrapped: Uint8Array | null) => wrapped !== null && Buffer.compare(wrapped, from) === 0
      const changed = await change(id, (key) => (key.kind === kind && isFrom(key.wrapped) ? { ...key, wrapped: to } : null))
      return changed ? 'rewrapped' : 'changed'
    },
    async retireKey(id, kind, at) {
      const changed = await change(id, (key) =>
        key.kind === kind && key.retiredAt === null ? { ...key, wrapped: null, retiredAt: at } : null,
      )
      return changed ? 'retired' : 'unknown'
    },
  }
}

function createWebhookStore(records: Records): WebhookStore {
  const change = records.change(WEBHOOKS)
  return {
    insertWebhook: records.insertBounded(WEBHOOKS),
    listWebhooks: records.list(WEBHOOKS),
    changeWebhook: change,
    async moveWebhook(id, before, progress) {
      const moved = await change(id, (webhook) => (webhook.cursor === before ? { ...webhook, ...progress } : null))
      return moved ? 'moved' : 'changed'
    },
    async rewrapWebhook(id, before, after) {
      const changed = await change(id, (webhook) => (webhook.secret === before ? { ...webhook, secret: after } : null))
      return changed ? 'rewrapped' : 'changed'
    },
    deleteWebhook: records.remove(WEBHOOKS),
  }
}

function createListStore(records: Records): ListStore {
  const [read, change] = [records.read(LISTS), records.change(LISTS)]
  const present = <Name extends keyof SmallLists>(name: Name, list: { items: SmallLists[keyof SmallLists][] } | null) => {
    if (!list) throw new Error(`the store has no list "${name}"`)
    return list.items as SmallLists[Name][]
  }
  return {
    readList: async (name) => present(name, await read(name)),
    changeList: async (name, toChange) =>
      present(name, await change(name, (list) => ({ name, items: toChange(present(name, list)) }))),
  }
}
