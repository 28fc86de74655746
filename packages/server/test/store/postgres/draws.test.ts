/** Draws on PostgreSQL: rows that another transaction holds, lost responses, and what a draw writes. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { DrawOutcome, DrawRequest } from '../../../src/domain/model/draw-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { packedLiteral } from '../../support/fill.ts'
import { losingAnswers } from '../../support/lost-answers.ts'
import { createPostgresDatabase, newPostgresDatabase, type PostgresDatabase } from '../../support/postgres.ts'
import { connect } from '../../support/sql.ts'
import { drawOf, limitedGrant, WEEKLY } from '../contract/draws.ts'
import { NOW, rotationOf } from '../contract/subject.ts'

let database: PostgresDatabase
let nodes: [Store, Store]
beforeAll(async () => {
  database = await createPostgresDatabase()
  await migratePostgres(database.address, NOW)
  const open = () => openPostgresStore(database.address, { clock: 'given' })
  nodes = [await open(), await open()]
})
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.close()))
  await database.drop()
})

/** Begins a transaction over a connection of its own. */
async function openTransaction() {
  const sql = connect(database.url)
  onTestFinished(() => sql.end())
  await sql.unsafe('BEGIN')
  return sql
}

/** Resolves when so many statements wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  const waiting = async () => {
    const rows = await database.sql.unsafe(
      "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    )
    return rows.length
  }
  await expect.poll(waiting).toBeGreaterThanOrEqual(count)
}

/** The number of draws that were made now. Each other outcome must be a repeated draw. */
function countOfNew(outcomes: readonly DrawOutcome[]): number {
  expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => 'drawn'))
  return outcomes.filter((outcome) => outcome.kind === 'drawn' && !outcome.isAgain).length
}

const raceEqual = (request: DrawRequest) => [0, 1, 0, 1].map((node) => (nodes[node] as Store).draws.draw(request))

test('Equal draws that wait for the row of their grant draw once, after the row is free', async () => {
  const [store] = nodes
  for (const limit of [WEEKLY, { ...WEEKLY, uses: 1 }]) {
    const grant = await limitedGrant(store, limit)
    const request = drawOf(grant)
    const sql = await openTransaction()
    await sql.unsafe(`SELECT id FROM grants WHERE id = ${packedLiteral(grant.id)} FOR UPDATE`)
    const racing = raceEqual(request)
    await untilWaiting(2)
    await sql.unsafe('COMMIT')
    const outcomes = await Promise.all(racing)
    expect(countOfNew(outcomes)).toBe(1)
    expect((await store.grants.readGrant(grant.id))?.drawn).toEqual({ from: NOW, uses: 1, amount: 100, draws: 1 })
  }
})

test.each(['COMMIT', 'ROLLBACK'])('Equal draws wait for a draw that is not committed yet: %s', async (end) => {
  const [store] = nodes
  const grant = await limitedGrant(store)
  const request = drawOf(grant)
  const sql = await openTransaction()
  const id = packedLiteral(grant.id)
  await sql.unsafe(`UPDATE grants SET drawn_from = ${NOW}, drawn_uses = 1, drawn_amount = 100, draw_count = 1 WHERE id = ${id}`)
  await sql.unsafe(
    `INSERT INTO draws (grant_id, client_id, key, number, amount, at, left_uses, left_amount, period_from, period_end)
     VALUES (${id}, ${packedLiteral(request.clientId)}, ${packedLiteral(request.key)}, 1, 100, ${NOW + 5}, 19, 49900, ${NOW}, ${NOW + 604_800})`,
  )
  const racing = raceEqual(request)
  await untilWaiting(2)
  await sql.unsafe(end)
  const outcomes = await Promise.all(racing)
  expect(countOfNew(outcomes)).toBe(end === 'COMMIT' ? 0 : 1)
  for (const outcome of outcomes) expect(outcome).toMatchObject({ draw: { at: end === 'COMMIT' ? NOW + 5 : NOW + 10 } })
  expect((await store.grants.readGrant(grant.id))?.drawn).toEqual({ from: NOW, uses: 1, amount: 100, draws: 1 })
})

test.each(['COMMIT', 'ROLLBACK'])(
  'A draw waits for an ending that is not committed yet, and then decides by it: %s',
  async (end) => {
    const [store] = nodes
    const grant = await limitedGrant(store)
    const sql = await openTransaction()
    await sql.unsafe(`UPDATE grants SET ended_at = ${NOW}, end_reason = 'user' WHERE id = ${packedLiteral(grant.id)}`)
    const drawing = store.draws.draw(drawOf(grant))
    await untilWaiting(1)
    await sql.unsafe(end)
    expect((await drawing).kind).toBe(end === 'COMMIT' ? 'inactive' : 'drawn')
  },
)

test('If the response to a draw or a return is lost, the store sends it again, and both take effect once', async () => {
  const own = await newPostgresDatabase()
  await migratePostgres(own.address, NOW)
  const way = await losingAnswers(own)
  const store = await openPostgresStore(way.address, { clock: 'given' })
  onTestFinished(() => store.close())
  const grant = await limitedGrant(store)
  const request = drawOf(grant)
  way.loseNext(grant.id, 'SELECT 1 FROM draws')
  expect(await store.draws.draw(request)).toMatchObject({
    kind: 'drawn',
    draw: { number: 1, left: { uses: 19, amount: 49_900 } },
  })
  way.loseNext(grant.id, 'SELECT 1 FROM draws WHERE returned IS NOT NULL')
  expect(await store.draws.giveBack(request, { amount: 100, at: NOW + 20 })).toMatchObject({
    kind: 'returned',
    draw: { returned: 100 },
  })
  expect(way.lost()).toBe(2)
  expect((await store.grants.readGrant(grant.id))?.drawn).toEqual({ from: NOW, uses: 0, amount: 0, draws: 1 })
})

test('A draw, a return and a refresh write no index of the grants: each new version of the row stays on the same page (HOT update)', async () => {
  const own = await newPostgresDatabase()
  await migratePostgres(own.address, NOW)
  const store = await openPostgresStore(own.address, { clock: 'given' })
  const grant = await limitedGrant(store)
  for (let made = 0; made < 4; made++) {
    const request = drawOf(grant)
    await store.draws.draw(request)
    await store.draws.giveBack(request, { amount: 50, at: NOW + 20 })
    await store.grants.rotateRefreshToken(rotationOf(grant, made))
  }
  await store.close()
  const counts = async () => {
    const [row] = await own.sql.unsafe(
      "SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'grants'",
    )
    return { all: Number(row?.all), hot: Number(row?.hot) }
  }
  await expect.poll(counts).toEqual({ all: 12, hot: 12 })
})
