/** Clients that authenticate with keys, use the client credentials grant, or follow a profile. The options have the names of RFC 7591. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../../../src/domain/model/records.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newClientKey } from '../../support/client-key.ts'
import { forgetOtherAlgorithms } from '../../support/key-keeping.ts'
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

async function readClient(clientId: string): Promise<Client> {
  const store = openSqliteStore(path)
  const client = await store.clients.readClient(clientId)
  await store.close()
  return client!
}

const update = (clientId: string, ...more: string[]) => run(['clients', 'update', clientId, ...more], env)

describe('The command clients create', () => {
  test('A client that is registered with its own key has no secret, and client_secret is null', async () => {
    const { client_id, client_secret } = await create(...BY_KEY)
    expect(client_secret).toBeNull()
    expect(await readClient(client_id)).toMatchObject({ authMethod: 'private_key_jwt', jwks: { keys: [KEY.jwk] }, secrets: [] })
  })

  test('The assertions of a new client name the issuer, an option allows an endpoint, and export has that member', async () => {
    expect(await readClient((await create(...BY_KEY)).client_id)).toMatchObject({ assertionAudience: 'issuer' })
    const { client_id } = await create(...BY_KEY, '--client-assertion-audience', 'endpoint')
    expect((await run(['clients', 'show', client_id], env)).out).toMatch(/audience of assertions +endpoint/)
    expect((await run(['export'], env)).out).toMatch(/client_assertion_audience: endpoint/)
    expect((await update(client_id, '--client-assertion-audience', 'issuer')).exit).toBe(0)
    expect(await readClient(client_id)).toMatchObject({ assertionAudience: 'issuer' })
  })

  test('The keys of a client are read from a file or from the URI that --jwks-uri names (RFC 7591 §2)', async () => {
    const file = join(newFolder(), 'jwks.json')
    writeFileSync(file, JWKS)
    const { client_id: byFile } = await create('--token-endpoint-auth-method', 'private_key_jwt', '--jwks', file)
    expect((await readClient(byFile)).jwks).toEqual({ keys: [KEY.jwk] })
    const { client_id: byUri } = await create(
      '--token-endpoint-auth-method=private_key_jwt',
      '--jwks-uri=https://app.example.com/jwks',
    )
    expect(await readClient(byUri)).toMatchObject({ jwks: null, jwksUri: 'https://app.example.com/jwks' })
  })

  test('The options of clients create for signed requests, signed responses, DPoP, logout and grant types are readClient with the client', async () => {
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
    expect(await readClient(client_id)).toMatchObject({
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

  test('A client that uses only the client credentials grant needs no redirect URI (RFC 6749 §4.4)', async () => {
    const { exit, out } = await run(['clients', 'create', '--name', 'Back end', '--grant-type=client_credentials', '--json'], env)
    expect(exit).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ redirect_uris: [], client_secret: expect.any(String) })
  })

  test('The option --profile fapi2 sets all that the profile requires of a client, and no option unsets it (FAPI 2.0 Security Profile §5.3.2)', async () => {
    const { client_id } = await create('--profile=fapi2', '--jwks', JWKS)
    const required = {
      authMethod: 'private_key_jwt',
      requirePkce: true,
      requirePushedRequests: true,
      dpopBound: true,
      secrets: [],
    }
    expect(await readClient(client_id)).toMatchObject({ profile: 'fapi2', ...required })
    await update(client_id, '--no-require-pkce', '--no-dpop-bound-access-tokens', '--no-require-pushed-authorization-requests')
    expect(await readClient(client_id), 'no option unsets what the profile requires').toMatchObject(required)
  })

  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  test.each<[string, string[], string]>([
    ['private_key_jwt but without keys', ['--token-endpoint-auth-method=private_key_jwt'], 'use --jwks or --jwks-uri'],
    ['signed requests but without keys', ['--require-signed-request-object'], 'use --jwks or --jwks-uri'],
    ['both --jwks and --jwks-uri (RFC 7591 §2)', ['--jwks', JWKS, '--jwks-uri=https://app.example.com/jwks'], 'not both'],
    ['a private key', ['--jwks', JSON.stringify({ keys: [KEY.privateKey.export({ format: 'jwk' })] })], 'holds a secret'],
    ['an RSA key of 1024 bits', ['--jwks', JSON.stringify({ keys: [weak] })], '1024 bits'],
    ['a key in place of a JWK Set', ['--jwks', JSON.stringify(KEY.jwk)], 'is not a JWK Set'],
    ['an empty JWK Set', ['--jwks', '{"keys":[]}'], 'has no keys'],
    ['a --jwks-uri of plain http', ['--jwks-uri=http://app.example.com/jwks'], 'plain http'],
    ['a --jwks-uri with a user name', ['--jwks-uri=https://u:p@app.example.com/jwks'], 'user name'],
    ['a --jwks-uri with a fragment', ['--jwks-uri=https://app.example.com/jwks#a'], 'fragment'],
    ['a --jwks-uri of the file scheme', ['--jwks-uri=file:///etc/passwd'], 'https URI'],
    ['a back-channel logout URI of plain http', ['--backchannel-logout-uri=http://app.example.com/'], 'plain http'],
    [
      'required sessions in logout tokens but without a back-channel logout URI',
      ['--backchannel-logout-session-required'],
      '--backchannel-logout-uri',
    ],
    ['a post-logout redirect URI of plain http', ['--post-logout-redirect-uri=http://app.example.com/'], 'plain http'],
    [
      'client_credentials but without authentication',
      ['--public', '--grant-type=authorization_code', '--grant-type=client_credentials'],
      'confidential',
    ],
    ['the profile fapi2 but without authentication', ['--public', '--profile=fapi2'], 'confidential'],
    [
      'the profile fapi2 and a client secret',
      ['--profile=fapi2', '--token-endpoint-auth-method=client_secret_basic'],
      'private_key_jwt',
    ],
  ])('The registration of a client with %s is refused, with one line that names the fault', async (_, more, words) => {
    const { exit, out, err } = await run([...APP, ...more], env)
    expect([exit, out]).toEqual([2, ''])
    const lines = err.trimEnd().split('\n').slice(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(words)
  })

  test('An error about --jwks does not repeat the value, which may be a private key', async () => {
    const secret = KEY.privateKey.export({ format: 'jwk' }).d ?? ''
    const file = join(newFolder(), 'key.pem')
    writeFileSync(file, secret)
    for (const value of [`{"keys":[{"d":"${secret}"`, file, '/no/such/file']) {
      const { exit, err } = await run([...APP, '--jwks', value], env)
      expect([exit, err.includes(secret)]).toEqual([2, false])
    }
  })
})

describe('The command clients update', () => {
  test('If a client changes from a secret to its own keys, its secrets are deleted and clients rotate-secret is refused', async () => {
    const { client_id } = await create()
    const { exit, err } = await update(client_id, ...BY_KEY)
    expect([exit, err]).toEqual([0, ''])
    expect(await readClient(client_id)).toMatchObject({ authMethod: 'private_key_jwt', secrets: [] })
    expect(await run(['clients', 'rotate-secret', client_id], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('has no secret'),
    })
  })

  test('If a client changes from its own keys to a secret, clients update prints the command that makes the missing secret', async () => {
    const { client_id } = await create(...BY_KEY)
    const { exit, err } = await update(client_id, '--token-endpoint-auth-method=client_secret_basic', '--no-keys')
    expect([exit, err]).toEqual([0, expect.stringContaining(`grantor clients rotate-secret ${client_id}`)])
    expect(await readClient(client_id)).toMatchObject({ jwks: null, secrets: [] })
    await run(['clients', 'rotate-secret', client_id], env)
    expect((await readClient(client_id)).secrets).toHaveLength(1)
  })

  test('A new jwks_uri replaces the readClient keys, new keys replace the jwks_uri, and the only keys of a client cannot be removed', async () => {
    const { client_id } = await create(...BY_KEY)
    await update(client_id, '--jwks-uri=https://app.example.com/jwks')
    expect(await readClient(client_id)).toMatchObject({ jwks: null, jwksUri: 'https://app.example.com/jwks' })
    await update(client_id, '--jwks', JWKS)
    expect(await readClient(client_id)).toMatchObject({ jwks: { keys: [KEY.jwk] }, jwksUri: null })
    expect(await update(client_id, '--no-keys'), 'the only keys of a client cannot be removed').toMatchObject({ exit: 2 })
  })

  test('Each option of clients update can be set and unset, and an option together with its opposite is refused', async () => {
    const { client_id } = await create('--dpop-bound-access-tokens', '--backchannel-logout-uri=https://app.example.com/logout')
    await update(client_id, '--no-dpop-bound-access-tokens', '--require-pkce', '--no-backchannel-logout-uri')
    expect(await readClient(client_id)).toMatchObject({ dpopBound: false, requirePkce: true, backchannelLogoutUri: null })
    await update(client_id, '--response-mode=form_post')
    expect(await readClient(client_id)).toMatchObject({ responseModes: ['form_post'] })
    await update(client_id, '--no-response-modes')
    expect(await readClient(client_id)).toMatchObject({ responseModes: null })
    const both = await update(client_id, '--dpop-bound-access-tokens', '--no-dpop-bound-access-tokens')
    expect(both).toMatchObject({ exit: 2, err: expect.stringContaining('keep one') })
  })
})

test('The command clients show prints the settings of a client, as text or as JSON with the names of RFC 7591 §2', async () => {
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

describe('Registration of an algorithm that has no published key', () => {
  const NOW = 1_800_000_000
  const KEYS = { GRANTOR_SECRET: 'correct-horse-battery-staple-4711' }
  const ALGORITHMS = ['id-token', 'introspection', 'authorization'].map((what) => `--${what}-signed-response-alg=RS256`)

  /** Leaves the store as a version without RS256 would leave it. */
  async function upgrade(): Promise<void> {
    await run(['keys', 'rotate'], { ...env, ...KEYS }, NOW - 1000)
    forgetOtherAlgorithms(path)
  }

  test.each(ALGORITHMS)(
    'The option %s is refused until the RS256 key has been published for 60 seconds (RFC 7591 §3.2.2)',
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

  test('Before the first start of a service, a client can be registered with RS256 for every signed response', async () => {
    expect(await readClient((await create(...ALGORITHMS)).client_id)).toMatchObject({ idTokenAlgorithm: 'RS256' })
  })
})

