/** Clients of the FAPI 2.0 Security Profile while the server signs with an algorithm that the profile forbids (§5.4.1). */
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rotateKey } from '../../../../src/domain/maintenance/keep-keys.ts'
import { asserting, assertionOf, newClientKey, post } from '../../../support/client-key.ts'
import { newDpopKey, proofOf } from '../../../support/dpop.ts'
import { keepingOf } from '../../../support/key-keeping.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import type { Answer } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

const key = newClientKey()
const dpop = newDpopKey()

let grantor: Grantor
let client: TestClient
let walk: Walk
beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ profile: 'fapi2', jwks: { keys: [key.jwk] } })
  walk = new Walk(grantor)
  await walk.signIn(await pushQuery())
})
afterAll(() => grantor.close())

type Fields = Record<string, string>

async function as(path: string, fields: Fields, headers: Fields = {}): Promise<Answer> {
  return post(grantor, path, { ...fields, ...asserting(await assertionOf(grantor, client.id, key)) }, headers)
}

const push = () => as('/oauth/par', { ...(requestOf(client, PKCE) as Fields), response_type: 'code' })
const pushQuery = async () => ({ client_id: client.id, request_uri: (await push()).json().request_uri as string })
const code = async () => parameterOf((await walk.authorize(await pushQuery())).location, 'code')
const token = async (body: Fields) => as('/oauth/token', body, { dpop: await proofOf(grantor, dpop) })
const exchange = (of: string) =>
  token({ grant_type: 'authorization_code', code: of, redirect_uri: client.redirectUris[0] ?? '', code_verifier: CODE_VERIFIER })
const refresh = (refresh_token: string) => token({ grant_type: 'refresh_token', refresh_token })

test('While the server signs with RS256, a fapi2 client gets 503 and loses no code or token, and other clients are served (§5.4.1)', async () => {
  const signWith = async (signingAlgorithm: 'RS256' | 'ES256') => {
    await rotateKey(keepingOf(grantor, { signingAlgorithm }), 'sign', 0)
    await grantor.noticeChanges()
  }
  const { refresh_token } = (await exchange(await code())).json() as { refresh_token: string }
  const fresh = await code()
  const request = await pushQuery()
  await signWith('RS256')
  for (const answer of [await exchange(fresh), await refresh(refresh_token), await push()])
    expectRefusal(answer, {
      status: 503,
      error: 'temporarily_unavailable',
      description: 'The service cannot sign for this client right now. Try again in a moment.',
      headers: { 'retry-after': '60' },
    })
  expect(parameterOf((await walk.authorize(request)).location, 'error')).toBe('temporarily_unavailable')
  const signed = await as('/oauth/introspect', { token: 'x' }, { accept: 'application/token-introspection+jwt' })
  expect(signed.status).toBe(503)
  expect((await as('/oauth/introspect', { token: 'x' })).json()).toEqual({ active: false })
  const plain = await grantor.createClient()
  const given = (await walk.exchange(plain, parameterOf((await walk.authorize(requestOf(plain))).location, 'code'))).json()
  expect(decodeProtectedHeader(given.access_token as string).alg).toBe('RS256')
  expect((await as('/oauth/revoke', { token: 'x' })).status, 'a revocation needs no signature').toBe(200)

  await signWith('ES256')
  for (const answer of [await exchange(fresh), await refresh(refresh_token)])
    expect(decodeProtectedHeader(answer.json().access_token as string).alg).toBe('ES256')
  expect(parameterOf((await walk.authorize(request)).location, 'code')).not.toBe('')
})
