/** How SQLite finds rows. Statements on a request's path always use a table's primary key. */

import { expect, onTestFinished, test } from 'vitest'
import { createRecordStores } from '../../../src/store/record-stores.ts'
import { createApprovalStore } from '../../../src/store/sqlite/approvals.ts'
import { createAuditStore } from '../../../src/store/sqlite/audit.ts'
import { createCleaning } from '../../../src/store/sqlite/cleaning.ts'
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts'
import { createDrawStore } from '../../../src/store/sqlite/draws.ts'
import { createEndingStore } from '../../../src/store/sqlite/endings.ts'
import { createGrantStore } from '../../../src/store/sqlite/grants.ts'
import { migrate } from '../../../src/store/sqlite/migrations.ts'
import { createPushedRequestStore } from '../../../src/store/sqlite/pushed-requests.ts'
import { createReceiptStore } from '../../../src/store/sqlite/receipts.ts'
import { createRecords } from '../../../src/store/sqlite/records.ts'
import { createRestorationStore } from '../../../src/store/sqlite/restorations.ts'
import { createSessionStore } from '../../../src/store/sqlite/sessions.ts'
import { createSpentStore } from '../../../src/store/sqlite/spent.ts'
import { createWalletStore } from '../../../src/store/sqlite/wallets.ts'
import { NOW, newGrant, rotationOf, someSession, someWallet } from '../contract/subject.ts'
import { newSqlitePath } from '../sqlite-file.ts'

/** Records every statement that it prepares. */
class RecordingConnection extends SqliteConnection {
  readonly sql = new Set<string>()
  override prepareWrite(sql: string) {
    this.sql.add(sql)
    return super.prepareWrite(sql)
  }
  override prepareRead(sql: string) {
    this.sql.add(sql)
    return super.prepareRead(sql)
  }
}

async function openRecording() {
  const connection = new RecordingConnection(await newSqlitePath())
  onTestFinished(() => connection.close())
  await migrate(connection, NOW)
  connection.sql.clear()
  return connection
}

