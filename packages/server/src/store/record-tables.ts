/**
 * The tables whose rows are read and changed whole: what operators registered, the keys, and the small lists. Each is described once for
 * both engines, with its statements, which are the same on both.
 */
import type { Activity, ActivityEntry } from '../domain/model/activity-store.ts'
import { RESOURCES_CHANGED } from '../domain/model/changes.ts'
import { parseClientRecord } from '../domain/model/client-record.ts'
import { DRAFTS_AT_MOST, type Draft, type DraftEntry } from '../domain/model/draft-store.ts'
import type { NodeReport } from '../domain/model/node-store.ts'
import { type ClientWithLogo, type KeyRecord, RESOURCES_AT_MOST, type SmallLists } from '../domain/model/operator-store.ts'
import type { Client, ClientKind, Resource, ResourceScope } from '../domain/model/records.ts'
import { type LoggedAttempt, type StoredWebhook, WEBHOOKS_AT_MOST } from '../domain/model/webhook-store.ts'

/** The values of a row, by the names of the columns in camel case. */
export type Row = Readonly<Record<string, unknown>>

export type RecordTable<Item> = {
  name: string
  key: string
  columns: readonly string[]
  /** the columns by which the list is sorted */
  order: string
  rowOf(item: Item): Row
  itemOf(row: Row): Item
  /** if the number of rows is bounded: the most rows */
  atMost?: number
  /** if a change raises the revision: what the revision lists for the record with this key */
  listedAs?: (key: string) => string
  /** Whether PostgreSQL stores the ids of the latest changes in a column `attempts`. */
  remembersAttempts?: true
  /** Whether simultaneous reads, inserts and changes share a statement on PostgreSQL. The revision lists such a record by its key. */
  usedTogether?: boolean
}

type Description<Item, Columns> = Omit<RecordTable<Item>, 'key' | 'columns' | 'rowOf' | 'itemOf'> & {
  columns: Readonly<Record<keyof Columns, 'key' | 'value'>>
  rowOf(item: Item): Columns
  itemOf(row: Columns): Item
}

/** A column that is missing in `columns` does not compile. */
function recordTable<Item, Columns extends Row>({ columns, ...table }: Description<Item, Columns>): RecordTable<Item> {
  const names = Object.keys(columns)
  const key = names.find((name) => columns[name] === 'key') ?? ''
  return { ...table, key, columns: names, itemOf: (row) => table.itemOf(row as Columns) }
}

export const CLIENTS = recordTable<Client, { id: string; record: string; createdAt: number }>({
  name: 'clients',
  columns: { id: 'key', record: 'value', createdAt: 'value' },
  order: 'created_at, id',
  rowOf: (client) => ({ id: client.id, record: JSON.stringify(client), createdAt: client.createdAt }),
  itemOf: ({ record }) => parseClientRecord(record),
  listedAs: (id) => id,
  usedTogether: true,
})

/** The same rows with the bytes of the logo, which the lists and the requests of clients do not read. */
export const CLIENT_LOGOS = recordTable<
  ClientWithLogo,
  { id: string; record: string; createdAt: number; logo: Uint8Array | null }
>({
  ...CLIENTS,
  columns: { id: 'key', record: 'value', createdAt: 'value', logo: 'value' },
  usedTogether: false,
  rowOf: ({ client, bytes }) => ({ id: client.id, record: JSON.stringify(client), createdAt: client.createdAt, logo: bytes }),
  // PostgreSQL returns a `Buffer`.
  itemOf: ({ record, logo }) => ({ client: parseClientRecord(record), bytes: logo && new Uint8Array(logo) }),
})

/**
 * A resource with a limit has members that a node of an earlier version does not know. `openToWithLimits`: the kinds of clients. Such a node
 * reads an empty list in `openTo`, and refuses each request for the resource. `limited`: the scopes with a limit, and `at` the place of each in the list. A
 * command of the earlier version writes every scope without the limit, but keeps a member that it does not know.
 */
type StoredResource = Resource & { openToWithLimits?: ClientKind[]; limited?: (ResourceScope & { at: number })[] }

function writeResource(resource: Resource): string {
  const limited = resource.scopes.flatMap((scope, at) => (scope.limit === undefined ? [] : [{ at, ...scope }]))
  if (limited.length === 0) return JSON.stringify(resource)
  const scopes = resource.scopes.filter(({ limit }) => limit === undefined)
  const stored: StoredResource = { ...resource, scopes, limited, openTo: [], openToWithLimits: resource.openTo }
  return JSON.stringify(stored)
}

