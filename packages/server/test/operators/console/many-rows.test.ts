/**
 * Pages of the console over a million lines of the audit trail, ten thousand clients and 300,000 grants of one wallet. `npm run test:full` runs
 * this file.
 */
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { pack } from '../../../src/store/packed.ts'
import { test as base } from '../../support/fixtures.ts'
import type { Grantor } from '../../support/start.ts'
import { testWallet } from '../../support/wallet.ts'
import { ConsoleBrowser } from './console-browser.ts'
import { addOperator, OWNER } from './visit.ts'

const test = base.extend('options', { admin: true })
const LINES = 1_000_000
const CLIENTS = 10_000
const GRANTS = 300_000
const WALLET = testWallet(2).address

const series = (count: number) => `WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${count})`

const literal = (text: string) => `x'${Buffer.from(pack(text)).toString('hex')}'`

/** Rows as the service writes them, by statements of the database: one request for each would take an hour. */
function fill(grantor: Grantor, model: { id: string; createdAt: number }): void {
  const database = new DatabaseSync(grantor.databasePath)
  const at = grantor.clock.now()
  database.exec(`
    BEGIN;
    INSERT INTO clients (id, record, created_at)
      ${series(CLIENTS)}
      SELECT printf('%08x', n) || substr(id, 9), replace(replace(record, id, printf('%08x', n) || substr(id, 9)), 'MyApp', 'App ' || n), created_at
      FROM series, clients WHERE id = '${model.id}';
    INSERT INTO audit_lines (seq, at, event, client_id, wallet, id, hash)
      ${series(LINES)}
      SELECT 1000000 + n, ${at} - ${LINES} + n, CASE n % 1000 WHEN 0 THEN 'consent_declined' ELSE 'session_started' END, CAST(x'00' || ('c' || n % 100) AS BLOB),
             x'${Buffer.from(pack(WALLET)).toString('hex')}', randomblob(16), randomblob(32)
      FROM series;
    INSERT INTO grants (id, client_id, wallet, scopes, resources, created_at, expires_at, refresh_expires_at, generation, refresh_key_id,
                        rotated_at, attempt_id, is_contract, consented, auth_time, chain_id, epoch)
      ${series(GRANTS)}
      SELECT unhex(printf('%08x000040008000%012x', ${at} - ${GRANTS} + n, n)), ${literal(model.id)}, ${literal(WALLET)}, 'enhancement', '', ${at} - ${GRANTS} + n,
             ${at} + 1000000, ${at} + 1000000, 0, 'k', ${at}, ${literal('a')}, 0, 0, ${at}, 1, 0
      FROM series;
    COMMIT;
    ANALYZE`)
  database.close()
}

/** Milliseconds. A page is shown at once on a quiet machine; the bound allows for a busy one. */
const AT_MOST = 3000

test.runIf(process.env.TEST_MANY_ROWS)(
  'Each page of the console is shown within a second among a million lines, ten thousand clients and 300,000 grants of one wallet',
  async ({ grantor }) => {
    await addOperator(grantor, OWNER, 'owner')
    const browser = new ConsoleBrowser(grantor, OWNER)
    await browser.signIn()
    const client = await grantor.createClient({})
    fill(grantor, client)
    const paths = [
      '/console',
      '/console/clients',
      '/console/clients?search=app+99&sort=name',
      `/console/clients/${client.id}`,
      '/console/audit',
      '/console/audit?event=client_created',
      '/console/audit?result=refused',
      `/console/audit?wallet=${WALLET}&result=refused`,
      `/console/wallet?wallet=${WALLET}`,
      '/console/grants',
      `/console/grants?wallet=${WALLET}&order=oldest`,
      `/console/grants?client_id=${client.id}&active=true`,
      '/console/sessions',
    ]
    const times: Record<string, number> = {}
    for (const path of paths) {
      const begun = performance.now()
      const { status, body } = await browser.get(path)
      times[path.replace(WALLET, 'WALLET').replace(client.id, 'CLIENT')] = Math.round(performance.now() - begun)
      expect(status, `of ${path}`).toBe(200)
      expect(body, `of ${path}`).toContain('<main')
    }
    console.info(times)
    expect(Object.entries(times).filter(([, time]) => time > AT_MOST)).toEqual([])
  },
  600_000,
)