/** How each table is scanned, one line each. Lists inside a row and rows that are found already are not tables. */
function planOf(connection: RecordingConnection, sql: string): string[] {
  const steps = connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
  return steps
    .map(({ detail }) => detail)
    .filter((detail) => /^(SCAN|SEARCH) (?!\(subquery|CONSTANT ROW)/.test(detail) && !detail.includes('VIRTUAL TABLE'))
}

test("On SQLite, each statement on a request's path finds its row by the primary key of its table", async () => {
  const connection = await openRecording()
  createGrantStore(connection)
  createWalletStore(connection)
  createSessionStore(connection)
  createSpentStore(connection)
  createPushedRequestStore(connection)
  // An operator's lists and searches are below.
  const statements = [...connection.sql].filter((sql) => !/WHERE wallet = :wallet|UNION SELECT/.test(sql))
  expect(
    statements.filter((sql) => /^\s*UPDATE grants/.test(sql)),
    'rotate, keep, revoke, end, end several',
  ).toHaveLength(5)
  expect(
    statements.filter((sql) => /^\s*INSERT/.test(sql)),
    'redeem, note a token, remember, raise, start a session, use once, revoke a token, end a client, push a request',
  ).toHaveLength(8)
  for (const sql of statements) {
    const steps = planOf(connection, sql)
    const elsewhere = steps.filter((step) => !/^SEARCH \w+ USING PRIMARY KEY \((id|address|hash)=\?( AND kind=\?)?\)$/.test(step))
    expect(elsewhere, `plan of ${sql}`).toEqual([])
    expect(steps.length > 0 || /^\s*INSERT/.test(sql), `a plan for ${sql}`).toBe(true)
  }
})

test('On SQLite, a page of the grants of all wallets or of a client is read in the order of an index, without a sort', async () => {
  const connection = await openRecording()
  const grants = createGrantStore(connection)
  const [wallet, clientId, after] = [someWallet(), 'client', { id: newGrant().id, createdAt: NOW }]
  connection.sql.clear()
  for (const page of [{ limit: 10 }, { limit: 10, after }]) {
    await grants.listGrants(page)
    await grants.listGrants({ clientId, ...page })
    await grants.listGrants({ clientId, unended: true, order: 'oldest', ...page })
  }
  await grants.countUnendedGrants({ wallet }, 10)
  await grants.countUnendedGrants({ clientId }, 10)
  const statements = [...connection.sql]
  expect(statements, 'four lists with and without a place, and two counts').toHaveLength(10)
  const plans = statements.map((sql) => {
    const steps = connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    const sorts = steps.filter(({ detail }) => detail.includes('TEMP B-TREE'))
    expect(sorts, `plan of ${sql}`).toEqual([])
    return planOf(connection, sql)[0]
  })
  expect(new Set(plans)).toEqual(
    new Set([
      'SCAN grants',
      'SEARCH grants USING COVERING INDEX grants_by_client (client_id=? AND <expr>=?)',
      'SEARCH grants USING COVERING INDEX grants_by_wallet (wallet=? AND <expr>=?)',
      'SEARCH grants USING INDEX grants_by_client (client_id=? AND <expr>=? AND id<?)',
      'SEARCH grants USING INDEX grants_by_client (client_id=? AND <expr>=? AND id>?)',
      'SEARCH grants USING INDEX grants_by_client (client_id=? AND <expr>=?)',
      'SEARCH grants USING PRIMARY KEY (id<?)',
    ]),
  )
})

test("On SQLite, a page of a wallet's grants, ended ones included, sorts the ids of its grants within an index, and reads only the rows of the page", async () => {
  const connection = await openRecording()
  const grants = createGrantStore(connection)
  const [wallet, after] = [someWallet(), { id: newGrant().id, createdAt: NOW }]
  connection.sql.clear()
  for (const order of ['newest', 'oldest'] as const) {
    await grants.listGrants({ wallet, order, limit: 10 })
    await grants.listGrants({ wallet, order, limit: 10, after })
  }
  const statements = [...connection.sql]
  expect(statements).toHaveLength(4)
  for (const sql of statements) {
    const steps = connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    expect(
      steps.map(({ detail }) => detail),
      `plan of ${sql}`,
    ).toEqual([
      'SEARCH grants USING PRIMARY KEY (id=?)',
      'LIST SUBQUERY 1',
      'SEARCH grants USING COVERING INDEX grants_by_wallet (wallet=?)',
      'USE TEMP B-TREE FOR ORDER BY',
    ])
  }
})

test("On SQLite, a page of a wallet's unended grants, sessions or receipts is read in the order of one index, without a sort", async () => {
  const connection = await openRecording()
  const [grants, sessions, receipts] = [
    createGrantStore(connection),
    createSessionStore(connection),
    createReceiptStore(connection),
  ]
  const [wallet, clientId] = [someWallet(), 'client']
  const after = { ...newGrant({ clientId }), createdAt: NOW }
  for (const of of [{}, { clientId }]) {
    await grants.listUnendedGrants({ wallet, ...of, limit: 10, after })
    await receipts.listReceipts(wallet, { ...of, limit: 10 })
    await receipts.listReceipts(wallet, { ...of, state: 'withdrawn', limit: 10 })
  }
  await sessions.listSessions(wallet, { at: NOW, limit: 10 })
  const pages = [...connection.sql].filter((sql) => /WHERE wallet = :wallet[^]*ORDER BY/.test(sql))
  expect(pages, 'two of grants and of sessions, four of receipts').toHaveLength(8)
  for (const sql of pages) {
    const steps = connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    const index = '(grants_by_wallet|sessions_unended|receipts_by_client)'
    const place = sql.includes(') < (') ? String.raw` AND \([\w,]+\)<\([?,]+\)` : ''
    const plan = new RegExp(
      String.raw`^SEARCH \w+ USING INDEX ${index} \(wallet=\?( AND <expr>=\?)?( AND client_id=\?)?${place}\)$`,
    )
    expect(
      steps.map(({ detail }) => detail),
      `plan of ${sql}`,
    ).toEqual([expect.stringMatching(plan)])
  }
})

test('On SQLite, receipts are read and withdrawn by their primary key', async () => {
  const connection = await openRecording()
  createReceiptStore(connection)
  const statements = [...connection.sql].filter((sql) => !/^\s*INSERT|ORDER BY|FROM wallets/.test(sql))
  expect(statements.length).toBeGreaterThan(3)
  const byKey = expect.stringMatching(/^SEARCH receipts USING PRIMARY KEY \(wallet=\? AND id=\?\)$/)
  for (const sql of statements) expect(planOf(connection, sql), `plan of ${sql}`).toEqual([byKey])
})

test('On SQLite, an approval is found by its key, its wallet or its user code', async () => {
  const connection = await openRecording()
  createApprovalStore(connection)
  const plans = [...connection.sql].flatMap((sql) => planOf(connection, sql))
  expect(new Set(plans)).toEqual(
    new Set([
      'SEARCH grants USING PRIMARY KEY (id=?)',
      'SEARCH approvals USING PRIMARY KEY (grant_id=? AND id=?)',
      'SEARCH approvals USING PRIMARY KEY (grant_id=?)',
      'SCAN with_last',
      'SEARCH approvals USING INDEX approvals_by_wallet (wallet=? AND expires_at>?)',
      'SEARCH grants EXISTS USING PRIMARY KEY (id=?)',
      'SEARCH approvals USING INDEX approvals_by_user_code (user_code=?)',
    ]),
  )
})

test('On SQLite, a draw and its grant are found by their keys, and the draws of a grant by its id', async () => {
  const connection = await openRecording()
  createDrawStore(connection)
  const plans = [...connection.sql].filter((sql) => !/^\s*INSERT/.test(sql)).flatMap((sql) => planOf(connection, sql))
  expect(new Set(plans)).toEqual(
    new Set([
      'SEARCH draws USING PRIMARY KEY (grant_id=? AND client_id=? AND key=?)',
      'SEARCH grants USING PRIMARY KEY (id=?)',
      'SEARCH draws USING PRIMARY KEY (grant_id=?)',
    ]),
  )
})

test('On SQLite, expired rows are found through an index on their expiry, and deleted by their own keys, without a sort', async () => {
  const connection = await openRecording()
  createCleaning(connection)
  const statements = [...connection.sql].filter((sql) => /^\s*DELETE FROM (?!endings)/.test(sql))
  expect(statements).toHaveLength(9)
  for (const sql of statements) {
    const [byKey, byEnd, ...more] = planOf(connection, sql)
    expect(byKey, `plan of ${sql}`).toMatch(/^SEARCH \w+ USING (PRIMARY KEY|COVERING INDEX sqlite_autoindex_(keys|nodes)_1) /)
    expect(byEnd, `plan of ${sql}`).toMatch(
      /^SEARCH \w+ USING (COVERING )?INDEX \w+_by_end \((<expr>|expires_at|retired_at|used_at|at)<\?\)$/,
    )
    expect(more).toEqual([])
    const sorts = connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    expect(sorts.filter(({ detail }) => detail.includes('TEMP B-TREE'))).toEqual([])
  }
})

test('On SQLite, the wallets with a shortened address are found through an index of each table', async () => {
  const connection = await openRecording()
  await createRestorationStore(connection).findShortened('0x1F9a…90C5')
  const search = [...connection.sql].find((sql) => sql.includes(' UNION ')) ?? ''
  const found = planOf(connection, search).map((step) => step.replace(/USING (COVERING )?/, ''))
  expect(found).toEqual([
    'SEARCH sessions INDEX sessions_unended (wallet>? AND wallet<?)',
    'SEARCH grants INDEX grants_by_wallet (wallet>? AND wallet<?)',
    expect.stringMatching(/^SEARCH receipts (PRIMARY KEY|INDEX \w+) \(wallet>\? AND wallet<\?\)$/),
  ])
})

test('On SQLite, endings are read and deleted in the order of their numbers, without a sort', async () => {
  const connection = await openRecording()
  createEndingStore(connection)
  createCleaning(connection)
  const statements = [...connection.sql].filter((sql) => sql.includes('FROM endings'))
  const plans = statements.map((sql) =>
    (connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail),
  )
  expect(plans.flat().filter((detail) => /TEMP B-TREE|SCAN grants/.test(detail))).toEqual([])
  expect(plans[0]).toEqual([
    'SEARCH endings USING INTEGER PRIMARY KEY (rowid>?)',
    'SEARCH grants USING PRIMARY KEY (id=?) LEFT-JOIN',
    'SEARCH spent USING PRIMARY KEY (hash=? AND kind=?) LEFT-JOIN',
  ])
  expect(plans[1]?.[0]).toBe('SEARCH endings USING INTEGER PRIMARY KEY (rowid=?)')
})

test('On SQLite, a refresh or a use of a session changes its row only and writes no index', async () => {
  const connection = await openRecording()
  createGrantStore(connection)
  createSessionStore(connection)
  const statements = [...connection.sql].filter((sql) => sql.includes('SET generation') || sql.includes('SET last_seen_at'))
  expect(statements, 'rotate, touch').toHaveLength(2)
  for (const sql of statements) {
    const steps = connection.prepareWrite(`EXPLAIN ${sql}`).all() as { opcode: string; p1: number }[]
    const written = steps.filter(({ opcode }) => opcode === 'OpenWrite').map(({ p1 }) => p1)
    expect(written, `trees written by ${sql}`).toHaveLength(1)
  }
})

test("On SQLite, no operation on a request's path prepares a statement", async () => {
  const connection = await openRecording()
  const [grants, wallets, sessions] = [
    createGrantStore(connection),
    createWalletStore(connection),
    createSessionStore(connection),
  ]
  const { clients, keys } = createRecordStores(createRecords(connection), async () => undefined)
  connection.sql.clear()
  const [grant, session] = [newGrant(), someSession()]
  await grants.redeemCode(grant, 'attempt', NOW)
  await grants.rotateRefreshToken(rotationOf(grant, 0))
  await grants.rotateRefreshToken(rotationOf(grant, 1, { scopes: ['profile'] }))
  await grants.revokeAccessToken({ grantId: grant.id, clientId: grant.clientId, jti: 'jti', expiresAt: NOW + 600, at: NOW })
  await grants.endGrant(grant.id, 'revoked', NOW, grant.clientId)
  await grants.spendCode(newGrant(), 'attempt', NOW)
  await grants.readGrant(grant.id)
  await wallets.readEpoch(grant.wallet)
  await wallets.rememberProof(grant.wallet)
  await sessions.startSession(session, 'attempt')
  await sessions.readSession(session.hash)
  await sessions.touchSession(session.hash, NOW)
  await clients.readClient(grant.clientId)
  await keys.listKeys()
  expect([...connection.sql]).toEqual([])
})

test('On SQLite, a search for wallets reads one range of each table, in the order of an index, whatever the case of the digits', async () => {
  const connection = await openRecording()
  createWalletStore(connection)
  const [sql = '', ...more] = [...connection.sql].filter((each) => each.includes(' UNION SELECT wallet'))
  expect(more).toEqual([])
  const steps = connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
  expect(steps.map(({ detail }) => detail)).toEqual([
    'MERGE (UNION)',
    'LEFT',
    'SEARCH wallets USING PRIMARY KEY (address>? AND address<?)',
    'RIGHT',
    expect.stringMatching(/^SEARCH receipts USING (PRIMARY KEY|COVERING INDEX \w+) \(wallet>\? AND wallet<\?\)$/),
  ])
})

test('On SQLite, each index of a table with a row for each sign-in serves a list, a deletion or an operation on a wallet', async () => {
  const connection = await openRecording()
  const [grants, sessions, receipts] = [
    createGrantStore(connection),
    createSessionStore(connection),
    createReceiptStore(connection),
  ]
  createCleaning(connection)
  createApprovalStore(connection)
  const page = { wallet: someWallet(), limit: 10 }
  await grants.listUnendedGrants(page)
  await grants.listGrants({ clientId: 'client', limit: 10 })
  await sessions.listSessions(page.wallet, { at: NOW, limit: 10 })
  await receipts.listReceipts(page.wallet, { limit: 10 })
  const used = [...connection.sql].flatMap((sql) =>
    (connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).flatMap(
      ({ detail }) => /INDEX (\w+)/.exec(detail)?.[1] ?? [],
    ),
  )
  const tables = "'grants', 'wallets', 'sessions', 'receipts', 'spent', 'pushed_requests', 'approvals', 'draws'"
  const indexes = connection
    .prepareRead(`SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name IN (${tables}) AND sql IS NOT NULL`)
    .all() as { name: string }[]
  expect(indexes.map(({ name }) => name).filter((name) => !used.includes(name))).toEqual([])
  expect(indexes.length).toBeGreaterThan(8)
})

test('On SQLite, a page of any search of the audit trail is read in the order of an index, and only the lines of 16 seconds are sorted', async () => {
  const connection = await openRecording()
  const audit = createAuditStore(connection)
  const filters = { time: {}, wallet: { wallet: someWallet() }, client: { clientId: 'c' }, grant: { grantId: 'g' } }
  const others = { operator: { operator: 'cli:root' }, reason: { reason: 'revoked' }, event: { event: 'grant_ended' } }
  for (const [name, filter] of Object.entries({ ...filters, ...others })) {
    connection.sql.clear()
    await audit.searchLines(filter, { limit: 10, before: { at: NOW, seq: 1 } })
    const [sql = ''] = connection.sql
    const plan = connection.prepareRead(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
    expect(plan.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(
        new RegExp(`^SEARCH audit_lines USING INDEX audit_lines_by_${name} \\(.*<expr>>\\? AND <expr><\\?\\)$`),
      ),
      expect.stringMatching(/^USE TEMP B-TREE FOR LAST (2 TERMS|TERM) OF ORDER BY$/),
    ])
  }
})
