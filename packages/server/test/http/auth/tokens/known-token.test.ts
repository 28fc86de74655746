/** Introspection of a token whose signature is known and whose claims are cached: everything else is checked each time (RFC 7662 §2.2). */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { endRestored } from '../../../../src/domain/maintenance/restore.ts'
import { type App, claimsOf, startApp, type Tokens } from '../../../support/app.ts'
import { keepingOf } from '../../../support/key-keeping.ts'
import { changeClient } from '../../../support/signed-app.ts'

let app: App
let tokens: Tokens

beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  tokens = await app.freshTokens()
  for (const _ of [1, 2]) expect(await app.isActive(tokens.access_token)).toBe(true)
  const { decoded, known } = app.grantor.deps.keys
  expect(decoded.find(known.nameOf(tokens.access_token)), 'the claims are cached').toBeDefined()
})

test('A cached access token is inactive as soon as its revocation has been confirmed (RFC 7009 §2.1)', async () => {
  await app.walk.revoke(app.client, tokens.access_token)
  expect(await app.isActive(tokens.access_token)).toBe(false)
})

test('A cached access token is inactive as soon as its refresh token is revoked', async () => {
  await app.walk.revoke(app.client, tokens.refresh_token)
  expect(await app.isActive(tokens.access_token)).toBe(false)
})

test('A cached access token is inactive at once if another process ends its grant', async () => {
  const { store, clock } = app.grantor
  await store.grants.endGrant(claimsOf(tokens.access_token).grant_id, 'operator', clock.now())
  expect(await app.isActive(tokens.access_token)).toBe(false)
})

test('A cached access token is inactive for a client that it was not issued to (RFC 7662 §4)', async () => {
  const other = await app.grantor.createClient()
  expect((await app.walk.introspect(other, tokens.access_token)).body).toBe('{"active":false}')
  expect(await app.isActive(tokens.access_token), 'the token is active for its own client').toBe(true)
})

test('A cached access token is inactive while its client is disabled', async () => {
  const api = await app.grantor.createClient({ resourceServer: app.grantor.authUrl })
  expect(await app.isActive(tokens.access_token, api)).toBe(true)
  await changeClient(app.grantor, app.client, { disabledAt: app.grantor.clock.now() })
  expect(await app.isActive(tokens.access_token, api)).toBe(false)
  await changeClient(app.grantor, app.client, { disabledAt: null })
  expect(await app.isActive(tokens.access_token, api)).toBe(true)
})

test('A cached access token with an altered signature is inactive', async () => {
  const [head, body, signature = ''] = tokens.access_token.split('.')
  const forged = `${head}.${body}.${randomBytes(64).toString('base64url')}`
  for (const each of [forged, `${tokens.access_token}=`, `${head}.${body}.${signature.slice(0, -1)}`])
    expect(await app.isActive(each)).toBe(false)
})

test('A cached access token is inactive from the second of its expiry on', async () => {
  const { clock } = app.grantor
  const before = clock.at
  clock.at = claimsOf(tokens.access_token).exp - 1
  expect(await app.isActive(tokens.access_token)).toBe(true)
  clock.at++
  expect(await app.isActive(tokens.access_token)).toBe(false)
  clock.at = before
})

test('After the restore of a backup, a cached access token is inactive, and is removed from the cache', async () => {
  const { store } = app.grantor
  await endRestored(store, keepingOf(app.grantor))
  expect(await app.isActive(tokens.access_token), 'the grant has ended').toBe(false)
  await app.grantor.noticeChanges()
  expect(await app.isActive(tokens.access_token), 'the key is retired').toBe(false)
  const { decoded, known } = app.grantor.deps.keys
  expect(decoded.size).toBe(0)
  expect(known.has(known.nameOf(tokens.access_token))).toBe(false)
})