describe('Access tokens signed with RS256 and clients with profile fapi2 (FAPI 2.0 Security Profile §5.4.1)', () => {
  const FAPI2 = ['--profile', 'fapi2', '--jwks', JWKS]
  const SERVING = {
    GRANTOR_AUTH_URL: 'http://localhost:4990',
    GRANTOR_LOGIN_URL: 'http://localhost:4991',
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    GRANTOR_SIGNING_ALG: 'RS256',
  }

  test('With a client of profile fapi2 and GRANTOR_SIGNING_ALG=RS256, serve and keys rotate fail, with one line that names both remedies', async () => {
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
    expect(out, 'no RS256 key was made').not.toContain('RS256')
  })

  test('A disabled client with profile fapi2 does not prevent a start with GRANTOR_SIGNING_ALG=RS256', async () => {
    const { client_id } = await create(...FAPI2)
    await run(['clients', 'disable', client_id], env)
    const { exit, err } = await run(['serve'], { ...env, ...SERVING, GRANTOR_LISTEN: '192.0.2.1:1' })
    expect([exit, err]).toEqual([1, expect.not.stringContaining('SIGNING_ALG')])
  })

  test('If access tokens are signed with RS256, no client can be created with profile fapi2 or changed to it (FAPI 2.0 Security Profile §5.4.1)', async () => {
    const { client_id } = await create(...BY_KEY)
    expect((await run(['keys', 'rotate'], { ...env, ...SERVING })).exit).toBe(0)
    const line = /^grantor: this .*\n {2}- Access tokens .*RS256.*\n$/
    const refused = await run([...APP, ...FAPI2], env)
    expect([refused.exit, refused.err]).toEqual([2, expect.stringMatching(line)])
    const changed = await update(client_id, '--profile', 'fapi2')
    expect([changed.exit, changed.err]).toEqual([2, expect.stringMatching(line)])
    expect((await readClient(client_id)).profile).toBe('default')
    await create(...BY_KEY)
  })
})
