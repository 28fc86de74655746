/**
 * If PostgreSQL commits an ending and the response is lost, the store sends the ending again. The retry returns what the first
 * try ended.
 */
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../src/domain/model/store.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { losingAnswers } from '../../support/lost-answers.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { livingGrant, NOW, someSession } from '../contract/subject.ts'

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
  const store = await openPostgresStore(way.address, { clock: 'given' })
  onTestFinished(() => store.close())
  const operator = (id: string) => ({ id, role: 'owner', createdAt: NOW }) as const
  way.loseNext('mine', `SELECT 1 FROM lists WHERE items LIKE '%mine%'`)
  const [changed] = await Promise.all([
    store.lists.changeList('operators', (items) => [...items, operator('mine')]),
    store.lists.changeList('operators', (items) => [...items, operator('another')]),
  ])
  expect(way.lost()).toBe(1)
  expect(changed.filter(({ id }) => id === 'mine')).toHaveLength(1)
  const stored = await store.lists.readList('operators')
  expect(stored.map(({ id }) => id).sort()).toEqual(['another', 'mine'])
})
