/** The requirements of the FAPI 2.0 Security Profile on an authorization server, over HTTP. */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClientRegistration } from '../../../../src/domain/clients/register-client.ts'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { newDpopKey, proofOf, thumbprint } from '../../../support/dpop.ts'
import type { Answer } from '../../../support/send.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, movingTo, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

const key = newClientKey()
const dpop = newDpopKey()

let grantor: Grantor
let client: TestClient
let walk: Walk
beforeAll(async () => {
  grantor = await startGrantor({ lifetimes: { code: 600 } })
  client = await grantor.createClient(registration())
  walk = new Walk(grantor)
  await walk.signIn(await pushQuery())
})
afterAll(() => grantor.close())

function registration(more: Partial<ClientRegistration> = {}): Partial<ClientRegistration> {
  return { profile: 'fapi2', jwks: { keys: [key.jwk] }, ...more }
}

type Fields = Record<string, string>

async function postAs(path: string, fields: Fields, claims: Record<string, unknown> = {}, headers: Fields = {}): Promise<Answer> {
  return post(grantor, path, { ...fields, ...asserting(await assertionOf(grantor, client.id, key, claims)) }, headers)
}

async function push(more: Record<string, string | undefined> = {}, claims: Record<string, unknown> = {}): Promise<Answer> {
  const fields = { ...requestOf(client, PKCE), response_type: 'code', ...more } as Record<string, string | undefined>
  return postAs(
    '/oauth/par',
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields,
    claims,
  )
}

async function pushQuery(more: Fields = {}): Promise<{ client_id: string; request_uri: string }> {
  const answer = await push(more)
  expect(answer.status).toBe(201)
  return { client_id: client.id, request_uri: answer.json().request_uri as string }
}

async function code(more: Fields = {}): Promise<string> {
  return parameterOf((await walk.authorize(await pushQuery(more))).location, 'code')
}

async function exchange(fields: Fields, claims: Record<string, unknown> = {}, proof: string | null = null): Promise<Answer> {
  const body = {
    grant_type: 'authorization_code',
    redirect_uri: client.redirectUris[0] ?? '',
    code_verifier: CODE_VERIFIER,
    ...fields,
  }
  return postAs('/oauth/token', body, claims, { dpop: proof ?? (await proofOf(grantor, dpop)) })
}

async function refresh(token: string, withKey = dpop): Promise<Answer> {
  return postAs(
    '/oauth/token',
    { grant_type: 'refresh_token', refresh_token: token },
    {},
    { dpop: await proofOf(grantor, withKey) },
  )
}

describe('Registration of fapi2 clients', () => {
  test('The registration of a fapi2 client sets what the profile requires: private_key_jwt, PKCE, PAR, DPoP and ES256', () => {
    expect(client).toMatchObject({
      authMethod: 'private_key_jwt',
      requirePkce: true,
      requirePushedRequests: true,
      dpopBound: true,
      idTokenAlgorithm: 'ES256',
    })
  })

  test.each([
    [{ type: 'public' }, /^A fapi2 client must be confidential\.$/],
    [{ type: 'native', redirectUris: ['com.example.app:/cb'] }, /^A fapi2 client must be confidential\.$/],
    [{ authMethod: 'client_secret_basic' }, /^A fapi2 client must authenticate with private_key_jwt\.$/],
    [{ authMethod: 'client_secret_post' }, /^A fapi2 client must authenticate with private_key_jwt\.$/],
    [{ redirectUris: ['http://localhost:3000/cb'] }, /^Redirect URI http:\/\/localhost:3000\/cb is not https/],
    [
      { grantTypes: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] },
      /^A fapi2 client cannot use device codes\.$/,
    ],
    [{ idTokenAlgorithm: 'RS256' }, /^ID tokens for a fapi2 client/],
    [{ introspectionSigned: 'RS256' }, /^Introspection responses to a fapi2 client/],
    [{ jwks: undefined }, /^private_key_jwt needs the public keys/],
  ] as [Partial<ClientRegistration>, RegExp][])(
    'A fapi2 client cannot be registered with %o (FAPI 2.0 Security Profile §5.3.2.1, §5.3.2.2, §5.4.1)',
    async (more, line) => {
      const faults = await grantor.createClient(registration(more)).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(faults).toMatch(line)
      expect(faults.match(/fapi2|private_key_jwt needs/g)).toHaveLength(1)
    },
  )
})

