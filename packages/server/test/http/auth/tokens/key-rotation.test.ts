import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ClientDirectory } from '../../../../src/domain/clients/client-directory.ts'
import { keepKeys, retireKey, rotateKey } from '../../../../src/domain/maintenance/keep-keys.ts'
import { createUpkeep } from '../../../../src/domain/maintenance/upkeep.ts'
import type { KeyRecord } from '../../../../src/protocol/keys/key-ring.ts'
import { type App, startApp, tokensOf } from '../../../support/app.ts'
import { keepingOf } from '../../../support/key-keeping.ts'
import { expectRefusal, headersOf } from '../../../support/refusals.ts'
import { send } from '../../../support/send.ts'
import { LIFETIMES } from '../../../support/start.ts'

let app: App

beforeEach(async () => {
  app = await startApp()
})
afterEach(() => app.close())

type Jwk = Record<string, string>

async function publishedKeys(): Promise<Jwk[]> {
  return (await send(app.grantor.authUrl, { path: '/oauth/jwks' })).json().keys as Jwk[]
}

/** Verifies with freshly fetched keys, as a resource server does. */
async function verify(accessToken: string) {
  return jwtVerify(accessToken, createRemoteJWKSet(new URL(`${app.grantor.authUrl}/oauth/jwks`)), {
    issuer: app.grantor.authUrl,
    typ: 'at+jwt',
    currentDate: new Date(app.grantor.clock.now() * 1000),
  })
}

const kidOf = (accessToken: string): string | undefined => decodeProtectedHeader(accessToken).kid

async function rotate(kind: 'sign' | 'seal' | 'mac', announcedFor?: number): Promise<KeyRecord> {
  const key = await rotateKey(keepingOf(app.grantor), kind, announcedFor)
  await app.grantor.noticeChanges()
  return key as KeyRecord
}

async function runKeepKeys(): Promise<void> {
  await keepKeys(keepingOf(app.grantor))
  await app.grantor.noticeChanges()
}

/** The ids of the published keys that sign or have signed access tokens. */
async function accessTokenKids(): Promise<(string | undefined)[]> {
  const records = await app.grantor.store.keys.listKeys()
  const ids = records.filter(({ kind }) => kind === 'sign').map(({ id }) => id)
  return (await publishedKeys()).map(({ kid }) => kid).filter((kid) => ids.includes(kid ?? ''))
}

const currentKeyId = async (kind: string): Promise<string> =>
  (await app.grantor.store.keys.listKeys()).find((key) => key.kind === kind && key.retiredAt === null)?.id ?? ''

describe('The JWK Set (RFC 7517 §5)', () => {
  test('The JWK Set contains public keys only, and has its own media type and caching headers (RFC 7517 §5, §8.5)', async () => {
    await rotate('sign')
    const answer = await send(app.grantor.authUrl, { path: '/oauth/jwks' })
    expect(headersOf(answer)).toEqual({
      'content-type': 'application/jwk-set+json; charset=utf-8',
      'cache-control': 'public, max-age=30',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'x-request-id, retry-after',
    })
    const usual = (await publishedKeys()).filter(({ alg }) => alg === 'ES256')
    expect(usual).toHaveLength(3)
    for (const key of usual) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
      expect(key).toMatchObject({ alg: 'ES256', use: 'sig', kty: 'EC', crv: 'P-256' })
    }
    expect(answer.body).not.toMatch(/"(d|p|q|dp|dq|qi|k|oth)":/)
  })

  test.each([
    ['ES256', ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']],
    ['EdDSA', ['alg', 'crv', 'kid', 'kty', 'use', 'x']],
    ['RS256', ['alg', 'e', 'kid', 'kty', 'n', 'use']],
  ] as const)(
    'A token signed with %s can be verified with another library, and its published key has no private member',
    async (alg, members) => {
      await keepKeys(keepingOf(app.grantor, { signingAlgorithm: alg }))
      await rotateKey(keepingOf(app.grantor, { signingAlgorithm: alg }), 'sign', 0)
      await app.grantor.noticeChanges()
      const { access_token } = await app.freshTokens()
      const { protectedHeader, payload } = await verify(access_token)
      expect(protectedHeader).toEqual({ typ: 'at+jwt', alg, kid: kidOf(access_token) })
      expect(payload).toMatchObject({ client_id: app.client.id, sub: app.walk.wallet.address })
      expect(await app.isActive(access_token)).toBe(true)
      const published = (await publishedKeys()).find(({ kid }) => kid === kidOf(access_token)) ?? {}
      expect(Object.keys(published).sort()).toEqual(members)
    },
  )
})

