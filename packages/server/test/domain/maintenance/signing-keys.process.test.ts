/** Signing keys in every advertised algorithm. They are published before they sign, and rotated like all other keys. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { keepKeys, keyState, loadKeys, replaceKeys, retireKey } from '../../../src/domain/maintenance/keep-keys.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { signingKeyOf } from '../../../src/domain/tokens/signing-key.ts'
import { openIdToken, signIdToken } from '../../../src/protocol/keys/id-token.ts'
import { ANNOUNCED_FOR, KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../../../src/protocol/keys/signing-key.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'
import { asserting, assertionOf, newClientKey, post } from '../../support/client-key.ts'
import { keepingOf, upgradeKeys } from '../../support/key-keeping.ts'
import { OPENID } from '../../support/openid-app.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'
import { send } from '../../support/send.ts'
import { type Grantor, startGrantor } from '../../support/start.ts'
import { parameterOf, requestOf, Walk } from '../../support/walk.ts'

let grantor: Grantor

beforeEach(async () => {
  grantor = await startGrantor()
})
afterEach(() => grantor.close())

const statesOf = async (kind: string): Promise<string[]> => {
  const records = await grantor.store.keys.listKeys()
  return records.filter((each) => each.kind === kind).map((each) => keyState(keepingOf(grantor), records, each))
}

const signer = (algorithm: SigningAlgorithm) => signingKeyOf(grantor.deps, algorithm)

async function readPublishedIds(): Promise<string[]> {
  return ((await send(grantor.authUrl, { path: '/oauth/jwks' })).json().keys as { kid: string }[]).map(({ kid }) => kid)
}

async function readAdvertised(): Promise<unknown[]> {
  const metadata = (await send(grantor.authUrl, { path: '/.well-known/openid-configuration' })).json()
  return ['id_token', 'introspection', 'authorization'].map((what) => metadata[`${what}_signing_alg_values_supported`])
}

const upgrade = () => upgradeKeys(grantor)

test('A new store has a published key in every algorithm before the first token request', async () => {
  for (const algorithm of SIGNING_ALGORITHMS) expect(await readPublishedIds()).toContain(signer(algorithm).id)
  expect(await readAdvertised()).toEqual([SIGNING_ALGORITHMS, SIGNING_ALGORITHMS, SIGNING_ALGORITHMS])
  const before = await grantor.store.keys.listKeys()
  await loadKeys(keepingOf(grantor), new KeyRing(grantor.clock.now))
  expect(await grantor.store.keys.listKeys()).toEqual(before)
})

/** Several nodes on a new store of one engine. */
const NEW_STORES: Record<string, () => Promise<Store[]>> = {
  SQLite: () => openTwoNodes(),
  async PostgreSQL() {
    const { address } = await newPostgresDatabase()
    await migratePostgres(address, grantor.clock.now())
    const stores = await Promise.all([openPostgresStore(address), openPostgresStore(address)])
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()))
    })
    return stores
  },
}

test.each(Object.keys(NEW_STORES))(
  'If two nodes start on a new store and one interrupts the other at any point, both use the same key per algorithm (%s)',
  async (engine) => {
    for (let at = 1; at <= 6; at++) {
      const stores = (await NEW_STORES[engine]?.()) ?? []
      const [first, second] = stores.map(({ keys }) => ({ keys, ring: new KeyRing(grantor.clock.now) }))
      if (!first || !second) throw new Error('two nodes were expected')
      let inserts = 0
      const interrupted: Store['keys'] = {
        ...first.keys,
        async insertKey(key) {
          inserts++
          if (inserts === at) await loadKeys({ ...keepingOf(grantor), store: second.keys }, second.ring)
          return first.keys.insertKey(key)
        },
      }
      await loadKeys({ ...keepingOf(grantor), store: interrupted }, first.ring)
      // The first node reads the other's keys at its next check for changes.
      await loadKeys({ ...keepingOf(grantor), store: second.keys }, second.ring)
      for (const algorithm of SIGNING_ALGORITHMS) {
        const ids = [first.ring, second.ring].map((ring) => ring.signer(algorithm)?.id)
        expect(ids, `signers of ${algorithm}, at insert ${at}`).toEqual([expect.any(String), ids[0]])
      }
      expect(first.ring.signingKeys()).toHaveLength(4)
    }
  },
)

