/** The bytes of the rows that a service has many of, and of the log of each operation, measured on rows that the store itself inserts. */
import { randomBytes, randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { lineOf, newEntry } from '../../packages/server/src/domain/audit/entry.ts'
import type { NewApproval } from '../../packages/server/src/domain/model/approval-store.ts'
import type { DrawRequest } from '../../packages/server/src/domain/model/draw-store.ts'
import { newGrantId } from '../../packages/server/src/domain/model/grant-id.ts'
import type { SignedLimit } from '../../packages/server/src/domain/model/records.ts'
import type { NewGrant } from '../../packages/server/src/domain/model/request-store.ts'
import type { Store } from '../../packages/server/src/domain/model/store.ts'
import { parseAddress } from '../../packages/server/src/protocol/wallet/address.ts'
import type { Sql } from '../../packages/server/test/support/sql.ts'

const NOW = Math.floor(Date.now() / 1000)
const DAY = 86_400
const CLIENTS = Array.from({ length: 100 }, () => randomUUID())
const SCOPES = ['openid', 'profile', 'read:balance']
const RESOURCES = ['https://api.example.com/']
/** The grants with a limit are so few that they do not change the size of a grant. */
const DRAWS_OF_GRANT = 500
const LIMIT: SignedLimit = {
  resource: 'https://api.example.com/',
  scope: 'read:balance',
  limit: { uses: 10_000, per: 'week', unit: 'NESO', decimals: 2, amount: 900_000_000_000, each: 5000 },
  signedAt: NOW,
}
const randomHash = () => randomBytes(32).toString('base64url')

/** Bytes of a row: in its table, in all indexes of the table. */
export type RowBytes = { row: number; indexes: number }
/** Bytes of the log for one operation. */
export type Measured = { rows: Record<string, RowBytes>; log: Record<string, number> }

/** What differs between the engines. */
export type MeasuredEngine = {
  store: Store
  sizeOf(table: string): Promise<RowBytes>
  /** Bytes that were logged so far. */
  logged(): Promise<number>
}

/** The operations whose rows and log are measured, one after the other. */
function operationsOn(store: Store): [name: string, perform: (index: number) => Promise<unknown>][] {
  const grants: NewGrant[] = []
  const approvals: NewApproval[] = []
  const draws: DrawRequest[] = []
  let limited = newGrant(0)
  return [
    [
      'sign-in',
      (index) => {
        const grant = newGrant(index)
        grants.push(grant)
        return signIn(store, grant)
      },
    ],
    ['code exchange', (index) => store.grants.redeemCode(grants[index] as NewGrant, randomUUID(), NOW)],
    ['use of a proof', () => store.spent.spend({ kind: 'dpop', hash: randomHash(), expiresAt: NOW, attemptId: randomUUID() })],
    ['audit line', (index) => store.audit.append({ writer: 'measured', number: index + 1, at: NOW, lines: [auditLine(index)] })],
    [
      'approval asked for',
      (index) => {
        const approval = newApproval(grants[index] as NewGrant)
        approvals.push(approval)
        return store.approvals.ask(approval, NOW)
      },
    ],
    [
      DRAW,
      async (index) => {
        if (index % DRAWS_OF_GRANT === 0) {
          limited = { ...newGrant(index), sessionHash: null, signedLimit: LIMIT }
          await store.grants.redeemCode(limited, randomUUID(), NOW)
        }
        const request = newDraw(limited)
        draws.push(request)
        return store.draws.draw(request)
      },
    ],
    [REFRESH, (index) => refresh(store, grants[index] as NewGrant)],
    ['approval signed', (index) => signApproval(store, approvals[index] as NewApproval)],
    ['approval used', (index) => useApproval(store, approvals[index] as NewApproval)],
    ['return of a draw', (index) => store.draws.giveBack(draws[index] as DrawRequest, { amount: 500, at: NOW })],
    ['revocation', (index) => store.grants.endGrant(grants[index]?.id ?? '', 'revoked', NOW)],
  ]
}

/** A draw changes the row of its grant. */
const DRAW = 'draw'
const REFRESH = 'refresh'
const TABLES = ['grants', 'sessions', 'wallets', 'receipts', 'audit_lines', 'spent', 'approvals', 'draws'] as const

/** Performs each operation `count` times. `more`: tables of this engine alone. `rowsOnly`: without the operations that insert no rows. */
export async function measureBytes(
  engine: MeasuredEngine,
  count: number,
  { more = [], rowsOnly = false }: { more?: readonly string[]; rowsOnly?: boolean } = {},
): Promise<Measured> {
  const log: Measured['log'] = {}
  const rows: Measured['rows'] = {}
  for (const [name, perform] of operationsOn(engine.store)) {
    // The next operations leave old versions of rows and of entries of indexes, as many as PostgreSQL has not removed yet.
    if (name === DRAW) rows.grants = await engine.sizeOf('grants')
    if (name === REFRESH) for (const table of TABLES) rows[table] ??= await engine.sizeOf(table)
    if (name === REFRESH && rowsOnly) break
    const before = await engine.logged()
    for (let index = 0; index < count; index++) await perform(index)
    log[name] = ((await engine.logged()) - before) / count
  }
  for (const table of more) rows[table] = await engine.sizeOf(table)
  return { rows, log }
}

export function onPostgres(store: Store, sql: Sql): MeasuredEngine {
  return {
    store,
    async sizeOf(table) {
      await sql.unsafe(`VACUUM ${table}`)
      const [size] = await sql.unsafe(
        `SELECT pg_relation_size('${table}') AS row, pg_indexes_size('${table}') AS indexes, (SELECT count(*) FROM ${table}) AS count`,
      )
      return { row: Number(size?.row) / Number(size?.count), indexes: Number(size?.indexes) / Number(size?.count) }
    },
    async logged() {
      const [row] = await sql.unsafe(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS bytes`)
      return Number(row?.bytes)
    },
  }
}

/** SQLite logs whole pages. An open read keeps the log from being overwritten, so its file grows by what is logged. */
export function onSqlite(store: Store, path: string): MeasuredEngine & { close(): void } {
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM grants')
  return {
    store,
    close: () => reader.close(),
    async sizeOf(table) {
      const database = new DatabaseSync(path, { readOnly: true })
      const sizes = database
        .prepare(
          `SELECT dbstat.name = :table AS is_row, sum(pgsize) AS bytes, (SELECT count(*) FROM ${table}) AS count
           FROM dbstat JOIN sqlite_schema ON sqlite_schema.name = dbstat.name WHERE tbl_name = :table GROUP BY 1`,
        )
        .all({ table })
      database.close()
      const bytesOf = (isRow: 0 | 1) => {
        const found = sizes.find(({ is_row: row }) => row === isRow)
        return found ? Number(found.bytes) / Number(found.count) : 0
      }
      return await Promise.resolve({ row: bytesOf(1), indexes: bytesOf(0) })
    },
    logged: async () => await Promise.resolve(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0),
  }
}

async function signIn(store: Store, { wallet, clientId, sessionHash, receiptId, expiresAt }: NewGrant): Promise<void> {
  await store.wallets.rememberProof(wallet)
  await store.receipts.insertReceipt(
    {
      id: receiptId ?? '',
      wallet,
      walletKind: 'ordinary',
      chainId: 1,
      clientId,
      redirectUri: 'https://app.example.net/callback',
      scopes: SCOPES,
      resources: RESOURCES,
      issuedAt: NOW,
      expiresAt,
      withdrawnAt: null,
      checkedAt: NOW,
      // A consent in the sealed form has about so many bytes.
      sealed: randomBytes(160),
    },
    0,
  )
  const until = { authTime: NOW, lastSeenAt: NOW, expiresAt: expiresAt - 16 * DAY, endedAt: null, replacedBy: null }
  const how = {
    chainId: 1,
    method: 'signature',
    walletKind: 'ordinary',
    epoch: 0,
    elsewhere: false,
    browser: 'Firefox/Windows',
  } as const
  await store.sessions.startSession({ hash: sessionHash ?? '', wallet, receiptId, ...how, ...until }, randomUUID())
}

function refresh(store: Store, grant: NewGrant): Promise<unknown> {
  const token = { grantId: grant.id, clientId: grant.clientId, generation: 0, refreshKeyId: 'bbbbbbbbbb', dpopJkt: null }
  const asked = { scopes: [], clientScopes: SCOPES, resources: [], walletChecked: false }
  const until = { refreshExpiresAt: NOW + 14 * DAY, retryWindow: 60, attemptId: randomUUID(), at: NOW }
  return store.grants.rotateRefreshToken({ ...token, ...asked, ...until })
}

/** The app of the grant asked itself. A waiting approval is in every index. */
function newApproval({ id: grantId, clientId, wallet }: NewGrant): NewApproval {
  return {
    grantId,
    id: randomUUID(),
    clientId: CLIENTS[0] ?? '',
    apps: [clientId],
    wallet,
    scope: 'transfer',
    summary: 'Send 120.50 USDC to 0x5290...9EE7, for the invoice 2026-1142',
    digest: randomHash(),
    userCode: randomBytes(4).toString('hex').toUpperCase(),
    expiresAt: NOW + 600,
  }
}

/** A key of the greatest length. */
const newDraw = (grant: NewGrant): DrawRequest => ({
  grantId: grant.id,
  clientId: CLIENTS[0] ?? '',
  key: randomBytes(32).toString('hex'),
  jti: randomUUID(),
  resource: LIMIT.resource,
  scopes: SCOPES,
  amount: 500,
  at: NOW,
})

const signApproval = (store: Store, approval: NewApproval): Promise<unknown> =>
  store.approvals.answer(approval, { receiptId: randomUUID(), isLast: false, at: NOW })

const useApproval = (store: Store, approval: NewApproval): Promise<unknown> =>
  store.approvals.useApproval(approval, { clientId: approval.clientId, attemptId: randomUUID(), signedFor: 600, at: NOW })

function newGrant(index: number): NewGrant {
  return {
    id: newGrantId(NOW),
    clientId: CLIENTS[index % CLIENTS.length] ?? '',
    wallet: someWallet(),
    walletKind: 'ordinary',
    receiptId: randomUUID(),
    consented: true,
    scopes: SCOPES,
    resources: RESOURCES,
    scopesByResource: null,
    expiresAt: NOW + 30 * DAY + index,
    refreshExpiresAt: NOW + 14 * DAY,
    refreshKeyId: 'aaaaaaaaaa',
    dpopJkt: null,
    authTime: NOW,
    chainId: 1,
    sessionHash: randomHash(),
    sessionReceiptId: null,
    signedLimit: null,
    epoch: 0,
  }
}

function auditLine(index: number) {
  const event = (['wallet_proved', 'session_started', 'consent_confirmed', 'grant_ended'] as const)[index % 4] ?? 'wallet_proved'
  const who = {
    clientId: CLIENTS[index % CLIENTS.length],
    ...(index % 4 === 3 && { grantId: newGrantId(NOW) }),
    wallet: someWallet(),
  }
  return lineOf(newEntry({ at: NOW + index, event, ...who, requestId: randomUUID(), network: '203.0.113' }))
}

function someWallet() {
  const parsed = parseAddress(`0x${randomBytes(20).toString('hex')}`)
  if (parsed.kind !== 'address') throw new Error('random bytes are an address')
  return parsed.address
}