describe('The rotation of keys', () => {
  test('A new signing key is published for 60 seconds before use, and the old one until its last token has expired', async () => {
    const old = await app.freshTokens()
    const next = await rotate('sign')
    expect(new Set(await accessTokenKids())).toEqual(new Set([kidOf(old.access_token), next.id]))

    app.grantor.clock.advance(59)
    const lastOfOld = await app.freshTokens()
    expect(kidOf(lastOfOld.access_token)).toBe(kidOf(old.access_token))
    app.grantor.clock.advance(1)
    const firstOfNew = await app.freshTokens()
    expect(kidOf(firstOfNew.access_token)).toBe(next.id)
    for (const { access_token } of [lastOfOld, firstOfNew]) {
      await verify(access_token)
      expect(await app.isActive(access_token)).toBe(true)
    }

    app.grantor.clock.advance(LIFETIMES.accessToken - 2)
    await runKeepKeys()
    await verify(lastOfOld.access_token)
    expect(await app.isActive(lastOfOld.access_token)).toBe(true)

    app.grantor.clock.advance(62)
    await runKeepKeys()
    expect(await accessTokenKids()).toEqual([next.id])
  })

  test('Codes, refresh tokens, sessions and logins from before a rotation of all three kinds of keys stay valid', async () => {
    const tokens = await app.freshTokens()
    const code = await app.freshCode()
    const challenge = await app.walk.challenge({
      client_id: app.client.id,
      redirect_uri: app.client.redirectUris[0] ?? '',
      prompt: 'login',
    })
    for (const kind of ['sign', 'seal', 'mac'] as const) await rotate(kind, 0)
    expect((await app.walk.exchange(app.client, code)).status).toBe(200)
    const refreshed = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    expect(refreshed.refresh_token.split('.')[1]).not.toBe(tokens.refresh_token.split('.')[1])
    expect((await app.walk.refresh(app.client, refreshed.refresh_token)).status).toBe(200)
    await app.freshCode()
    expect((await app.walk.complete(await app.walk.prove(challenge))).status).toBe(200)
  })

  test('A refresh token that is repeated after a key rotation gets the same successor as before', async () => {
    const tokens = await app.freshTokens()
    const successor = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token)).refresh_token
    await rotate('mac', 0)
    expect(tokensOf(await app.walk.refresh(app.client, tokens.refresh_token)).refresh_token).toBe(successor)
  })
})

describe('The retirement of leaked keys', () => {
  test('When a signing key is retired, its tokens are inactive, the key is not published, and grants can be refreshed', async () => {
    const tokens = await app.freshTokens()
    await retireKey(keepingOf(app.grantor), kidOf(tokens.access_token) ?? '', { atOnce: true })
    await app.grantor.noticeChanges()
    expect((await publishedKeys()).map(({ kid }) => kid)).not.toContain(kidOf(tokens.access_token))
    expect(await app.isActive(tokens.access_token)).toBe(false)
    await expect(verify(tokens.access_token)).rejects.toThrow()
    const next = tokensOf(await app.walk.refresh(app.client, tokens.refresh_token))
    expect(await app.isActive(next.access_token)).toBe(true)
    await verify(next.access_token)
  })

  test('When a sealing key is retired, its codes are refused, and new codes are accepted', async () => {
    const code = await app.freshCode()
    await retireKey(keepingOf(app.grantor), await currentKeyId('seal'), { atOnce: true })
    await app.grantor.noticeChanges()
    expectRefusal(await app.walk.exchange(app.client, code), 'invalid_grant')
    expect((await app.walk.exchange(app.client, await app.freshCode())).status).toBe(200)
  })

  test('When a MAC key is retired, its refresh tokens are refused, and the access tokens stay active', async () => {
    const tokens = await app.freshTokens()
    await retireKey(keepingOf(app.grantor), await currentKeyId('mac'), { atOnce: true })
    await app.grantor.noticeChanges()
    expectRefusal(await app.walk.refresh(app.client, tokens.refresh_token), 'invalid_grant')
    expect(await app.isActive(tokens.access_token)).toBe(true)
    const fresh = await app.freshTokens()
    expect((await app.walk.refresh(app.client, fresh.refresh_token)).status).toBe(200)
  })
})

test('A node reads new keys and new clients from the store at its next check for changes, even a client that it refused before', async () => {
  const { store, clock, deps } = app.grantor
  const clients = new ClientDirectory(store, clock.now)
  const upkeep = createUpkeep(store, clients, deps.keys, keepingOf(app.grantor))
  await upkeep.noticeChanges()
  const created = { ...app.client, id: '00000000-0000-4000-8000-000000000001' }
  expect(await clients.find(created.id)).toBe(null)
  await store.clients.insertClient(created)
  const key = await rotateKey(keepingOf(app.grantor), 'sign')
  expect(await clients.find(created.id)).toBe(null)
  await upkeep.noticeChanges()
  expect(await clients.find(created.id)).toEqual(created)
  expect((await publishedKeys()).map(({ kid }) => kid)).toContain((key as KeyRecord).id)
})
