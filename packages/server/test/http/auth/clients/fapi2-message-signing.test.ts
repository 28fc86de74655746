/** FAPI 2.0 Message Signing: signed requests of a client, and signed responses to the client. */
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { requestObjectOf } from '../../../support/pushed.ts'
import type { Answer } from '../../../support/send.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

const key = newClientKey()

let grantor: Grantor
let client: TestClient
let walk: Walk
beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({
    profile: 'fapi2',
    jwks: { keys: [key.jwk] },
    requestObjectSigned: true,
    responseModes: ['query.jwt'],
    introspectionSigned: 'EdDSA',
    authorizationAlgorithm: 'EdDSA',
  })
  walk = new Walk(grantor)
})
afterAll(() => grantor.close())

async function postAs(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
  return post(grantor, path, { ...fields, ...asserting(await assertionOf(grantor, client.id, key)) }, headers)
}

/** Pushes a request object; a claim set to `undefined` is left out. */
async function push(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<Answer> {
  const usual = { ...PKCE, response_mode: 'jwt' }
  return postAs('/oauth/par', { request: await requestObjectOf(grantor, client, key, { ...usual, ...claims }, header) })
}

async function pushQuery(claims: Record<string, unknown> = {}): Promise<Record<string, string>> {
  const answer = await push(claims)
  expect(answer.status, `pushQuery: ${answer.body}`).toBe(201)
  return { client_id: client.id, request_uri: answer.json().request_uri as string }
}

/** The claims of a response in a redirect, checked with the published keys. */
async function responseIn(location: string): Promise<Record<string, unknown>> {
  expect([...new URL(location).searchParams.keys()]).toEqual(['response'])
  const keys = createRemoteJWKSet(new URL(`${grantor.authUrl}/oauth/jwks`))
  const currentDate = new Date(grantor.clock.now() * 1000)
  const expected = { issuer: grantor.authUrl, audience: client.id, algorithms: ['EdDSA'], currentDate }
  return (await jwtVerify(parameterOf(location, 'response'), keys, expected)).payload
}

describe('Signed requests (FAPI 2.0 Message Signing §5.3.1)', () => {
  test('An unsigned request of a client that must sign its requests is refused (FAPI 2.0 Message Signing §5.3.1)', async () => {
    const plain = await postAs('/oauth/par', { ...(requestOf(client, PKCE) as Record<string, string>), response_type: 'code' })
    expect([plain.status, plain.json().error]).toEqual([400, 'invalid_request'])
  })

  test('A request object is accepted only if its aud is or contains the issuer (FAPI 2.0 Message Signing §5.3.1)', async () => {
    const { authUrl } = grantor
    for (const aud of [authUrl, [authUrl], ['https://other.example', authUrl]]) expect((await push({ aud })).status).toBe(201)
    for (const aud of [undefined, `${authUrl}/`, `${authUrl}/oauth/par`]) expect((await push({ aud })).status).toBe(400)
  })

  test('A request object with the typ oauth-authz-req+jwt is accepted (FAPI 2.0 Message Signing §5.3.1)', async () => {
    expect((await push({}, { typ: 'oauth-authz-req+jwt' })).status).toBe(201)
  })

  const hour = 3600
  test.each<[string, { nbf?: number; exp?: number }, string]>([
    ['without nbf', { exp: 300 }, 'request_object_without_exp_or_nbf'],
    ['without exp', { nbf: 0 }, 'request_object_without_exp_or_nbf'],
    ['with neither', {}, 'request_object_without_exp_or_nbf'],
    ['with an nbf of more than 60 minutes ago', { nbf: -hour - 1, exp: 10 }, 'request_object_too_old'],
    ['with an exp of more than 60 minutes after nbf', { nbf: -1, exp: hour }, 'request_object_lives_too_long'],
    ['that has expired', { nbf: -hour, exp: 0 }, 'request_object_expired'],
  ])('A request object %s is refused (FAPI 2.0 Message Signing §5.3.1)', async (_, { nbf, exp }, reason) => {
    const at = grantor.clock.now()
    const from = (seconds: number | undefined) => (seconds === undefined ? undefined : at + seconds)
    const answer = await push({ nbf: from(nbf), exp: from(exp), iat: at })
    expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request_object'])
    expect(grantor.events.at(-1)?.reason).toBe(reason)
  })

  test('A request object is accepted with an nbf up to 60 minutes back and an exp up to 60 minutes after nbf', async () => {
    const at = grantor.clock.now()
    expect((await push({ nbf: at, exp: at + hour })).status).toBe(201)
    expect((await push({ nbf: at - hour + 1, exp: at + 1, iat: undefined })).status).toBe(201)
  })
})

describe('Signed responses (FAPI 2.0 Message Signing §5.4.1)', () => {
  test('A client registered for query.jwt gets codes and errors in a signed response (FAPI 2.0 Message Signing §5.4.1)', async () => {
    const challenge = await walk.challenge(await pushQuery({ state: 's' }))
    const granted = await responseIn(movingTo(await walk.complete(await walk.prove(challenge))))
    expect(granted).toEqual({
      iss: grantor.authUrl,
      aud: client.id,
      exp: grantor.clock.now() + 600,
      code: expect.stringMatching(/^grc\./),
      state: 's',
    })
    const refused = await responseIn((await walk.authorize(await pushQuery({ prompt: 'none', max_age: 0 }))).location)
    expect(refused).toMatchObject({ error: 'login_required', iss: grantor.authUrl })
  })

  test.each([undefined, 'query', 'form_post', 'form_post.jwt', 'fragment.jwt'])(
    'A client registered for query.jwt only is refused with response_mode %s (FAPI 2.0 Message Signing §5.3.3)',
    async (response_mode) => {
      const answer = await push({ response_mode })
      expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
    },
  )

  test('The refusal of a response mode that the client is not registered for is signed too', async () => {
    const { profile: _, ...unpushed } = await grantor.createClient({ jwks: { keys: [key.jwk] }, responseModes: ['query.jwt'] })
    const { location } = await walk.authorize(requestOf({ ...unpushed, profile: 'default' }, { response_mode: 'query' }))
    expect([...new URL(location).searchParams.keys()]).toEqual(['response'])
  })
})

test('A login or confirmation from before the client was limited to query.jwt gets no unsigned response', async () => {
  const plain = await grantor.createClient()
  const browser = new Walk(grantor)
  await browser.signIn(requestOf(plain))
  const page = await browser.authorize(requestOf(plain, { prompt: 'consent' }))
  const other = new Walk(grantor)
  const path = await other.prove(await other.challenge(requestOf(plain)))
  await changeClient(grantor, plain, { responseModes: ['query.jwt'] })
  for (const answer of [await browser.confirm(page, 'allow'), await other.complete(path)])
    expect([answer.status, noticeOf(answer)]).toEqual([403, 'unknown_client'])
})

describe('Signed introspection (FAPI 2.0 Message Signing §5.5.1)', () => {
  test('An introspection response is a JWT if the Accept field names the media type (FAPI 2.0 Message Signing §5.5.1)', async () => {
    const answer = await postAs('/oauth/introspect', { token: 'x' }, { accept: 'application/token-introspection+jwt' })
    const keys = createRemoteJWKSet(new URL(`${grantor.authUrl}/oauth/jwks`))
    const { payload } = await jwtVerify(answer.body, keys, { issuer: grantor.authUrl, audience: client.id })
    expect(payload.token_introspection).toEqual({ active: false })
  })
})

test('A fapi2 client cannot be registered for responses signed with RS256 (FAPI 2.0 Security Profile §5.4.1)', async () => {
  const registration = grantor.createClient({ profile: 'fapi2', jwks: { keys: [key.jwk] }, authorizationAlgorithm: 'RS256' })
  await expect(registration).rejects.toThrow('Authorization responses to a fapi2 client must be signed with ES256 or EdDSA')
})
