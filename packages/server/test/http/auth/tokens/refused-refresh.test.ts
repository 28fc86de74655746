/** A refused or failed refresh does not rotate the refresh token, so the token works as before. */
import { expect, onTestFinished } from 'vitest'
import { type App, claimsOf, type Tokens, tokensOf } from '../../../support/app.ts'
import { codeFor, exchangeWith, newDpopKey, proofOf } from '../../../support/dpop.ts'
import { test as base } from '../../../support/fixtures.ts'
import { upgradeKeys } from '../../../support/key-keeping.ts'
import { openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { newPostgresDatabase } from '../../../support/postgres.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { startGrantor } from '../../../support/start.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

const test = base
  // Without a retry window a refresh token works a second time only if the token was not rotated.
  .extend('options', { lifetimes: { refreshRetryWindow: 0, refreshRetryWindowPublic: 0 } })

const generationOf = async (app: App, { access_token }: Pick<Tokens, 'access_token'>) =>
  (await app.grantor.store.grants.readGrant(claimsOf(access_token).grant_id))?.generation

test('A refresh by a client that lost every granted scope is refused, and its refresh token works when the client has the scope again (RFC 6749 §6)', async ({
  app,
}) => {
  const tokens = await app.freshTokens({ scope: 'profile' })
  await changeClient(app.grantor, app.client, { scopes: ['enhancement'] })
  const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const dpop = await proofOf(app.grantor, newDpopKey())
  expectRefusal(await app.walk.token(app.client, body), 'invalid_scope')
  expectRefusal(await app.walk.token(app.client, body, { dpop }), 'invalid_scope')
  expect(await generationOf(app, tokens)).toBe(0)

  await changeClient(app.grantor, app.client, { scopes: app.client.scopes })
  const answer = await app.walk.token(app.client, body, { dpop })
  expect(tokensOf(answer).scope, 'a refused request leaves its proof unused').toBe('profile')
})

test('A refresh whose ID token has no signing key yet is refused, and its refresh token works when there is one (OpenID Connect Core §12.2)', async ({
  app,
}) => {
  const client = await openIdClient(app.grantor)
  const tokens = await openIdTokens(app.walk, client)
  await changeClient(app.grantor, client, { idTokenAlgorithm: 'RS256' })
  await upgradeKeys(app.grantor)
  expect((await app.walk.refresh(client, tokens.refresh_token)).status).toBe(503)
  expect(await generationOf(app, tokens)).toBe(0)

  app.grantor.clock.advance(60)
  expect((await app.walk.refresh(client, tokens.refresh_token)).status).toBe(200)
})

test('A refresh with a used DPoP proof changes nothing, even if the clock of the node is ahead of the idle time (RFC 9449 §11.1)', async () => {
  const database = await newPostgresDatabase()
  // On PostgreSQL the database's clock decides whether the grant has expired, not the node's.
  const grantor = await startGrantor({ postgres: database.address, lifetimes: { refreshRetryWindowPublic: 0 } })
  onTestFinished(() => grantor.close())
  const client = await grantor.createClient({ type: 'public', redirectUris: ['https://spa.example.org/cb'] })
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client, { code_challenge_method: 'S256', code_challenge: 'x'.repeat(43) }))
  const key = newDpopKey()
  const tokens = tokensOf(await exchangeWith(walk, client, await codeFor(walk, client), key))
  grantor.clock.advance(15 * 86_400)
  const dpop = await proofOf(grantor, key)
  const refresh = (refresh_token: string) => walk.token(client, { grant_type: 'refresh_token', refresh_token }, { dpop })
  const next = tokensOf(await refresh(tokens.refresh_token))
  const before = await grantor.store.grants.readGrant(claimsOf(next.access_token).grant_id)
  expect((await refresh(next.refresh_token)).json()).toMatchObject({ error: 'invalid_dpop_proof' })
  expect(await grantor.store.grants.readGrant(claimsOf(next.access_token).grant_id)).toEqual(before)
})
