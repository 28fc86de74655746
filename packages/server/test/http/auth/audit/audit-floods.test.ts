/** How many lines of the audit trail one caller can cause, on both engines. */
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fieldsOf } from '../../../../src/domain/audit/verify.ts'
import { migratePostgres } from '../../../../src/store/postgres/index.ts'
import { type App, startApp, tokensOf } from '../../../support/app.ts'
import { newPostgresDatabase } from '../../../support/postgres.ts'
import type { StartOptions, TestClient } from '../../../support/start.ts'
import { requestOf } from '../../../support/walk.ts'

const ENGINES = ['SQLite', 'PostgreSQL'] as const

/** `written` returns another value after each write of a grant or of a use: on SQLite after each commit that changed the file. */
type Started = { app: App; written: () => Promise<unknown> }

async function startOn(engine: (typeof ENGINES)[number], options: StartOptions = {}): Promise<Started> {
  if (engine === 'SQLite') {
    const app = await startApp(options)
    const file = new DatabaseSync(app.grantor.databasePath, { readOnly: true })
    onTestFinished(async () => {
      file.close()
      await app.close()
    })
    return { app, written: async () => file.prepare('PRAGMA data_version').get() }
  }
  const { address, sql } = await newPostgresDatabase()
  await migratePostgres(address, 0)
  const app = await startApp({ ...options, postgres: address })
  onTestFinished(() => app.close())
  // A statement that only locks a row also changes `xmax`.
  const versions = 'SELECT ctid::text, xmin::text, xmax::text FROM'
  return { app, written: () => sql.unsafe(`${versions} grants UNION ALL ${versions} spent ORDER BY 1, 2`) }
}

type Line = Readonly<Record<string, unknown>> & {
  event?: unknown
  client_id?: unknown
  details: Readonly<Record<string, unknown>>
}

/** The lines after `after`, when the trail has the lines of all events so far. */
async function linesAfter({ grantor }: App, after: number): Promise<Line[]> {
  const ids = grantor.events.flatMap(({ audit_id: id }) => id ?? [])
  const read = async () => (await grantor.store.audit.readLines({ after, limit: 1000 })).map(({ line }) => fieldsOf(line) as Line)
  await expect
    .poll(async () => {
      const stored = new Set(
        (await grantor.store.audit.readLines({ after: 0, limit: 5000 })).map(({ line }) => fieldsOf(line)?.id),
      )
      return ids.filter((id) => !stored.has(id))
    })
    .toEqual([])
  return read()
}

const lastSeq = async ({ grantor }: App): Promise<number> => (await grantor.store.audit.readHead()).seq

const machine = (app: App): Promise<TestClient> =>
  app.grantor.createClient({
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scopes: ['reports'],
    defaultScopes: ['reports'],
  })

const clientToken = async (app: App, client: TestClient): Promise<string> =>
  tokensOf(await app.walk.token(client, { grant_type: 'client_credentials' })).access_token

