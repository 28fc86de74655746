/** Introspection of a token whose signature was verified before: all else is looked at each time (RFC 7662 §2.2). */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { endRestored } from '../../src/domain/maintenance/restore.ts'
import { type App, claimsOf, startApp, type Tokens } from '../support/app.ts'
import { keepingOf } from '../support/key-keeping.ts'
import { changeClient } from '../support/signed-app.ts'

let app: App
let tokens: Tokens

beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  tokens = await app.freshTokens()
  for (const _ of [1, 2]) expect(await app.isActive(tokens.access_token)).toBe(true)
  const { verified } = app.grantor.deps.keys
  expect(verified.find(verified.nameOf(tokens.access_token)), 'known by now').toBeDefined()
})

test('revoked alone, a known token is inactive from the answer on (RFC 7009 §2.1)', async () => {
  await app.walk.revoke(app.client, tokens.access_token)
  expect(await app.isActive(tokens.access_token)).toBe(false)
})

test('when its grant ends, a known token is inactive from the answer on', async () => {
  await app.walk.revoke(app.client, tokens.refresh_token)
  expect(await app.isActive(tokens.access_token)).toBe(false)
})

test('a grant ended by another process makes a known token inactive at once', async () => {
  const { store, clock } = app.grantor
  await store.grants.endGrant(claimsOf(tokens.access_token).grant_id, 'operator', clock.now())
  expect(await app.isActive(tokens.access_token)).toBe(false)
})

test('a known token says nothing to a client it was not issued to (RFC 7662 §4)', async () => {
  const other = await app.grantor.createClient()
  expect((await app.walk.introspect(other, tokens.access_token)).body).toBe('{"active":false}')
  expect(await app.isActive(tokens.access_token), 'and is active to its own').toBe(true)
})

test('while its client is disabled, a known token is inactive', async () => {
  const api = await app.grantor.createClient({ resourceServer: app.grantor.authUrl })
  expect(await app.isActive(tokens.access_token, api)).toBe(true)
  await changeClient(app.grantor, app.client, { disabledAt: app.grantor.clock.now() })
  expect(await app.isActive(tokens.access_token, api)).toBe(false)
  await changeClient(app.grantor, app.client, { disabledAt: null })
  expect(await app.isActive(tokens.access_token, api)).toBe(true)
})

test('another spelling of a known token is not that token', async () => {
  const [head, body, signature = ''] = tokens.access_token.split('.')
  const forged = `${head}.${body}.${randomBytes(64).toString('base64url')}`
  for (const each of [forged, `${tokens.access_token}=`, `${head}.${body}.${signature.slice(0, -1)}`])
    expect(await app.isActive(each)).toBe(false)
})

test('a known token is inactive from the second on in which it expires', async () => {
  const { clock } = app.grantor
  const before = clock.at
  clock.at = claimsOf(tokens.access_token).exp - 1
  expect(await app.isActive(tokens.access_token)).toBe(true)
  clock.at++
  expect(await app.isActive(tokens.access_token)).toBe(false)
  clock.at = before
})

test('on a database that was put back from a backup a known token is inactive, by its key and by its grant', async () => {
  const { store } = app.grantor
  await endRestored(store, keepingOf(app.grantor))
  expect(await app.isActive(tokens.access_token), 'its grant').toBe(false)
  await app.grantor.noticeChanges()
  expect(await app.isActive(tokens.access_token), 'its key').toBe(false)
  const { verified } = app.grantor.deps.keys
  expect(verified.size).toBe(0)
})
