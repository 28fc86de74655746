/** Clients that authenticate with keys, use the client credentials grant, or follow a profile. The options have the names of RFC 7591. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Client } from '../../../src/domain/model/records.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newClientKey } from '../../support/client-key.ts'
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

  test('A key in place of a JWK Set is refused, and the line names the fault', async () => {
    const { exit, err } = await run([...APP, '--jwks', JSON.stringify(KEY.jwk)], env)
    expect([exit, err]).toEqual([2, expect.stringContaining('is not a JWK Set')])
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
  test('If a client changes from its own keys to a secret, clients update prints the command that makes the missing secret', async () => {
    const { client_id } = await create(...BY_KEY)
    const { exit, out } = await update(client_id, '--token-endpoint-auth-method=client_secret_basic', '--no-keys')
    expect([exit, out]).toEqual([0, expect.stringContaining(`grantor clients rotate-secret ${client_id}`)])
    expect(await readClient(client_id)).toMatchObject({ jwks: null, secrets: [] })
    await run(['clients', 'rotate-secret', client_id], env)
    expect((await readClient(client_id)).secrets).toHaveLength(1)
  })

  test('The option --jwks-uri replaces the keys of a client, and --jwks replaces the jwks_uri', async () => {
    const { client_id } = await create(...BY_KEY)
    await update(client_id, '--jwks-uri=https://app.example.com/jwks')
    expect(await readClient(client_id)).toMatchObject({ jwks: null, jwksUri: 'https://app.example.com/jwks' })
    await update(client_id, '--jwks', JWKS)
    expect(await readClient(client_id)).toMatchObject({ jwks: { keys: [KEY.jwk] }, jwksUri: null })
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

test('Before the first start of a service, a client can be registered with RS256 for every signed response', async () => {
  const algorithms = ['id-token', 'introspection', 'authorization'].map((what) => `--${what}-signed-response-alg=RS256`)
  expect(await readClient((await create(...algorithms)).client_id)).toMatchObject({ idTokenAlgorithm: 'RS256' })
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
