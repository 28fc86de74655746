/** The rows of the endings on SQLite. */
import { expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { createRecordStores } from '../../../src/store/record-stores.ts'
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { createRecords } from '../../../src/store/sqlite/records.ts'
import { keyOf, readerOf } from '../contract/ending-order.ts'
import { livingGrant, NOW, someClient } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'

async function openStore(now?: () => number) {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path, now && { now })
  onTestFinished(() => store.close())
  const end = async (at: number) => {
    const { id } = await livingGrant(store)
    await store.grants.endGrant(id, 'revoked', at)
    return id
  }
  return { store, end }
}

test('The oldest rows of endings are deleted after their time, at most as many as asked for, and the newest row is kept', async () => {
  const { store, end } = await openStore()
  const read = readerOf(store)
  for (let count = 0; count < 5; count++) await end(NOW)
  expect(await read()).toHaveLength(5)
  const sweep = (by: number, limit: number) => store.cleaning.sweep('endings', { overFor: 100, limit, at: by + 100 })
  expect(await sweep(NOW - 1, 10)).toBe(0)
  expect(await sweep(NOW, 3)).toBe(3)
  expect(await sweep(NOW, 10)).toBe(1)
  expect(await sweep(NOW, 10)).toBe(0)
  const next = await end(NOW + 1)
  expect((await read()).map(keyOf), 'its number is higher than that of every earlier row').toEqual([next])
})

test('Endings from a time when the clock was ahead do not prevent the deletion of the endings after them', async () => {
  const { store, end } = await openStore()
  for (const at of [NOW + 9000, NOW + 9000, NOW, NOW, NOW]) await end(at)
  const sweep = (by: number) => store.cleaning.sweep('endings', { overFor: 100, limit: 2, at: by + 100 })
  expect(await sweep(NOW)).toBe(2)
  expect(await sweep(NOW + 9000)).toBe(2)
})

test('An ending whose time is minutes older than its commit is read, though later endings were read before', async () => {
  const { store, end } = await openStore()
  const read = readerOf(store)
  await end(NOW + 600)
  expect(await read(NOW + 600)).toHaveLength(1)
  const late = await end(NOW)
  expect((await read(NOW + 601)).map(keyOf)).toEqual([late])
})

test('A restoration from a backup changes the instance of the places, and everything is read again', async () => {
  const { store, end } = await openStore()
  const of = { within: 100, limit: 10, at: NOW }
  const ended = await end(NOW)
  const before = await store.endings.readEndings(null, of)
  await store.restorations.beginRestoration(NOW)
  const after = await store.endings.readEndings(before.place, of)
  expect(after.place.instance).not.toBe(before.place.instance)
  expect(after.endings.map(keyOf)).toEqual([ended])
})

test('The ending of a client whose change has no time has the time of the machine, or of the clock that was given', async () => {
  for (const now of [undefined, () => NOW]) {
    const { store } = await openStore(now)
    const client = someClient()
    await store.clients.insertClient(client)
    await store.clients.deleteClient(client.id)
    const { endings } = await store.endings.readEndings(null, { within: 1e9, limit: 10, at: NOW })
    const machine = Math.floor((performance.timeOrigin + performance.now()) / 1000)
    expect(Math.abs((endings[0]?.at ?? 0) - (now ? NOW : machine))).toBeLessThan(60)
  }
})

test('A client stays as it is if its ending cannot be stored, and its ending is stored once before the change', async () => {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const connection = new SqliteConnection(path)
  onTestFinished(() => connection.close())
  const records = createRecords(connection)
  const refusing = createRecordStores(records, () => Promise.reject(new StoreUnavailable('full'))).clients
  const seen: (number | null | undefined)[] = []
  const client = someClient()
  const noting = createRecordStores(records, async () => {
    seen.push((await refusing.readClient(client.id))?.disabledAt)
  }).clients
  await refusing.insertClient(client)
  const disable = ({ changeClient }: typeof refusing) => changeClient(client.id, (present) => ({ ...present, disabledAt: NOW }))
  await expect(disable(refusing)).rejects.toThrow(StoreUnavailable)
  await expect(refusing.deleteClient(client.id)).rejects.toThrow(StoreUnavailable)
  expect(await refusing.readClient(client.id)).toEqual(client)
  expect(await disable(noting)).toMatchObject({ disabledAt: NOW })
  expect(seen).toEqual([null])
})
