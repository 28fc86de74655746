/** Reads the feed of endings as a resource server does (docs/reference/feed.md), and fills the feed as in a large service. */
import { createHash, randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { EndingsClaims } from '../../src/protocol/keys/endings-message.ts'
import { LEAST } from '../../src/store/packed.ts'
import { revokedTokenRow } from '../../src/store/revoked-token.ts'
import { SPENT_KINDS } from '../../src/store/spent-kinds.ts'
import type { PostgresDatabase } from './postgres.ts'
import { type Answer, send } from './send.ts'
import type { Grantor, TestClient } from './start.ts'

export type FeedReply = { answer: Answer; cursor: string; messages: EndingsClaims[] }

export function basic({ id, secret }: Pick<TestClient, 'id' | 'secret'>): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}

export function askFeed(
  grantor: Grantor,
  server: TestClient,
  query: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const path = `/oauth/endings?${new URLSearchParams(query)}`
  return send(grantor.authUrl, { path, headers: { ...basic(server), ...headers } })
}

/** Reads JSON from the feed, and verifies each message. */
export async function readFeed(grantor: Grantor, server: TestClient, query: Record<string, string> = {}): Promise<FeedReply> {
  const answer = await askFeed(grantor, server, query)
  if (answer.status !== 200) throw new Error(`the feed answered ${answer.status}: ${answer.body}`)
  const { cursor, messages } = answer.json() as { cursor: string; messages: string[] }
  return { answer, cursor, messages: await Promise.all(messages.map((message) => openMessage(grantor, server, message))) }
}

export async function openMessage(grantor: Grantor, server: TestClient, message: string): Promise<EndingsClaims> {
  const keys = createRemoteJWKSet(new URL('/oauth/jwks', grantor.authUrl))
  const { payload } = await jwtVerify<EndingsClaims>(message, keys, {
    typ: 'endings+jwt',
    issuer: grantor.authUrl,
    audience: server.resourceServer ?? '',
    currentDate: new Date(grantor.clock.now() * 1000),
  })
  return payload
}

/** The entries of messages, in hexadecimal digits. */
export function entriesOf(messages: readonly EndingsClaims[], kind: 'ended' | 'clients' = 'ended'): string[] {
  return messages.flatMap((message) =>
    Object.values(message[kind] ?? {}).flatMap((text) => Buffer.from(text, 'base64url').toString('hex').match(/.{32}/g) ?? []),
  )
}

export const entryOfUuid = (uuid: string): string => uuid.replaceAll('-', '')

export const entryOfText = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)

/** Seconds. The endings are at most this old. */
const OLDEST = 100
const DAY = 86_400

/** `count` endings of the tokens of a client, or of a hundred clients. Without a resource, every reader sees the endings. */
type ManyEndings = { count: number; clientId?: string; resource?: string }

/** Without a database, the rows are in the SQLite file of the service. */
export async function insertEndings(grantor: Grantor, endings: ManyEndings, database?: PostgresDatabase): Promise<void> {
  if (database) await insertOnPostgres(database, endings)
  else insertOnSqlite(grantor, endings)
}

function insertOnSqlite({ databasePath, clock }: Grantor, endings: ManyEndings): void {
  const database = new DatabaseSync(databasePath)
  const insert = database.prepare(
    `INSERT INTO spent (kind, attempt_id, hash, expires_at) VALUES (${SPENT_KINDS.access_token}, ?, ?, ? + ${DAY})`,
  )
  const attempts = attemptsOf(endings)
  database.exec('BEGIN')
  for (let row = 0; row < endings.count; row++)
    insert.run(attempts[row % attempts.length] ?? LEAST, randomBytes(32), clock.now() - (row % OLDEST))
  database.exec('COMMIT')
  database.close()
}

async function insertOnPostgres({ sql }: PostgresDatabase, endings: ManyEndings): Promise<void> {
  const attempts = attemptsOf(endings)
  await sql.unsafe(
    `INSERT INTO spent (hash, kind, expires_at, attempt_id)
     SELECT sha256(convert_to(row || '${endings.clientId}', 'UTF8')), ${SPENT_KINDS.access_token},
            floor(extract(epoch FROM now())) + ${DAY} - row % ${OLDEST}, ($1::bytea[])[1 + row % ${attempts.length}]
     FROM generate_series(1, ${endings.count}) AS row`,
    [attempts],
  )
  // As autovacuum does, which comes later than the test.
  await sql.unsafe('ANALYZE spent')
}

function attemptsOf({ clientId, resource }: ManyEndings): Buffer[] {
  const clients = clientId === undefined ? Array.from({ length: 100 }, (_, index) => `client-${index}`) : [clientId]
  const revocation = { hash: '', attemptId: '', at: 0, ...(resource !== undefined && { resource }) }
  return clients.map((each) => revokedTokenRow({ ...revocation, clientId: each }).attemptId)
}