describe('The token endpoint for fapi2 clients (FAPI 2.0 Security Profile §5.3.2.1)', () => {
  test('A fapi2 client’s assertion is accepted only if its aud is the issuer as a string (FAPI 2.0 Security Profile §5.3.2.1)', async () => {
    const { authUrl } = grantor
    for (const aud of [`${authUrl}/oauth/token`, `${authUrl}/`, [authUrl], `${authUrl}/oauth/par`, undefined]) {
      for (const answer of [await push({}, { aud }), await exchange({ code: 'x' }, { aud })])
        expect([answer.status, answer.json().error]).toEqual([401, 'invalid_client'])
    }
    expect((await push({}, { aud: authUrl })).status).toBe(201)
  })

  test('A client assertion with iat or nbf 10 seconds ahead is accepted, and 61 seconds ahead refused (FAPI 2.0 Security Profile §5.3.2.1)', async () => {
    const at = grantor.clock.now()
    for (const ahead of ['iat', 'nbf']) {
      expect((await push({}, { [ahead]: at + 10 })).status).toBe(201)
      expect((await push({}, { [ahead]: at + 61 })).status).toBe(401)
    }
  })

  test('A DPoP proof with an iat 10 seconds ahead is accepted, and 61 seconds ahead refused (FAPI 2.0 Security Profile §5.3.2.1)', async () => {
    const at = grantor.clock.now()
    expect((await exchange({ code: await code() }, {}, await proofOf(grantor, dpop, { iat: at + 10 }))).status).toBe(200)
    const late = await exchange({ code: await code() }, {}, await proofOf(grantor, dpop, { iat: at + 61 }))
    expect([late.status, late.json().error]).toEqual([400, 'invalid_dpop_proof'])
  })

  test('A fapi2 client gets access tokens bound to its DPoP key only, and none without a proof (FAPI 2.0 Security Profile §5.3.2.1)', async () => {
    const granted = await exchange({ code: await code() })
    expect(granted.json()).toMatchObject({ token_type: 'DPoP' })
    expect(decodeJwt(granted.json().access_token as string).cnf).toEqual({ jkt: await thumbprint(dpop) })
    const body = { grant_type: 'authorization_code', redirect_uri: client.redirectUris[0] ?? '', code_verifier: CODE_VERIFIER }
    const bare = await postAs('/oauth/token', { ...body, code: await code() })
    expect(bare.status).toBe(400)
    expect(bare.json()).not.toHaveProperty('access_token')
    const bareRefresh = await postAs('/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: granted.json().refresh_token as string,
    })
    expect(bareRefresh.status).toBe(400)
    expect((await refresh(granted.json().refresh_token as string)).status).toBe(200)
  })

  test('A refresh of a fapi2 client returns the same refresh token every time (FAPI 2.0 Security Profile §5.3.2.1)', async () => {
    const first = (await exchange({ code: await code() })).json()
    for (let use = 0; use < 3; use++) {
      const again = await refresh(first.refresh_token as string)
      expect(again.status).toBe(200)
      expect(again.json().refresh_token).toBe(first.refresh_token)
      expect(again.json().access_token).not.toBe(first.access_token)
      grantor.clock.advance(120)
    }
    const { grants } = await grantor.rows()
    expect(grants).not.toContainEqual(expect.objectContaining({ end_reason: 'refresh_replayed' }))
    expect((await postAs('/oauth/revoke', { token: first.refresh_token as string })).status).toBe(200)
    expect((await refresh(first.refresh_token as string)).json().error).toBe('invalid_grant')
  })

  test('Fifty simultaneous refreshes of a fapi2 client’s token all succeed and return the same refresh token', async () => {
    const { refresh_token } = (await exchange({ code: await code() })).json()
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(refresh_token as string)))
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(200))
    expect(new Set(answers.map((answer) => answer.json().refresh_token))).toEqual(new Set([refresh_token]))
  })

  test('Each use of a fapi2 client’s refresh token restarts its idle time, and 14 days without use end it', async () => {
    const { refresh_token } = (await exchange({ code: await code() })).json()
    const day = 86_400
    for (const wait of [10, 10]) {
      grantor.clock.advance(wait * day)
      expect((await refresh(refresh_token as string)).status).toBe(200)
    }
    const { refresh_token: idle } = await freshTokens()
    grantor.clock.advance(14 * day)
    expect((await refresh(idle as string)).json()).toMatchObject({ error: 'invalid_grant' })
  })

  test('A client that is moved to the fapi2 profile keeps its last refresh token, and the reuse of an earlier one ends the grant', async () => {
    const later = await freshTokens()
    await changeClient(grantor, client, { profile: 'default' })
    const rotated = (await refresh(later.refresh_token as string)).json()
    expect(rotated.refresh_token).not.toBe(later.refresh_token)
    await changeClient(grantor, client, { profile: 'fapi2' })
    expect((await refresh(rotated.refresh_token as string)).json().refresh_token).toBe(rotated.refresh_token)
    grantor.clock.advance(61)
    expect((await refresh(later.refresh_token as string)).json().error).toBe('invalid_grant')
    expect((await refresh(rotated.refresh_token as string)).json().error).toBe('invalid_grant')
  })

  test('A fapi2 client’s code expires after 60 seconds, even if codes are configured to live longer (FAPI 2.0 Security Profile §5.3.2.1)', async () => {
    const [soon, late] = [await code(), await code()]
    grantor.clock.advance(59)
    expect((await exchange({ code: soon })).status).toBe(200)
    grantor.clock.advance(1)
    expect((await exchange({ code: late })).json().error).toBe('invalid_grant')
  })

  test('A fapi2 client gets 401 for invalid_client only; other token and PAR errors are 400', async () => {
    const body = { grant_type: 'authorization_code', redirect_uri: client.redirectUris[0] ?? '', code_verifier: CODE_VERIFIER }
    const answers = [
      await exchange({ code: 'x' }),
      await exchange({ code: await code(), redirect_uri: 'https://other.example/' }),
      await exchange({ code: await code(), code_verifier: 'a'.repeat(43) }),
      await exchange({ code: await code() }, {}, 'no proof'),
      await postAs('/oauth/token', { ...body, code: await code() }),
      await exchange({ grant_type: 'password', username: 'a', password: 'b' }),
      await postAs('/oauth/token', { grant_type: '' }),
      await refresh('x'),
      await push({ redirect_uri: 'https://other.example/' }),
      await push({ scope: 'admin' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual(Array(answers.length).fill(400))
    expect(answers[5]?.json().error).toBe('unsupported_grant_type')
    expect((await exchange({ code: 'x' }, { sub: 'other' })).json().error).toBe('invalid_client')
  })
})

async function freshTokens(): Promise<Record<string, unknown>> {
  walk = new Walk(grantor)
  const { code } = await walk.signIn(await pushQuery())
  return (await exchange({ code })).json()
}

describe('The authorization endpoint for fapi2 clients (FAPI 2.0 Security Profile §5.3.2.2)', () => {
  test('A fapi2 client’s authorization request that was not pushed is refused (FAPI 2.0 Security Profile §5.3.2.2)', async () => {
    const answer = await walk.authorize({ ...requestOf(client, PKCE), response_type: 'code' })
    expect(parameterOf(answer.location, 'code')).toBe('')
    expect(parameterOf(answer.location, 'error')).toBe('invalid_request')
  })

  test('A fapi2 client’s pushed request without client authentication or with a secret is 401 (FAPI 2.0 Security Profile §5.3.2.2)', async () => {
    const fields = { ...requestOf(client, PKCE), response_type: 'code' } as Fields
    for (const headers of [{}, { authorization: `Basic ${Buffer.from(`${client.id}:x`).toString('base64')}` }]) {
      const answer = await post(grantor, '/oauth/par', fields, headers)
      expect([answer.status, answer.json().error]).toEqual([401, 'invalid_client'])
    }
  })

  test.each([
    [{ response_type: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ redirect_uri: undefined }, 'invalid_request'],
  ])('A fapi2 client’s pushed request with %o is refused (FAPI 2.0 Security Profile §5.3.2.2)', async (more, error) => {
    const answer = await push(more)
    expect([answer.status, answer.json().error]).toEqual([400, error])
  })

  test('A fapi2 client’s request_uri expires in less than 600 seconds (FAPI 2.0 Security Profile §5.3.2.2)', async () => {
    expect((await push()).json().expires_in).toBeLessThan(600)
  })

  test('Every authorization response to a fapi2 client contains iss, also errors and refusals (RFC 9207 §2)', async () => {
    await freshTokens()
    const granted = await walk.authorize(await pushQuery())
    const failed = await walk.authorize({ client_id: client.id, redirect_uri: client.redirectUris[0] ?? '' })
    const browser = new Walk(grantor)
    const denied = movingTo(await browser.complete(await browser.reject(await browser.challenge(await pushQuery()))))
    for (const to of [granted.location, failed.location, denied]) expect(parameterOf(to, 'iss')).toBe(grantor.authUrl)
    expect(granted.status).not.toBe(307)
  })

  test('A fapi2 client’s code that is presented twice is refused, and its grant is revoked (FAPI 2.0 Security Profile §5.3.2.2)', async () => {
    const once = await code()
    const { refresh_token } = (await exchange({ code: once })).json()
    expect((await exchange({ code: once })).json().error).toBe('invalid_grant')
    expect((await refresh(refresh_token as string)).json().error).toBe('invalid_grant')
  })

  test('A fapi2 client’s code exchange without code_verifier gets invalid_grant (RFC 7636 §4.6)', async () => {
    const answer = await exchange({ code: await code(), code_verifier: '' })
    expect([answer.status, answer.json().error]).toEqual([400, 'invalid_grant'])
  })

  test('A fapi2 client’s code that is bound by dpop_jkt is refused with a DPoP proof of another key (RFC 9449 §10)', async () => {
    const bound = await code({ dpop_jkt: await thumbprint(dpop) })
    const other = await proofOf(grantor, newDpopKey())
    expect((await exchange({ code: bound }, {}, other)).status).toBe(400)
  })

  test('The authorization endpoint sends no Access-Control-Allow-Origin (FAPI 2.0 Security Profile §5.3.2.2)', async () => {
    const answer = await walk.browse({
      path: `/oauth/authorize?client_id=${client.id}`,
      headers: { origin: 'https://app.example.net' },
    })
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
  })
})

test('A client without the fapi2 profile still gets bearer tokens, rotating refresh tokens and codes for minimal requests', async () => {
  const plain = await grantor.createClient()
  const { location } = await walk.authorize(requestOf(plain))
  const first = (await walk.exchange(plain, parameterOf(location, 'code'))).json()
  expect(first.token_type).toBe('Bearer')
  expect(location).toMatch(/\?code=[^&]+$/)
  const body = { grant_type: 'refresh_token', refresh_token: first.refresh_token as string }
  expect((await walk.token(plain, body)).json().refresh_token).not.toBe(first.refresh_token)
})
