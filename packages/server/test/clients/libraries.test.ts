/** Independent libraries for apps on a server, with the recipes of docs/guides/clients.md: from registration to sign-out. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { newClientKey } from '../support/client-key.ts'
import { test } from '../support/fixtures.ts'
import type { Grantor } from '../support/start.ts'
import { movingTo, Walk } from '../support/walk.ts'
import { importRecipe, register } from './recipe.ts'

type Tokens = { access_token: string; refresh_token: string; id_token?: string; scope: string; token_type: string }
/** The exports of these recipes. `simple-oauth2` supports neither introspection nor OpenID Connect. */
type Recipe = {
  begin(): Promise<{ to: URL; checks: unknown }>
  finish(responseUrl: string, checks: unknown): Promise<{ tokens: Tokens; sub: string; wallet?: unknown }>
  refresh(tokens: Tokens): Promise<Tokens>
  revoke(tokens: Tokens): Promise<void>
}
type OpenIdRecipe = Recipe & {
  introspect(tokens: Tokens): Promise<Record<string, unknown>>
  signOut(tokens: Tokens): URL
}

const REDIRECT_URI = 'https://app.example.net/callback'

async function appWith<R extends Recipe>(
  grantor: Grantor,
  mark: string,
  places: Record<string, string> = {},
  more = {},
): Promise<R> {
  const { client_id, client_secret } = await register(grantor, mark, places)
  const environment = { ISSUER: grantor.authUrl, CLIENT_ID: client_id, CLIENT_SECRET: client_secret ?? '', REDIRECT_URI }
  return importRecipe<R>(mark, { ...environment, ...more })
}

/** Signs in with the wallet, and completes the login in the app. */
async function signIn(app: Recipe, walk: Walk) {
  const { to, checks } = await app.begin()
  return app.finish((await walk.signIn(to.search.slice(1))).to, checks)
}

test.for(['openid-client', 'oauth4webapi'])(
  'An app with %s signs in, reads userinfo, refreshes, introspects, revokes and signs out',
  async (mark, { grantor }) => {
    const app = await appWith<OpenIdRecipe>(grantor, mark)
    const walk = new Walk(grantor)
    const { address } = walk.wallet
    const { tokens, sub, wallet } = await signIn(app, walk)
    expect({ sub, scope: tokens.scope }).toEqual({ sub: address, scope: 'openid wallet' })
    expect(wallet).toEqual({ sub: address, wallet_address: address, chain_id: 1, account_id: `eip155:1:${address}` })

    const refreshed = await app.refresh(tokens)
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
    expect(await app.introspect(refreshed)).toMatchObject({ active: true, sub: address })

    await app.revoke(refreshed)
    expect(await app.introspect(refreshed)).toEqual({ active: false })
    await expect(app.refresh(refreshed)).rejects.toMatchObject({ error: 'invalid_grant' })

    const out = app.signOut(refreshed)
    expect((await walk.browse({ path: `${out.pathname}${out.search}` })).location).toBe('https://app.example.net/')
    const { to } = await app.begin()
    expect((await walk.browse({ path: `${to.pathname}${to.search}` })).location).toContain('/login?login_challenge=')
  },
)

const STRICT = '--require-pushed-authorization-requests --require-signed-request-object --dpop-bound-access-tokens'

test.for<[string, string]>([
  ['each required by an option', STRICT],
  ['under FAPI 2.0', '--profile fapi2'],
])(
  'An app with openid-client and a key pushes a signed request, gets bound tokens, refreshes and revokes, %s',
  async ([, options], { grantor }) => {
    const folder = mkdtempSync(join(tmpdir(), 'grantor-recipe-'))
    try {
      const { privateKey, jwk } = newClientKey('ES256', '2026-01')
      const [keyFile, jwksFile] = [join(folder, 'client-key.pem'), join(folder, 'jwks.json')]
      writeFileSync(keyFile, privateKey.export({ format: 'pem', type: 'pkcs8' }))
      writeFileSync(jwksFile, JSON.stringify({ keys: [jwk] }))
      const places = { 'jwks.json': jwksFile, [STRICT]: options }
      const app = await appWith<OpenIdRecipe>(grantor, 'openid-client-keys', places, { CLIENT_KEY_FILE: keyFile })
      const walk = new Walk(grantor)
      const { tokens, sub, wallet } = await signIn(app, walk)
      expect({ sub, type: tokens.token_type.toLowerCase() }).toEqual({ sub: walk.wallet.address, type: 'dpop' })
      expect(wallet).toMatchObject({ sub, chain_id: 1 })

      const refreshed = await app.refresh(tokens)
      expect(await app.introspect(refreshed)).toMatchObject({ active: true, sub, cnf: { jkt: expect.any(String) } })
      await app.revoke(refreshed)
      expect(await app.introspect(refreshed)).toEqual({ active: false })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

test('An app with simple-oauth2 signs in, refreshes and revokes', async ({ grantor }) => {
  const app = await appWith<Recipe>(grantor, 'simple-oauth2')
  const walk = new Walk(grantor)
  const { tokens, sub } = await signIn(app, walk)
  expect({ sub, scope: tokens.scope }).toEqual({ sub: walk.wallet.address, scope: 'enhancement' })

  const refreshed = await app.refresh(tokens)
  expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
  await app.revoke(refreshed)
  await expect(app.refresh(refreshed)).rejects.toMatchObject({ data: { payload: { error: 'invalid_grant' } } })
})

test.for(['openid-client', 'oauth4webapi', 'simple-oauth2'])(
  'An app with %s reports a declined login as an error, and refuses the response to another request',
  async (mark, { grantor }) => {
    const app = await appWith<Recipe>(grantor, mark)
    const walk = new Walk(grantor)
    const { to, checks } = await app.begin()
    const challenge = await walk.challenge(to.search.slice(1))
    const no = movingTo(await walk.complete(await walk.reject(challenge)))
    await expect(app.finish(no, checks)).rejects.toThrow(/access_denied|authorization response/)

    const { to: back } = await walk.signIn((await app.begin()).to.search.slice(1))
    await expect(app.finish(back, checks)).rejects.toThrow(/state|invalid response|not the answer/)
  },
)
