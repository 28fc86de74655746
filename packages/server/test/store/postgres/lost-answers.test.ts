/**
 * If PostgreSQL commits an ending and the response is lost, the store sends the ending again. The retry returns what the first
 * try ended.
 */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { ChainWriter } from '../../../src/domain/audit/chain.ts'
import { newEntry } from '../../../src/domain/audit/entry.ts'
import { verifyStore } from '../../../src/domain/audit/verify-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { losingAnswers } from '../../support/lost-answers.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { livingGrant, NOW, someClient, someKey, someSession } from '../contract/subject.ts'

test.each<[string, (store: Store) => Promise<{ id: string; table: string; end: () => Promise<unknown>; expected: unknown }>]>([
  [
    'the ending of one session',
    async (store) => {
      const { hash } = await startSession(store)
      return { id: hash, table: 'sessions', end: () => store.sessions.endSession(hash, 'attempt', NOW), expected: 'ended' }
    },
  ],
  [
    'the ending of several sessions',
    async (store) => {
      const { hash } = await startSession(store)
      return { id: hash, table: 'sessions', end: () => store.sessions.endSessions([hash], 'attempt', NOW), expected: [hash] }
    },
  ],
  [
    'the ending of several grants',
    async (store) => {
      const { id } = await livingGrant(store)
      const ending = { reason: 'user', attemptId: 'attempt', at: NOW } as const
      return { id, table: 'grants', end: () => store.grants.endGrants([id], ending), expected: [id] }
    },
  ],
])('If the response to %s is lost, the store sends it again and returns what the first try ended', async (_, prepare) => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const way = await losingAnswers(database)
  const store = await openPostgresStore(way.address, { clock: 'given' })
  onTestFinished(() => store.close())
  const { id, table, end, expected } = await prepare(store)
  way.loseNext(id, `SELECT 1 FROM ${table} WHERE ended_at IS NOT NULL`)
  expect(await end()).toEqual(expected)
  expect(way.lost()).toBe(1)
})

async function startSession(store: Store) {
  const session = someSession()
  await store.sessions.startSession(session, 'login')
  return session
}

test('If the response to a change of a list is lost, the change is made once, also if another change came in between', async () => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const way = await losingAnswers(database)
  const [store, other] = [await openPostgresStore(way.address, { clock: 'given' }), await openPostgresStore(database.address)]
  onTestFinished(async () => void (await Promise.all([store.close(), other.close()])))
  const operator = (id: string) => ({ id, role: 'owner', createdAt: NOW }) as const
  way.loseNext('mine', `SELECT 1 FROM lists WHERE items LIKE '%mine%'`, () =>
    other.lists.changeList('operators', (items) => [...items, operator('another')]),
  )
  const changed = await store.lists.changeList('operators', (items) => [...items, operator('mine')])
  expect(way.lost()).toBe(1)
  expect(changed.filter(({ id }) => id === 'mine')).toHaveLength(1)
  const stored = await store.lists.readList('operators')
  expect(stored.map(({ id }) => id).sort()).toEqual(['another', 'mine'])
})

test('If the response to a change of a record is lost, the change is recognised as made', async () => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const way = await losingAnswers(database)
  const store = await openPostgresStore(way.address, { clock: 'given' })
  onTestFinished(() => store.close())
  const [key, client] = [someKey(), someClient()]
  const webhook = { id: randomUUID(), url: 'https://a.example/', secret: 'sealed once', events: ['a', 'b'], createdAt: NOW }
  await store.keys.insertKey(key)
  await store.clients.insertClient(client)
  await store.webhooks.insertWebhook({ ...webhook, cursor: 1, failingSince: null, nextAt: NOW, pausedAt: null })
  way.loseNext(String(NOW + 7), 'SELECT 1 FROM keys WHERE retired_at IS NOT NULL')
  expect(await store.keys.retireKey(key.id, key.kind, NOW + 7)).toBe('retired')
  way.loseNext('renamed', `SELECT 1 FROM clients WHERE record LIKE '%renamed%'`)
  expect(await store.clients.changeClient(client.id, (present) => ({ ...present, name: 'renamed' }))).toMatchObject({
    name: 'renamed',
  })
  way.loseNext('sealed once', 'SELECT 1 FROM webhooks WHERE cursor = 9')
  const progress = { cursor: 9, failingSince: NOW, nextAt: NOW, pausedAt: null }
  expect(await store.webhooks.moveWebhook(webhook, 1, progress)).toBe('moved')
  expect(way.lost()).toBe(3)
})

test('If the response to an append is lost, the store sends it again, and each line is in the audit trail once', async () => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const way = await losingAnswers(database)
  const [store, other] = [await openPostgresStore(way.address, { clock: 'given' }), await openPostgresStore(database.address)]
  onTestFinished(async () => void (await Promise.all([store.close(), other.close()])))
  const entry = () => newEntry({ at: NOW, event: 'session_started' })
  const entries = [entry(), entry()]
  way.loseNext(entries[0]?.id ?? '', 'SELECT 1 FROM audit_lines')
  const writer = new ChainWriter(store.audit, () => NOW)
  await Promise.all([writer.append(entries), new ChainWriter(other.audit, () => NOW).append([entry()])])
  expect(way.lost()).toBe(1)
  await writer.append([entry()])
  expect(await verifyStore(store.audit, { findKey: () => undefined })).toMatchObject({ fault: null, lines: 4 })
})
