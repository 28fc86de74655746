/** Registering clients that prove themselves by keys, ask for themselves, or hold to a profile; in the words of RFC 7591. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../../../src/domain/model/records.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newClientKey } from '../../support/client-key.ts'
import { forgetOtherAlgorithms } from '../../support/older-keys.ts'
import { newDatabase, newFolder, run } from '../run.ts'

const APP = ['clients', 'create', '--name', 'My app', '--redirect-uri', 'https://app.example.com/callback']
const KEY = newClientKey('ES256', 'one')
const JWKS = JSON.stringify({ keys: [KEY.jwk] })
const BY_KEY = ['--token-endpoint-auth-method', 'private_key_jwt', '--jwks', JWKS]

let path: string
let env: Record<string, string>
beforeEach(async () => {
  ;({ path, env } = await newDatabase())
})

async function create(...more: string[]): Promise<{ client_id: string; client_secret: string | null }> {
  const { exit, out, err } = await run([...APP, '--json', ...more], env)
  expect([exit, err]).toEqual([0, ''])
  return JSON.parse(out)
}

async function stored(clientId: string): Promise<Client> {
  const store = openSqliteStore(path)
  const client = await store.clients.readClient(clientId)
  await store.close()
  return client!
}

const update = (clientId: string, ...more: string[]) => run(['clients', 'update', clientId, ...more], env)

describe('clients create', () => {
  test('a client with its own key has no secret, and client_secret is null', async () => {
    const { client_id, client_secret } = await create(...BY_KEY)
    expect(client_secret).toBeNull()
    expect(await stored(client_id)).toMatchObject({ authMethod: 'private_key_jwt', jwks: { keys: [KEY.jwk] }, secrets: [] })
  })

  test('keys are read from a file, or named by where they are published', async () => {
    const file = join(newFolder(), 'jwks.json')
    writeFileSync(file, JWKS)
    const { client_id: byFile } = await create('--token-endpoint-auth-method', 'private_key_jwt', '--jwks', file)
    expect((await stored(byFile)).jwks).toEqual({ keys: [KEY.jwk] })
    const { client_id: byUri } = await create(
      '--token-endpoint-auth-method=private_key_jwt',
      '--jwks-uri=https://app.example.com/jwks',
    )
    expect(await stored(byUri)).toMatchObject({ jwks: null, jwksUri: 'https://app.example.com/jwks' })
  })

  test('every other flag ends up in the record', async () => {
    const { client_id } = await create(
      '--require-pushed-authorization-requests',
      '--require-signed-request-object',
      '--dpop-bound-access-tokens',
      `--jwks=${JWKS}`,
      '--id-token-signed-response-alg=RS256',
      '--introspection-signed-response-alg=EdDSA',
      '--authorization-signed-response-alg=EdDSA',
      '--response-mode=query.jwt',
      '--response-mode=form_post.jwt',
      '--post-logout-redirect-uri=https://app.example.com/bye',
      '--backchannel-logout-uri=https://app.example.com/logout',
      '--backchannel-logout-session-required',
      '--grant-type=client_credentials',
      '--grant-type=authorization_code',
    )
    expect(await stored(client_id)).toMatchObject({
      profile: 'default',
      authMethod: 'client_secret_basic',
      requirePushedRequests: true,
      requestObjectSigned: true,
      dpopBound: true,
      idTokenAlgorithm: 'RS256',
      introspectionSigned: 'EdDSA',
      authorizationAlgorithm: 'EdDSA',
      responseModes: ['query.jwt', 'form_post.jwt'],
      postLogoutRedirectUris: ['https://app.example.com/bye'],
      backchannelLogoutUri: 'https://app.example.com/logout',
      backchannelLogoutSessionRequired: true,
      grantTypes: ['client_credentials', 'authorization_code'],
    })
  })

  test('a client that asks for itself only needs no redirect URI (RFC 6749 §4.4)', async () => {
    const { exit, out } = await run(['clients', 'create', '--name', 'Back end', '--grant-type=client_credentials', '--json'], env)
    expect(exit).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ redirect_uris: [], client_secret: expect.any(String) })
  })

  test('--profile fapi2 brings all that the profile demands of a client (FAPI 2.0 Security Profile §5.3.2)', async () => {
    const { client_id } = await create('--profile=fapi2', '--jwks', JWKS)
    const demanded = {
      authMethod: 'private_key_jwt',
      requirePkce: true,
      requirePushedRequests: true,
      dpopBound: true,
      secrets: [],
    }
    expect(await stored(client_id)).toMatchObject({ profile: 'fapi2', ...demanded })
    await update(client_id, '--no-require-pkce', '--no-dpop-bound-access-tokens', '--no-require-pushed-authorization-requests')
    expect(await stored(client_id), 'and they cannot be taken back one by one').toMatchObject(demanded)
  })

  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  test.each<[string, string[], string]>([
    ['its key without telling it', ['--token-endpoint-auth-method=private_key_jwt'], 'use --jwks or --jwks-uri'],
    ['signed requests without its key', ['--require-signed-request-object'], 'use --jwks or --jwks-uri'],
    ['keys in two ways (RFC 7591 §2)', ['--jwks', JWKS, '--jwks-uri=https://app.example.com/jwks'], 'not both'],
    ['its private key', ['--jwks', JSON.stringify({ keys: [KEY.privateKey.export({ format: 'jwk' })] })], 'holds a secret'],
    ['a weak key', ['--jwks', JSON.stringify({ keys: [weak] })], '1024 bits'],
    ['a key in place of a set', ['--jwks', JSON.stringify(KEY.jwk)], 'is not a JWK Set'],
    ['an empty set', ['--jwks', '{"keys":[]}'], 'has no keys'],
    ['keys over plain http', ['--jwks-uri=http://app.example.com/jwks'], 'plain http'],
    ['keys at a user’s', ['--jwks-uri=https://u:p@app.example.com/jwks'], 'user name'],
    ['keys with a fragment', ['--jwks-uri=https://app.example.com/jwks#a'], 'fragment'],
    ['keys in a file of this machine', ['--jwks-uri=file:///etc/passwd'], 'https URI'],
    ['logouts over plain http', ['--backchannel-logout-uri=http://app.example.com/'], 'plain http'],
    ['sessions in logouts it is not told of', ['--backchannel-logout-session-required'], '--backchannel-logout-uri'],
    ['to come back from a logout over plain http', ['--post-logout-redirect-uri=http://app.example.com/'], 'plain http'],
    [
      'to ask for itself as a public client',
      ['--public', '--grant-type=authorization_code', '--grant-type=client_credentials'],
      'confidential',
    ],
    ['the profile as a public client', ['--public', '--profile=fapi2'], 'confidential'],
    ['the profile with a secret', ['--profile=fapi2', '--token-endpoint-auth-method=client_secret_basic'], 'private_key_jwt'],
  ])('is refused one that wants %s, with one clear line', async (_, more, words) => {
    const { exit, out, err } = await run([...APP, ...more], env)
    expect([exit, out]).toEqual([2, ''])
    const lines = err.trimEnd().split('\n').slice(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(words)
  })

  test('what --jwks holds is never repeated: it may be the private key', async () => {
    const secret = KEY.privateKey.export({ format: 'jwk' }).d ?? ''
    const file = join(newFolder(), 'key.pem')
    writeFileSync(file, secret)
    for (const value of [`{"keys":[{"d":"${secret}"`, file, '/no/such/file']) {
      const { exit, err } = await run([...APP, '--jwks', value], env)
      expect([exit, err.includes(secret)]).toEqual([2, false])
    }
  })
})

describe('clients update', () => {
  test('takes keys in place of the secret, and then no secret is left', async () => {
    const { client_id } = await create()
    const { exit, err } = await update(client_id, ...BY_KEY)
    expect([exit, err]).toEqual([0, ''])
    expect(await stored(client_id)).toMatchObject({ authMethod: 'private_key_jwt', secrets: [] })
    expect(await run(['clients', 'rotate-secret', client_id], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('has no secret'),
    })
  })

  test('and back: it says how to make the secret that is missing then', async () => {
    const { client_id } = await create(...BY_KEY)
    const { exit, err } = await update(client_id, '--token-endpoint-auth-method=client_secret_basic', '--no-keys')
    expect([exit, err]).toEqual([0, expect.stringContaining(`grantor clients rotate-secret ${client_id}`)])
    expect(await stored(client_id)).toMatchObject({ jwks: null, secrets: [] })
    await run(['clients', 'rotate-secret', client_id], env)
    expect((await stored(client_id)).secrets).toHaveLength(1)
  })

  test('keys named in one way replace those named in the other', async () => {
    const { client_id } = await create(...BY_KEY)
    await update(client_id, '--jwks-uri=https://app.example.com/jwks')
    expect(await stored(client_id)).toMatchObject({ jwks: null, jwksUri: 'https://app.example.com/jwks' })
    await update(client_id, '--jwks', JWKS)
    expect(await stored(client_id)).toMatchObject({ jwks: { keys: [KEY.jwk] }, jwksUri: null })
    expect(await update(client_id, '--no-keys'), 'its only way in stays').toMatchObject({ exit: 2 })
  })

  test('each flag is set and taken back by itself, and both at once is told', async () => {
    const { client_id } = await create('--dpop-bound-access-tokens', '--backchannel-logout-uri=https://app.example.com/logout')
    await update(client_id, '--no-dpop-bound-access-tokens', '--require-pkce', '--no-backchannel-logout-uri')
    expect(await stored(client_id)).toMatchObject({ dpopBound: false, requirePkce: true, backchannelLogoutUri: null })
    await update(client_id, '--response-mode=form_post')
    expect(await stored(client_id)).toMatchObject({ responseModes: ['form_post'] })
    await update(client_id, '--no-response-modes')
    expect(await stored(client_id)).toMatchObject({ responseModes: null })
    const both = await update(client_id, '--dpop-bound-access-tokens', '--no-dpop-bound-access-tokens')
    expect(both).toMatchObject({ exit: 2, err: expect.stringContaining('keep one') })
  })
})

test('clients show tells everything, as JSON in the words of RFC 7591 §2', async () => {
  const { client_id } = await create('--profile=fapi2', '--jwks', JWKS, '--backchannel-logout-uri=https://app.example.com/logout')
  expect(JSON.parse((await run(['clients', 'show', client_id, '--json'], env)).out)).toMatchObject({
    token_endpoint_auth_method: 'private_key_jwt',
    profile: 'fapi2',
    jwks: { keys: [KEY.jwk] },
    jwks_uri: null,
    require_pushed_authorization_requests: true,
    require_signed_request_object: false,
    dpop_bound_access_tokens: true,
    id_token_signed_response_alg: 'ES256',
    introspection_signed_response_alg: null,
    authorization_signed_response_alg: 'ES256',
    response_modes: null,
    post_logout_redirect_uris: [],
    backchannel_logout_uri: 'https://app.example.com/logout',
    backchannel_logout_session_required: false,
    secrets: [],
  })
  const { out } = await run(['clients', 'show', client_id], env)
  for (const words of ['fapi2', 'one', 'pushed only', 'bound by DPoP', 'https://app.example.com/logout'])
    expect(out).toContain(words)
})

describe('an algorithm that no published key signs in yet', () => {
  const NOW = 1_800_000_000
  const KEYS = { GRANTOR_SECRET: 'correct-horse-battery-staple-4711' }
  const ALGORITHMS = ['id-token', 'introspection', 'authorization'].map((what) => `--${what}-signed-response-alg=RS256`)

  /** The store as an earlier version left it, which made such keys when a token needed one; then a command of this version. */
  async function upgrade(): Promise<void> {
    await run(['keys', 'rotate'], { ...env, ...KEYS }, NOW - 1000)
    forgetOtherAlgorithms(path)
  }

  test.each(ALGORITHMS)(
    '%s is refused to a client until the key has been published for a minute (RFC 7591 §3.2.2)',
    async (option) => {
      const { client_id } = await create()
      await upgrade()
      const both = (at: number) =>
        Promise.all([run([...APP, option], env, at), run(['clients', 'update', client_id, option], env, at)])
      for (const { exit, err } of await both(NOW)) {
        expect(exit).toBe(2)
        expect(err).toContain(
          '- invalid_client_metadata: the RS256 key has not been published yet: start grantor serve of this version',
        )
      }
      await run(['keys', 'rotate', '--kind=seal'], { ...env, ...KEYS }, NOW)
      for (const { exit, err } of await both(NOW + 59)) {
        expect(exit).toBe(2)
        expect(err).toMatch(
          /- invalid_client_metadata: the RS256 key has not been published for 60 seconds yet, .*: try again in 1 second/,
        )
      }
      for (const { exit } of await both(NOW + 60)) expect(exit).toBe(0)
    },
  )

  test('where no service has run yet every algorithm can be registered: the first start makes all keys before it listens', async () => {
    expect(await stored((await create(...ALGORITHMS)).client_id)).toMatchObject({ idTokenAlgorithm: 'RS256' })
  })
})

