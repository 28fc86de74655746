/** The stores of clients, resources, keys, webhooks and lists, over what an engine does with the rows of a table. */
import type { ActivityStore } from '../domain/model/activity-store.ts'
import type { DraftStore } from '../domain/model/draft-store.ts'
import { endsTokens, hashOfClient } from '../domain/model/ending-store.ts'
import type { NodeStore } from '../domain/model/node-store.ts'
import type { ClientStore, KeyStore, ListStore, ResourceStore, SmallLists } from '../domain/model/operator-store.ts'
import type { Client } from '../domain/model/records.ts'
import { type WebhookStore, withAttempts } from '../domain/model/webhook-store.ts'
import {
  ACTIVITY,
  ACTIVITY_ENTRIES,
  CLIENT_LOGOS,
  CLIENTS,
  DELIVERY_LOGS,
  DRAFT_ENTRIES,
  DRAFTS,
  KEYS,
  LISTS,
  NODES,
  RESOURCES,
  type RecordTable,
  WEBHOOKS,
} from './record-tables.ts'

/** Changes a record without losing a simultaneous change. `change` may be called more than once; if it returns null, nothing changes. */
export type ChangeRecord<Item> = (key: string, change: (item: Item) => Item | null) => Promise<Item | null>

/** Each function prepares its statements. What it returns runs them. */
export type Records = {
  insert<Item>(table: RecordTable<Item>): (item: Item) => Promise<'inserted' | 'taken'>
  /** `full`: the table has as many rows as it may have, also if several inserts race. */
  insertBounded<Item>(table: RecordTable<Item>): (item: Item) => Promise<'inserted' | 'taken' | 'full'>
  /** Returns the changed record, or null if there is none or `change` returned null. */
  change<Item>(table: RecordTable<Item>): ChangeRecord<Item>
  remove<Item>(table: RecordTable<Item>): (key: string) => Promise<'deleted' | 'unknown'>
  read<Item>(table: RecordTable<Item>): (key: string) => Promise<Item | null>
  list<Item>(table: RecordTable<Item>): () => Promise<Item[]>
  count<Item>(table: RecordTable<Item>): () => Promise<number>
  /** A page in the order of the keys, beginning after the key `after`. */
  page<Item>(table: RecordTable<Item>): (page: { after: string; limit: number }) => Promise<Item[]>
}

type RecordStores = {
  clients: ClientStore
  resources: ResourceStore
  keys: KeyStore
  webhooks: WebhookStore
  drafts: DraftStore
  activity: ActivityStore
  nodes: NodeStore
  lists: ListStore
}

/** Stores that tokens of the client with this hash became inactive, for `EndingStore`. */
export type EndClient = (hash: string) => Promise<void>

export function createRecordStores(records: Records, endClient: EndClient): RecordStores {
  return {
    clients: createClientStore(records, endClient),
    resources: {
      insertResource: records.insertBounded(RESOURCES),
      changeResource: records.change(RESOURCES),
      deleteResource: records.remove(RESOURCES),
      readResource: records.read(RESOURCES),
      listResources: records.list(RESOURCES),
    },
    keys: createKeyStore(records),
    webhooks: createWebhookStore(records),
    drafts: {
      insertDraft: records.insertBounded(DRAFTS),
      readDraft: records.read(DRAFTS),
      listDrafts: records.list(DRAFT_ENTRIES),
      deleteDraft: records.remove(DRAFTS),
    },
    activity: {
      insertActivity: records.insert(ACTIVITY),
      changeActivity: records.change(ACTIVITY),
      readActivity: records.page(ACTIVITY),
      readActivityEntries: records.page(ACTIVITY_ENTRIES),
      deleteActivity: records.remove(ACTIVITY),
    },
    nodes: {
      insertNode: records.insert(NODES),
      changeNode: records.change(NODES),
      listNodes: records.list(NODES),
    },
    lists: createListStore(records),
  }
}

function createClientStore(records: Records, endClient: EndClient): ClientStore {
  const changeClient = endingFirst(records.change(CLIENTS), endClient, (client) => client)
  const changeLogo = endingFirst(records.change(CLIENT_LOGOS), endClient, ({ client }) => client)
  const [read, remove] = [records.read(CLIENTS), records.remove(CLIENTS)]
  return {
    insertClient: records.insert(CLIENTS),
    replaceClient: async (client) => ((await changeClient(client.id, () => client)) ? 'replaced' : 'unknown'),
    changeClient,
    changeClientLogo: async (id, change) => changeLogo(id, ({ client }) => change(client)),
    readClientLogo: records.read(CLIENT_LOGOS),
    async deleteClient(id) {
      if ((await read(id)) !== null) await endClient(hashOfClient(id))
      return remove(id)
    },
    readClient: read,
    listClients: records.list(CLIENTS),
    countClients: records.count(CLIENTS),
    readClients: records.page(CLIENTS),
  }
}

/**
 * Stores the ending of a client before the change that makes tokens of the client inactive. If the process fails in between, the entry is
 * needless and harmless. In the other order, the feed of endings would lack the change.
 */
function endingFirst<Item>(
  change: ChangeRecord<Item>,
  endClient: EndClient,
  clientOf: (item: Item) => Client,
): ChangeRecord<Item> {
  return async (id, toChange) => {
    let isStored = false
    for (;;) {
      let isDue = false
      const changed = await change(id, (item) => {
        const after = toChange(item)
        isDue = !isStored && after !== null && endsTokens(clientOf(item), clientOf(after))
        return isDue ? null : after
      })
      if (!isDue) return changed
      await endClient(hashOfClient(id))
      isStored = true
    }
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
  const [readLog, changeLog] = [records.read(DELIVERY_LOGS), records.change(DELIVERY_LOGS)]
  return {
    insertWebhook: records.insertBounded(WEBHOOKS),
    listWebhooks: records.list(WEBHOOKS),
    changeWebhook: change,
    async moveWebhook({ id, url }, before, progress) {
      let isPaused = false
      const moved = await change(id, (webhook) => {
        isPaused = webhook.pausedAt !== null
        if (webhook.cursor !== before || webhook.url !== url) return null
        return { ...webhook, ...progress, pausedAt: webhook.pausedAt ?? progress.pausedAt }
      })
      if (!moved) return 'changed'
      return isPaused ? 'paused' : 'moved'
    },
    async rewrapWebhook(id, before, after) {
      const changed = await change(id, (webhook) => (webhook.secret === before ? { ...webhook, secret: after } : null))
      return changed ? 'rewrapped' : 'changed'
    },
    deleteWebhook: records.remove(WEBHOOKS),
    async logAttempts(id, attempts) {
      await changeLog(id, ({ deliveries }) => ({ id, deliveries: withAttempts(deliveries, attempts) }))
    },
    readAttempts: async (id) => (await readLog(id))?.deliveries ?? null,
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