function parseResource(record: string): Resource {
  const { openToWithLimits, limited = [], ...resource } = JSON.parse(record) as StoredResource
  const scopes = resource.scopes.filter(({ name }) => !limited.some((scope) => scope.name === name))
  for (const { at, ...scope } of limited) scopes.splice(at, 0, scope)
  return { ...resource, scopes, openTo: openToWithLimits ?? resource.openTo }
}

export const RESOURCES = recordTable<Resource, { uri: string; record: string }>({
  name: 'resources',
  columns: { uri: 'key', record: 'value' },
  order: 'uri',
  rowOf: (resource) => ({ uri: resource.uri, record: writeResource(resource) }),
  itemOf: ({ record }) => parseResource(record),
  atMost: RESOURCES_AT_MOST,
  listedAs: () => RESOURCES_CHANGED,
})

/** The material is stored as it is passed: wrapped. */
export const KEYS = recordTable<KeyRecord, KeyRecord>({
  name: 'keys',
  columns: {
    id: 'key',
    kind: 'value',
    number: 'value',
    algorithm: 'value',
    wrapped: 'value',
    createdAt: 'value',
    startsAt: 'value',
    retiredAt: 'value',
  },
  order: 'kind, number',
  rowOf: (key) => key,
  // PostgreSQL returns a `Buffer`.
  itemOf: ({ wrapped, ...key }) => ({ ...key, wrapped: wrapped && new Uint8Array(wrapped) }),
  listedAs: (id) => id,
})

export const WEBHOOKS = recordTable<StoredWebhook, Omit<StoredWebhook, 'events'> & { events: string | string[] }>({
  name: 'webhooks',
  columns: {
    id: 'key',
    url: 'value',
    secret: 'value',
    events: 'value',
    createdAt: 'value',
    cursor: 'value',
    failingSince: 'value',
    nextAt: 'value',
    pausedAt: 'value',
  },
  order: 'created_at, id',
  rowOf: ({ events, ...webhook }) => ({ ...webhook, events: JSON.stringify(events) }),
  // PostgreSQL returns JSON parsed.
  itemOf: ({ events, ...webhook }) => ({
    ...webhook,
    events: typeof events === 'string' ? (JSON.parse(events) as string[]) : events,
  }),
  atMost: WEBHOOKS_AT_MOST,
})

/** The delivery log of the same rows, which neither the deliveries nor the list read. */
type DeliveryLog = { id: string; deliveries: LoggedAttempt[] }
export const DELIVERY_LOGS = recordTable<DeliveryLog, { id: string; deliveries: string }>({
  name: WEBHOOKS.name,
  columns: { id: 'key', deliveries: 'value' },
  order: WEBHOOKS.order,
  rowOf: ({ id, deliveries }) => ({ id, deliveries: JSON.stringify(deliveries) }),
  itemOf: ({ id, deliveries }) => ({ id, deliveries: JSON.parse(deliveries) as LoggedAttempt[] }),
})

export const DRAFTS = recordTable<Draft, Draft>({
  name: 'console_drafts',
  columns: { id: 'key', operator: 'value', path: 'value', createdAt: 'value', content: 'value' },
  order: 'created_at, id',
  rowOf: (draft) => draft,
  itemOf: (row) => row,
  atMost: DRAFTS_AT_MOST,
})

/** The same rows without their content. */
export const DRAFT_ENTRIES = recordTable<DraftEntry, DraftEntry>({
  ...DRAFTS,
  columns: { id: 'key', operator: 'value', path: 'value', createdAt: 'value' },
  rowOf: (entry) => entry,
  itemOf: (row) => row,
})

export const ACTIVITY = recordTable<Activity, Activity>({
  name: 'activity',
  columns: { period: 'key', signIns: 'value', sketch: 'value' },
  order: 'period',
  rowOf: (activity) => activity,
  // PostgreSQL returns a `Buffer`.
  itemOf: ({ period, signIns, sketch }) => ({ period, signIns, sketch: new Uint8Array(sketch) }),
  remembersAttempts: true,
})

/** The same rows without the sketches. */
export const ACTIVITY_ENTRIES = recordTable<ActivityEntry, ActivityEntry>({
  name: 'activity',
  columns: { period: 'key', signIns: 'value' },
  order: 'period',
  rowOf: (entry) => entry,
  itemOf: (row) => row,
})

