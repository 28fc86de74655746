/**
 * Rows grow with what people allowed, not with tokens issued. `npm run test:full` refreshes 1,000,000 times on SQLite and
 * on PostgreSQL: everything a refresh does, signatures included, but for HTTP, which stores nothing.
 */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { refresh } from '../../src/domain/tokens/refresh.ts'
import { type App, startApp } from '../support/app.ts'
import { howMany } from '../support/how-many.ts'
import { newPostgresDatabase } from '../support/postgres.ts'
import { allRows } from '../support/rows.ts'

const [ON_SQLITE, ON_POSTGRES] = [howMany('TEST_REFRESHES', 2000), howMany('TEST_REFRESHES_POSTGRES', 1000)]
const GRANTS = 100
const AT_ONCE = 50
const timeout = 60_000 + Math.max(ON_SQLITE, ON_POSTGRES)
const PAGE = 8192

/** Refreshes `count` times, each grant in its turn, some at once. Returns the refresh tokens that are good then. */
async function refreshAll(app: App, tokens: string[], count: number): Promise<string[]> {
  const { deps } = app.grantor
  const standing = [...tokens]
  let begun = 0
  async function takeTurns(lane: number): Promise<void> {
    for (let index = lane; begun < count; index = index + AT_ONCE < standing.length ? index + AT_ONCE : lane) {
      begun++
      const refreshToken = standing[index] ?? ''
      const answer = await refresh(deps, app.client, { refreshToken, scope: null, resources: [], proof: null })
      standing[index] = answer.refresh_token ?? ''
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, lane) => takeTurns(lane)))
  expect(begun).toBe(count)
  return standing
}

async function manyTokens(app: App): Promise<string[]> {
  const tokens: string[] = []
  for (let count = 0; count < GRANTS; count++) tokens.push((await app.freshTokens()).refresh_token)
  return tokens
}

async function tell(engine: string, count: number, since: number, sizes: string, annotate: (text: string) => unknown) {
  const seconds = (performance.now() - since) / 1000
  const words = `${engine}: ${count.toLocaleString('en')} refreshes in ${seconds.toFixed(0)} s, ${sizes}`
  console.info(words)
  await annotate(words)
}

test(`${ON_SQLITE.toLocaleString('en')} refreshes add no row and no page to a SQLite file`, { timeout }, async ({ annotate }) => {
  const app = await startApp()
  try {
    const { databasePath } = app.grantor
    const outside = new DatabaseSync(databasePath, { readOnly: true })
    const size = () => ({
      pages: (outside.prepare('PRAGMA page_count').get() as { page_count: number }).page_count,
      rows: Object.entries(allRows(databasePath)).map(([table, rows]) => [table, rows.length]),
    })
    const tokens = await refreshAll(app, await manyTokens(app), GRANTS)
    const before = size()
    const since = performance.now()
    const last = await refreshAll(app, tokens, ON_SQLITE)
    expect(size()).toEqual(before)
    outside.close()
    const log = statSync(`${databasePath}-wal`).size
    await tell('SQLite', ON_SQLITE, since, `${before.pages} pages before and after, ${log} bytes of log`, annotate)
    // SQLite writes its log back every few thousand pages, and then begins it anew.
    expect(log).toBeLessThan(20_000 * 4096)
    await refreshAll(app, last, GRANTS)
  } finally {
    await app.close()
  }
})

test(`${ON_POSTGRES.toLocaleString('en')} refreshes add no row to PostgreSQL, and its pages are used again`, { timeout }, async ({
  annotate,
}) => {
  const database = await newPostgresDatabase()
  const app = await startApp({ postgres: database.address })
  try {
    const size = async () => {
      const [{ rows, bytes } = { rows: 0, bytes: 0 }] = await database.sql<{ rows: number; bytes: number }[]>`
        SELECT (SELECT count(*) FROM grants) AS rows, pg_total_relation_size('grants') AS bytes`
      return { rows, bytes }
    }
    const tokens = await refreshAll(app, await manyTokens(app), GRANTS * 10)
    const before = await size()
    const since = performance.now()
    const last = await refreshAll(app, tokens, ON_POSTGRES)
    const after = await size()
    await tell('PostgreSQL', ON_POSTGRES, since, `${before.bytes} bytes before, ${after.bytes} after`, annotate)
    expect(after.rows).toBe(before.rows)
    // A row that moves on leaves its earlier version in its page, to be overwritten later; where fifty move at once a page
    // may be full for a moment, and a row then moves to another. Never more than a page for each row.
    expect(after.bytes).toBeLessThanOrEqual(before.bytes + GRANTS * PAGE)
    await refreshAll(app, last, GRANTS)
  } finally {
    await app.close()
  }
})
