/** Access tokens that are bound to a key, at a resource API (RFC 9449 §7). */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createTokenCheck,
  type DpopOptions,
  type PresentedRequest,
  type ProofReplays,
  type ResourceError,
} from '@grantor/resource'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { athOf, newDpopKey, proofOf, thumbprint } from '../../server/test/support/dpop.ts'
import { rememberInMemory } from '../src/proof-replays.ts'
import { audience, clientId, type LittleIssuer, ok, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

const ORIGIN = 'https://api.example.com'
const ALGS = 'algs="ES256 PS256 EdDSA"'
const key = newDpopKey()
let issuer: LittleIssuer
let jkt: string
let token: string

beforeAll(async () => {
  issuer = await startLittleIssuer()
  jkt = await thumbprint(key)
  token = await issuer.sign({ cnf: { jkt } })
})
afterAll(() => issuer.close())

const checkWith = (dpop: Partial<DpopOptions> = {}, more = {}) =>
  createTokenCheck({ issuer: issuer.url, audience, now: () => issuer.clock.now, dpop: { origin: ORIGIN, ...dpop }, ...more })
const proof = (claims: Record<string, unknown> = {}, by = key, of = token) =>
  proofOf({ authUrl: ORIGIN, clock: { now: () => issuer.clock.now } as never }, by, {
    htm: 'GET',
    htu: `${ORIGIN}/me`,
    ath: athOf(of),
    ...claims,
  })
const call = (dpop: string | string[], more: Partial<PresentedRequest> = {}, of = token): PresentedRequest => ({
  method: 'GET',
  url: '/me?page=1',
  headers: { authorization: `DPoP ${of}`, dpop },
  ...more,
})

test('A bound token with the scheme DPoP and a proof of its key is accepted, and the result has the thumbprint of the key (RFC 9449 §7.1)', async () => {
  const check = checkWith()
  await expect(check(call(await proof()))).resolves.toMatchObject({ wallet, clientId, keyThumbprint: jkt })
  const fetched = new Request(`${ORIGIN}/me?page=1`, { headers: { authorization: `dpop ${token}`, dpop: await proof() } })
  await expect(check(fetched)).resolves.toMatchObject({ wallet })
  await expect(check(call(await proof(), { url: '/', originalUrl: '/me' }))).resolves.toMatchObject({ wallet })
  await expect(check(bearer(await issuer.sign()))).resolves.not.toHaveProperty('keyThumbprint')
})

test('An API behind a proxy that rewrites URLs can state the method and the URL of the call', async () => {
  const behind = call(await proof({ htm: 'POST', htu: 'https://www.example.com/api/me' }))
  await expect(checkWith()(behind, { htm: 'POST', htu: 'https://www.example.com/api/me' })).resolves.toMatchObject({ wallet })
})

describe('Invalid DPoP proofs at a resource API (RFC 9449 §7.1)', () => {
  const expectRefused = async (request: PresentedRequest, reason: string) => {
    const error = await refusal(checkWith()(request))
    expect([error.status, error.error, error.reason]).toEqual([401, 'invalid_dpop_proof', reason])
    expect(error.wwwAuthenticate).toMatch(
      new RegExp(`^DPoP realm="[^"]+", error="invalid_dpop_proof", error_description="[^"]+", ${ALGS}$`),
    )
  }

  test.each<[string, Record<string, unknown>, string]>([
    ['of another token', { ath: athOf('another') }, 'proof_of_another_token'],
    ['of no token', { ath: undefined }, 'proof_of_another_token'],
    ['for another method', { htm: 'POST' }, 'proof_method_wrong'],
    ['for another path', { htu: `${ORIGIN}/you` }, 'proof_address_wrong'],
    ['for another host', { htu: 'https://api.example.org/me' }, 'proof_address_wrong'],
    ['that is too old', { iat: 1_800_000_000 - 61 }, 'proof_expired'],
    ['from the future', { iat: 1_800_000_000 + 11 }, 'proof_of_the_future'],
  ])('A DPoP proof %s is refused with 401 invalid_dpop_proof and a challenge (RFC 9449 §7.1)', async (_, claims, reason) => {
    await expectRefused(call(await proof(claims)), reason)
  })

  test('A missing, repeated or malformed DPoP proof is refused, and so is one for the host in the Host header', async () => {
    await expectRefused({ ...call(''), headers: { authorization: `DPoP ${token}` } }, 'proof_missing')
    await expectRefused(call([await proof(), await proof()]), 'proof_repeated')
    await expectRefused(call('x.y.z'), 'proof_malformed')
    const headers = {
      authorization: `DPoP ${token}`,
      dpop: await proof({ htu: 'https://evil.example/me' }),
      host: 'evil.example',
    }
    await expectRefused(call('', { headers }), 'proof_address_wrong')
  })
})

describe('Tokens that are refused as invalid_token', () => {
  const expectInvalid = async (error: ResourceError, reason: string, challenge: RegExp) => {
    expect([error.status, error.error, error.reason]).toEqual([401, 'invalid_token', reason])
    expect(error.wwwAuthenticate).toMatch(challenge)
  }

  test('A bound token as a bearer token is invalid_token, even with a proof (RFC 9449 §7.2)', async () => {
    const error = await refusal(
      checkWith()(call(await proof(), { headers: { authorization: `Bearer ${token}`, dpop: await proof() } })),
    )
    await expectInvalid(error, 'sender_constrained', new RegExp(`^Bearer realm=.*error="invalid_token".*, DPoP ${ALGS}$`))
  })

  test('A proof of another key, an unbound token with the scheme DPoP, and a token bound to a certificate are invalid_token', async () => {
    const another = newDpopKey()
    const dpopOnly = new RegExp(`^DPoP realm=.*${ALGS}$`)
    await expectInvalid(await refusal(checkWith()(call(await proof({}, another)))), 'bound_to_another_key', dpopOnly)
    const plain = await issuer.sign()
    await expectInvalid(await refusal(checkWith()(call(await proof({}, key, plain), {}, plain))), 'not_bound', dpopOnly)
    const certificate = await issuer.sign({ cnf: { 'x5t#S256': 'x' } })
    await expectInvalid(
      await refusal(checkWith()(call(await proof({}, key, certificate), {}, certificate))),
      'claim_cnf',
      dpopOnly,
    )
  })

  test('If only bound tokens are accepted, a bearer token is invalid_token, and the challenge names only DPoP', async () => {
    const strict = checkWith({ required: true })
    await expectInvalid(await refusal(strict(bearer(await issuer.sign()))), 'not_bound', /^DPoP realm=/)
    expect((await refusal(strict({ headers: {} }))).wwwAuthenticate).toBe(`DPoP realm="${audience}", ${ALGS}`)
    await expect(strict(call(await proof()))).resolves.toMatchObject({ wallet })
  })
})

test('Without the option dpop, bound tokens are refused, and the challenge does not name DPoP', async () => {
  const check = createTokenCheck({ issuer: issuer.url, audience, now: () => issuer.clock.now })
  expect((await refusal(check(call(await proof())))).wwwAuthenticate).toBe(`Bearer realm="${audience}"`)
  expect((await refusal(check(bearer(token)))).reason).toBe('sender_constrained')
})

test('A call without credentials gets a challenge for Bearer and for DPoP (RFC 9449 §7.2)', async () => {
  expect((await refusal(checkWith()({ headers: {} }))).wwwAuthenticate).toBe(`Bearer realm="${audience}", DPoP ${ALGS}`)
})

test('The introspection response for a bound token must have the same key (RFC 9449 §6.2)', async () => {
  const check = checkWith({}, { introspection: { clientId: 'api', clientSecret: 'secret' } })
  const usual = issuer.answers.introspect
  const answerWith = (cnf: unknown) => {
    issuer.answers.introspect = (presented) => ok({ ...issuer.active(presented), ...(cnf === undefined ? {} : { cnf }) })
  }
  answerWith({ jkt })
  await expect(check(call(await proof()))).resolves.toMatchObject({ wallet, keyThumbprint: jkt })
  for (const cnf of [undefined, { jkt: 'another' }, {}]) {
    answerWith(cnf)
    expect((await refusal(check(call(await proof())))).reason).toBe('introspection_cnf')
  }
  issuer.answers.introspect = usual
})

describe('Single use of DPoP proofs (RFC 9449 §11.1)', () => {
  test('A DPoP proof is refused at its second use, and a call that is refused for another reason leaves its proof unused (RFC 9449 §11.1)', async () => {
    const check = checkWith()
    const once = await proof()
    expect((await refusal(check(call(once), { scopes: ['more'] }))).error).toBe('insufficient_scope')
    await check(call(once))
    expect((await refusal(check(call(once)))).reason).toBe('proof_replayed')
  })

  test('Of fifty simultaneous calls with one DPoP proof, on two processes with a shared memory of proofs, one is accepted', async () => {
    const replays = rememberInMemory(() => issuer.clock.now)
    const shared: ProofReplays = { spend: async (use) => replays.spend(use) }
    const checks = [checkWith({ replays: shared }), checkWith({ replays: shared })]
    const once = await proof()
    const calls = Array.from({ length: 50 }, (_, index) => checks[index % 2]!(call(once)))
    const outcomes = await Promise.allSettled(calls)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  test('If the shared memory of DPoP proofs is unavailable, a call gets 503', async () => {
    const replays = { spend: () => Promise.reject(new Error('down')) }
    const error = await refusal(checkWith({ replays })(call(await proof())))
    expect([error.status, error.reason, error.headers]).toMatchObject([503, 'proof_replays_unavailable', { 'Retry-After': '5' }])
  })

  test('The memory of DPoP proofs is bounded: a new proof first replaces the expired ones, then the oldest', () => {
    let at = 0
    const memory = rememberInMemory(() => at, 3)
    for (const hash of ['a', 'b', 'c']) expect(memory.spend({ hash, expiresAt: 60 })).toBe(true)
    expect(memory.spend({ hash: 'c', expiresAt: 60 })).toBe(false)
    at = 60
    for (const hash of ['a', 'd', 'e']) expect(memory.spend({ hash, expiresAt: 120 })).toBe(true)
    expect(memory.spend({ hash: 'f', expiresAt: 120 })).toBe(true)
    expect([memory.spend({ hash: 'e', expiresAt: 120 }), memory.spend({ hash: 'f', expiresAt: 120 })]).toEqual([false, false])
  })
})

test('A request of node:http can be checked as it is, and one with two DPoP fields is refused', async () => {
  const check = checkWith()
  const api = createServer((incoming, response) => {
    check(incoming).then(
      () => response.end('let in'),
      (error: ResourceError) => response.writeHead(error.status, error.headers).end(error.reason),
    )
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  const { port } = api.address() as AddressInfo
  const callApi = async (...proofs: string[]) => {
    const headers = [['authorization', `DPoP ${token}`], ...proofs.map((each) => ['dpop', each])] as [string, string][]
    return (await fetch(`http://127.0.0.1:${port}/me`, { headers })).text()
  }
  expect(await callApi(await proof())).toBe('let in')
  expect(await callApi(await proof(), await proof())).not.toBe('let in')
  api.close()
})

test('An invalid dpop.origin is refused when the check is created, and a request without method and URL is a TypeError', () => {
  for (const origin of [
    '',
    'api.example.com',
    'http://api.example.com',
    'https://api.example.com/path',
    'https://api.example.com?x',
  ])
    expect(() => checkWith({ origin })).toThrow(/dpop\.origin/)
  return expect(checkWith()({ headers: { authorization: `DPoP ${token}`, dpop: 'x' } })).rejects.toThrow(TypeError)
})
