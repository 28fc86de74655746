/** An ending that PostgreSQL committed and whose answer was lost is sent again by the store, and still says what it ended. */
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../src/domain/model/store.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { losingAnswers } from '../../support/lost-answers.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { livingGrant, NOW, someSession } from '../contract/subject.ts'

test.each<[string, (store: Store) => Promise<{ id: string; table: string; end: () => Promise<unknown>; told: unknown }>]>([
  [
    'the ending of one session',
    async (store) => {
      const { hash } = await started(store)
      return { id: hash, table: 'sessions', end: () => store.sessions.endSession(hash, 'attempt', NOW), told: 'ended' }
    },
  ],
  [
    'the ending of several sessions',
    async (store) => {
      const { hash } = await started(store)
      return { id: hash, table: 'sessions', end: () => store.sessions.endSessions([hash], 'attempt', NOW), told: [hash] }
    },
  ],
  [
    'the ending of several grants',
    async (store) => {
      const { id } = await livingGrant(store)
      const ending = { reason: 'user', attemptId: 'attempt', at: NOW } as const
      return { id, table: 'grants', end: () => store.grants.endGrants([id], ending), told: [id] }
    },
  ],
])('%s whose answer was lost is sent again, and still reads as ended by it', async (_, prepare) => {
  const database = await newPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const way = await losingAnswers(database)
  const store = await openPostgresStore(way.address, { clock: 'given' })
  onTestFinished(() => store.close())
  const { id, table, end, told } = await prepare(store)
  way.loseNext(id, `SELECT 1 FROM ${table} WHERE ended_at IS NOT NULL`)
  expect(await end()).toEqual(told)
  expect(way.lost()).toBe(1)
})

async function started(store: Store) {
  const session = someSession()
  await store.sessions.startSession(session, 'login')
  return session
}
