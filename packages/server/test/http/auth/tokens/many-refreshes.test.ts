/**
 * The number of rows depends on the number of grants, not on the number of issued tokens. `npm run test:full` refreshes
 * 1,000,000 times on SQLite and on PostgreSQL. Each refresh runs completely, with signatures, but without HTTP, which
 * stores nothing.
 */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { StoreUnavailable } from '../../../../src/domain/model/store-errors.ts'
import { refresh } from '../../../../src/domain/tokens/refresh.ts'
import { type App, startApp } from '../../../support/app.ts'
import { newPostgresDatabase } from '../../../support/postgres.ts'
import { allRows } from '../../../support/rows.ts'
import { howMany } from '../../../support/runs.ts'

const [ON_SQLITE, ON_POSTGRES] = [howMany('TEST_REFRESHES', 2000), howMany('TEST_REFRESHES_POSTGRES', 1000)]
const GRANTS = 100
const AT_ONCE = 50
const timeout = 60_000 + Math.max(ON_SQLITE, ON_POSTGRES)
const PAGE = 8192

/** Refreshes `count` times in `AT_ONCE` parallel loops, round robin over the grants. Returns the last refresh token of each grant. */
async function refreshAll(app: App, tokens: string[], count: number): Promise<string[]> {
  const { deps } = app.grantor
  const current = [...tokens]
  let started = 0
  async function refreshInLoop(first: number): Promise<void> {
    for (let index = first; started < count; index = index + AT_ONCE < current.length ? index + AT_ONCE : first) {
      started++
      const refreshToken = current[index] ?? ''
      const answer = await untilAvailable(() =>
        refresh(deps, app.client, { refreshToken, scope: null, resources: [], proof: null }),
      )
      current[index] = answer.refresh_token ?? ''
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => refreshInLoop(first)))
  expect(started).toBe(count)
  return current
}

/** Repeats a refresh that a busy machine answered with 503, as a client does. A repeated refresh yields the same successor. */
async function untilAvailable<Result>(run: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
    }
  }
}

async function manyTokens(app: App): Promise<string[]> {
  const tokens: string[] = []
  for (let count = 0; count < GRANTS; count++) tokens.push((await app.freshTokens()).refresh_token)
  return tokens
}

async function report(engine: string, count: number, since: number, sizes: string, annotate: (text: string) => unknown) {
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
    await report('SQLite', ON_SQLITE, since, `${before.pages} pages before and after, ${log} bytes of log`, annotate)
    // SQLite copies the write-ahead log into the database every few thousand pages and then overwrites the log.
    expect(log).toBeLessThan(20_000 * 4096)
    await refreshAll(app, last, GRANTS)
  } finally {
    await app.close()
  }
})

test(`${ON_POSTGRES.toLocaleString('en')} refreshes add no row to PostgreSQL, and at most one page for each grant`, {
  timeout,
}, async ({ annotate }) => {
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
    await report('PostgreSQL', ON_POSTGRES, since, `${before.bytes} bytes before, ${after.bytes} after`, annotate)
    expect(after.rows).toBe(before.rows)
    // An update writes a new version of the row and leaves the old version in its page until PostgreSQL reuses the space. If
    // fifty updates run at once, a page can be full for a moment, and a row then uses another page. The limit is a page per row.
    expect(after.bytes).toBeLessThanOrEqual(before.bytes + GRANTS * PAGE)
    await refreshAll(app, last, GRANTS)
  } finally {
    await app.close()
  }
})