describe.each(ENGINES)('On %s', (engine) => {
  test('A client that revokes ended tokens repeatedly causes one line a minute, which has the number, and no write to their rows', async () => {
    const { app, written } = await startOn(engine)
    const service = await machine(app)
    const [first, second] = [await app.freshTokens(), await app.freshTokens()]
    const revoked = [
      [app.client, first.access_token],
      [app.client, second.refresh_token],
      [service, await clientToken(app, service)],
    ] as const
    for (const [client, token] of revoked) await app.walk.revoke(client, token)
    // The grant of this token has ended.
    const dead = [...revoked, [app.client, second.access_token]] as const
    await linesAfter(app, 0)
    const [before, rows] = [await lastSeq(app), await written()]
    for (let time = 0; time < 10; time++)
      for (const [client, token] of dead) expect((await app.walk.revoke(client, token)).status).toBe(200)
    expect(await lastSeq(app)).toBe(before)
    expect(await written()).toEqual(rows)

    const another = await app.freshTokens()
    await app.walk.revoke(app.client, another.refresh_token)
    app.grantor.clock.advance(60)
    await app.grantor.keepTrail()
    const lines = (await linesAfter(app, before)).filter(({ event }) => event !== 'audit_head_signed')
    expect(lines.map(({ event, client_id, details }) => [event, client_id, details.events])).toEqual([
      ['grant_ended', app.client.id, undefined],
      ['revocation_repeated', app.client.id, 30],
      ['revocation_repeated', service.id, 10],
    ])
    expect(
      app.grantor.events.filter(({ event }) => event === 'revocation_repeated'),
      'in the log too',
    ).toHaveLength(2)
    await app.grantor.keepTrail()
    expect(await lastSeq(app), 'nothing was repeated since').toBe((lines.length ?? 0) + before + 1)
  })

  test('A client that revokes many tokens of its own has a bounded number of lines, and the others are counted in one line', async () => {
    const { app } = await startOn(engine, { limits: { token_lines: 3 } })
    const [service, other] = [await machine(app), await machine(app)]
    const before = await lastSeq(app)
    for (let time = 0; time < 10; time++) await app.walk.revoke(service, await clientToken(app, service))
    await app.walk.revoke(other, await clientToken(app, other))
    const logged = app.grantor.events.filter(({ event }) => event === 'client_token_revoked')
    expect(
      logged.map(({ audit_id }) => audit_id !== undefined),
      'the log has each',
    ).toEqual([...Array<boolean>(3).fill(true), ...Array<boolean>(7).fill(false), true])
    app.grantor.clock.advance(30)
    await app.grantor.keepTrail()
    const lines = (await linesAfter(app, before)).filter(({ event }) => event === 'client_token_revoked')
    expect(lines.map(({ client_id, reason, details }) => [client_id, reason, details])).toEqual([
      ...Array.from({ length: 3 }, () => [service.id, 'spent', { jti: expect.any(String) }]),
      [other.id, 'spent', { jti: expect.any(String) }],
      [service.id, 'spent', { events: 7, seconds: 30 }],
    ])
  })

  test('A wallet that declines again and again has a bounded number of lines, and the counted rest is in one line', async () => {
    const { app } = await startOn(engine, { limits: { wallet_lines: 5 } })
    app.grantor.clock.advance(60)
    for (let time = 0; time < 12; time++)
      await app.walk.confirm(await app.walk.authorize(requestOf(app.client, { prompt: 'consent' })), 'deny')
    await app.grantor.close()
    const declined = app.grantor.events.filter(({ event }) => event === 'consent_declined')
    expect(declined.map(({ audit_id }) => audit_id !== undefined)).toEqual([
      ...Array<boolean>(5).fill(true),
      ...Array<boolean>(7).fill(false),
      true,
    ])
    expect(declined.at(-1), 'the process writes the count when it stops').toMatchObject({ events: '7' })
  })
})

test('A client can revoke a bounded number of tokens of its own a minute, and the next one gets 429 and stays valid (RFC 7009 §2.2.1)', async () => {
  const app = await startApp({ limits: { client_token_revocations: 2 } })
  onTestFinished(() => app.close())
  const [service, other] = [await machine(app), await machine(app)]
  const tokens = [await clientToken(app, service), await clientToken(app, service), await clientToken(app, service)]
  const statuses: number[] = []
  for (const token of tokens) statuses.push((await app.walk.revoke(service, token)).status)
  expect(statuses).toEqual([200, 200, 429])
  expect(await app.isActive(tokens[2] ?? '', service)).toBe(true)
  expect((await app.walk.revoke(service, tokens[0] ?? '')).status, 'a repeat costs nothing').toBe(200)
  expect((await app.walk.revoke(other, await clientToken(app, other))).status).toBe(200)
  app.grantor.clock.advance(60)
  expect((await app.walk.revoke(service, tokens[2] ?? '')).status).toBe(200)
})