describe('RS256 as the algorithm of access tokens does not go with profile fapi2 (FAPI 2.0 Security Profile §5.4.1)', () => {
  const FAPI2 = ['--profile', 'fapi2', '--jwks', JWKS]
  const SERVING = {
    GRANTOR_AUTH_URL: 'http://localhost:4990',
    GRANTOR_LOGIN_URL: 'http://localhost:4991',
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_SIGNING_ALG: 'RS256',
  }

  test('serve does not start, and keys rotate makes no key: one line names the setting, the client and both ways out', async () => {
    const { client_id } = await create(...FAPI2)
    const { client_id: second } = await create(...FAPI2)
    for (const command of [['serve'], ['keys', 'rotate']]) {
      const { exit, err } = await run(command, { ...env, ...SERVING })
      expect(exit).toBe(1)
      expect(err).toMatch(
        /^grantor: GRANTOR_SIGNING_ALG is RS256, .*fapi2.*: set ES256 or EdDSA, or grantor clients disable .*\n$/,
      )
      expect(err.includes(client_id) || err.includes(second)).toBe(true)
      expect(err).toContain('and 1 more')
    }
    const { out } = await run(['keys', 'list', '--json'], { ...env, ...SERVING })
    expect(out, 'no key was made of it').not.toContain('RS256')
  })

  test('a disabled one does not stand in the way of a start', async () => {
    const { client_id } = await create(...FAPI2)
    await run(['clients', 'disable', client_id], env)
    const { exit, err } = await run(['serve'], { ...env, ...SERVING, GRANTOR_LISTEN: '192.0.2.1:1' })
    expect([exit, err]).toEqual([1, expect.not.stringContaining('SIGNING_ALG')])
  })

  test('where the service signs with RS256 no client comes under the profile, neither a new one nor by a change', async () => {
    const { client_id } = await create(...BY_KEY)
    expect((await run(['keys', 'rotate'], { ...env, ...SERVING })).exit).toBe(0)
    const line = /^grantor: this .*\n {2}- Access tokens .*RS256.*\n$/
    const refused = await run([...APP, ...FAPI2], env)
    expect([refused.exit, refused.err]).toEqual([2, expect.stringMatching(line)])
    const changed = await update(client_id, '--profile', 'fapi2')
    expect([changed.exit, changed.err]).toEqual([2, expect.stringMatching(line)])
    expect((await stored(client_id)).profile).toBe('default')
    await create(...BY_KEY)
  })
})