export const NODES = recordTable<NodeReport, { id: string; at: number; record: string }>({
  name: 'nodes',
  columns: { id: 'key', at: 'value', record: 'value' },
  order: 'id',
  rowOf: (report) => ({ id: report.id, at: report.at, record: JSON.stringify(report) }),
  itemOf: ({ record }) => JSON.parse(record) as NodeReport,
})

/** A list is one record, so that a rule about the whole list holds if several changes race. */
export type SmallList = { name: keyof SmallLists; items: SmallLists[keyof SmallLists][] }

export const LISTS = recordTable<SmallList, { name: SmallList['name']; items: string }>({
  name: 'lists',
  columns: { name: 'key', items: 'value' },
  order: 'name',
  rowOf: ({ name, items }) => ({ name, items: JSON.stringify(items) }),
  itemOf: ({ name, items }) => ({ name, items: JSON.parse(items) as SmallList['items'] }),
  remembersAttempts: true,
})

/** The statements of a table, with `:names` in place of values. */
export function statementsOf<Item>({ name, key, columns, order, atMost = 0 }: RecordTable<Item>) {
  const values = columns.filter((column) => column !== key)
  const given = columns.map((column) => `:${column}`).join(', ')
  const into = `INSERT INTO ${name} (${columns.map(inSql).join(', ')}`
  const read = `SELECT ${columns.map((column) => (inSql(column) === column ? column : `${inSql(column)} AS "${column}"`)).join(', ')} FROM ${name}`
  const change = `UPDATE ${name} SET ${values.map((column) => `${inSql(column)} = :${column}`).join(', ')} WHERE ${key} = :${key}`
  return {
    insert: `${into}) VALUES (${given}) ON CONFLICT DO NOTHING`,
    // Takes the lowest free number. If another insert takes this number or this key first, no row is inserted.
    insertNumbered: `
      ${into}, number)
      SELECT ${given}, min(used.number) + 1
      FROM (SELECT 0 AS number UNION ALL SELECT number FROM ${name}) AS used
      WHERE NOT EXISTS (SELECT 1 FROM ${name} WHERE ${name}.number = used.number + 1)
      HAVING min(used.number) < ${atMost}
      ON CONFLICT DO NOTHING`,
    change,
    changeIfUnchanged: `
      ${change}
        AND (${values.map(inSql).join(', ')}) IS NOT DISTINCT FROM (${values.map((column) => `:before_${column}`).join(', ')})`,
    remove: `DELETE FROM ${name} WHERE ${key} = :${key}`,
    read: `${read} WHERE ${key} = :${key}`,
    list: `${read} ORDER BY ${order}`,
    ...statementsOfMany({ name, key, columns, read }),
    count: `SELECT count(*) AS rows FROM ${name}`,
    page: `${read} WHERE ${key} > :after ORDER BY ${key} LIMIT :limit`,
  }
}

/**
 * On PostgreSQL. A change waits for no lock, because it holds others: it skips rows that another transaction has locked. A skipped row counts as one
 * that was changed meanwhile.
 */
function statementsOfMany<Item>({
  name,
  key,
  columns,
  read,
}: Pick<RecordTable<Item>, 'name' | 'key' | 'columns'> & { read: string }) {
  const given = (parameter: string) => `jsonb_populate_recordset(NULL::${name}, :${parameter}::jsonb)`
  const values = columns.filter((column) => column !== key).map(inSql)
  const of = (row: string) => values.map((column) => `${row}.${column}`).join(', ')
  return {
    readMany: `${read} WHERE ${key} IN (SELECT jsonb_array_elements_text(:keys::jsonb))`,
    insertMany: `
      INSERT INTO ${name} (${columns.map(inSql).join(', ')})
      SELECT ${columns.map(inSql).join(', ')} FROM ${given('rows')} ORDER BY ${key}
      ON CONFLICT DO NOTHING RETURNING ${key} AS key`,
    changeManyIfUnchanged: `
      UPDATE ${name} SET ${values.map((column) => `${column} = given.${column}`).join(', ')}
      FROM (SELECT ${key} FROM ${name} WHERE ${key} IN (SELECT ${key} FROM ${given('rows')}) ORDER BY ${key} FOR NO KEY UPDATE SKIP LOCKED) AS unlocked
        JOIN ${given('rows')} AS given USING (${key}) JOIN ${given('before')} AS before USING (${key})
      WHERE ${name}.${key} = unlocked.${key} AND (${of(name)}) IS NOT DISTINCT FROM (${of('before')})
      RETURNING ${name}.${key} AS key`,
  }
}

/** The row with the names of SQL. */
export function rowInSql(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [inSql(column), value]))
}

function inSql(column: string): string {
  return column.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