describe('A store of a version without the other algorithms', () => {
  test('The first key in an algorithm is published for a minute before it signs, and its algorithm is not advertised until then', async () => {
    await upgrade()
    expect(await statesOf('sign_rs256')).toEqual(['announced'])
    expect(await readPublishedIds()).toHaveLength(4)
    expect(await readAdvertised()).toEqual([['ES256'], ['ES256'], ['ES256']])
    expect(() => signer('RS256')).toThrow('signing_key_announced')
    grantor.clock.advance(ANNOUNCED_FOR)
    expect(await readPublishedIds()).toContain(signer('RS256').id)
    expect(await readAdvertised()).toEqual([SIGNING_ALGORITHMS, SIGNING_ALGORITHMS, SIGNING_ALGORITHMS])
  })

  test('While the key of an algorithm is announced, requests that need it are answered 503 with Retry-After, and no code is spent', async () => {
    const key = newClientKey()
    const client = await grantor.createClient({
      scopes: ['openid'],
      idTokenAlgorithm: 'RS256',
      introspectionSigned: 'RS256',
      authorizationAlgorithm: 'RS256',
      authMethod: 'private_key_jwt',
      jwks: { keys: [key.jwk] },
    })
    const as = async (path: string, body: Record<string, string>, headers = {}) =>
      post(grantor, path, { ...body, ...asserting(await assertionOf(grantor, client.id, key)) }, headers)
    const exchange = (code: string) =>
      as('/oauth/token', { grant_type: 'authorization_code', code, redirect_uri: client.redirectUris[0] ?? '' })
    const walk = new Walk(grantor)
    await walk.signIn(requestOf(client))
    await upgrade()
    const code = parameterOf((await walk.authorize(requestOf(client, OPENID_ONLY))).location, 'code')
    const refused = [
      await exchange(code),
      await as('/oauth/introspect', { token: 'x' }, { accept: 'application/token-introspection+jwt' }),
      await walk.authorize(requestOf(client, { response_mode: 'jwt' })),
      await as('/oauth/par', { ...(requestOf(client) as Record<string, string>), response_mode: 'jwt' }),
    ]
    expect(refused.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(refused.map(() => [503, '60']))
    grantor.clock.advance(30)
    const later = parameterOf((await walk.authorize(requestOf(client, OPENID_ONLY))).location, 'code')
    grantor.clock.advance(30)
    expect((await exchange(later)).status).toBe(200)
    expect((await walk.authorize(requestOf(client, { response_mode: 'jwt' }))).location).toContain('?response=')
  })

  test('If a signing key is retired while it is announced, its successor is announced as well', async () => {
    await upgrade()
    const key = (await grantor.store.keys.listKeys()).find(({ kind }) => kind === 'sign_rs256')
    await retireKey(keepingOf(grantor), key?.id ?? '', { atOnce: true })
    await grantor.noticeChanges()
    expect((await statesOf('sign_rs256')).toSorted()).toEqual(['announced', 'retired'])
  })
})

const OPENID_ONLY = { ...OPENID, scope: 'openid' }

test('An old signing key gets a successor, which signs a minute later, and verifies its own tokens until they have expired', async () => {
  const keeping = keepingOf(grantor)
  const first = signer('RS256')
  const claims = { iss: 'i', sub: 's', aud: 'a', exp: 0, iat: 0, at_hash: '', acr: '' }
  const token = signIdToken(first, claims)
  grantor.clock.advance(keeping.rotateAfter)
  await keepKeys(keeping)
  await grantor.noticeChanges()
  expect(await statesOf('sign_rs256')).toEqual(['makes', 'announced'])
  expect(signer('RS256').id).toBe(first.id)
  grantor.clock.advance(60)
  expect(signer('RS256').id).not.toBe(first.id)
  expect(openIdToken(grantor.deps.keys, 'i', token)).toEqual(claims)
  grantor.clock.advance(keeping.lifetimes.accessToken + 60)
  await keepKeys(keeping)
  await grantor.noticeChanges()
  expect(await statesOf('sign_rs256')).toEqual(['retired', 'makes'])
  expect(openIdToken(grantor.deps.keys, 'i', token)).toBeUndefined()
})

test('When the algorithm of access tokens changes, the old and the new algorithm have a published key all the time', async () => {
  const before = await readPublishedIds()
  const changed = keepingOf(grantor, { signingAlgorithm: 'RS256' })
  await keepKeys(changed)
  await grantor.noticeChanges()
  const announced = await readPublishedIds()
  expect(grantor.deps.keys.maker('sign').algorithm).toBe('ES256')
  grantor.clock.advance(ANNOUNCED_FOR)
  expect(grantor.deps.keys.maker('sign').algorithm).toBe('RS256')
  expect(announced).toContain(signer('RS256').id)
  expect(before, 'the key has not signed yet').toContain(signer('ES256').id)
})

test('A key of the other algorithms never signs or verifies an access token, and is replaced with all others after a restore', async () => {
  const rs256 = signer('RS256')
  const usual = grantor.deps.keys.maker('sign')
  expect([usual.algorithm, usual.id === rs256.id]).toEqual(['ES256', false])
  expect(grantor.deps.keys.opener('sign', rs256.id), 'nor opens one').toBeUndefined()
  grantor.clock.advance(1)
  await replaceKeys(keepingOf(grantor))
  await grantor.noticeChanges()
  expect(signer('RS256').id).not.toBe(rs256.id)
  expect(await statesOf('sign_rs256')).toEqual(['retired', 'makes'])
})
