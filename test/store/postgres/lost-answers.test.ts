/**
 * If PostgreSQL commits an ending and the response is lost, the store sends the ending again. The retry returns what the first
 * try ended.
 */
import { expect, onTestFinished, test } from 'vitest'
import { ChainWriter } from '../../../src/domain/audit/chain.ts'
import { lineOf, newEntry } from '../../../src/domain/audit/entry.ts'
import { verifyStore } from '../../../src/domain/audit/verify-store.ts'
import { placeAfter } from '../../../src/domain/model/audit-chain.ts'
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

/** The append of versions up to 13 steps of the schema. */
const EARLIER_APPEND = `
  WITH moved AS (
    UPDATE audit_head SET seq = $1::bigint + 1, hash = $2 WHERE id = 1 AND seq = $1::bigint AND hash = $3 RETURNING id
  )
  INSERT INTO audit_lines (seq, at, event, line, hash) SELECT $1::bigint + 1, ${NOW}, 'session_started', $4, $2 WHERE EXISTS (SELECT FROM moved)
  RETURNING seq`

test('A process of the previous version can append to the audit trail beside this version', async () => {
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, NOW)
  const store = await openPostgresStore(address)
  onTestFinished(() => store.close())
  const entry = () => newEntry({ at: NOW, event: 'session_started' })
  const appendEarlier = async (): Promise<void> => {
    for (;;) {
      const head = await store.audit.readHead()
      const [placed] = placeAfter(head, [lineOf(entry())])
      const values = [head.seq, placed?.hash ?? '', head.hash, placed?.line ?? '']
      if ((await sql.unsafe(EARLIER_APPEND, values)).length > 0) return
    }
  }
  const writer = new ChainWriter(store.audit, () => NOW)
  const both = Array.from({ length: 10 }, async (_, index) => {
    if (index === 0) for (let left = 20; left > 0; left--) await writer.append([entry()])
    else await appendEarlier()
  })
  await Promise.all(both)
  expect(await verifyStore(store.audit, { findKey: () => undefined })).toMatchObject({ fault: null, lines: 29 })
})
