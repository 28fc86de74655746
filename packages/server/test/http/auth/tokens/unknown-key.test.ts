/** A node without its store gets texts made with keys that another node created since. The node must not treat them as forged. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rotateKey } from '../../../../src/domain/maintenance/keep-keys.ts'
import { createUpkeep } from '../../../../src/domain/maintenance/upkeep.ts'
import { newDpopKey, proofOf } from '../../../support/dpop.ts'
import { keepingOf } from '../../../support/key-keeping.ts'
import { OPENID, openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { expectRefusal } from '../../../support/refusals.ts'
import { type Answer, send } from '../../../support/send.ts'
import { type Grantor, startBeside, startGrantor, type TestClient } from '../../../support/start.ts'
import { encode, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let first: Grantor
let second: Grantor
let client: TestClient
let walk: Walk
/** the browser at the second node, which cannot reach the store */
let there: Walk

beforeAll(async () => {
  first = await startGrantor({ settings: { dpopNonce: true } })
  second = await startBeside(first, { settings: { dpopNonce: true } })
  client = await openIdClient(first)
  walk = new Walk(first)
  there = new Walk(second)
  await walk.signIn(requestOf(client))

  const upkeep = createUpkeep(second.store, second.deps.clients, second.deps.keys, keepingOf(second))
  await upkeep.noticeChanges()
  expectRefusal(await there.exchange(client, 'forged'), 'invalid_grant')
  for (const kind of ['sign', 'seal', 'mac'] as const) await rotateKey(keepingOf(first), kind, 0)
  await first.noticeChanges()
  await second.store.close()
  await expect(upkeep.noticeChanges()).rejects.toThrow()
})
afterAll(async () => {
  await second.close()
  await first.close()
})

const userinfo = (token: string) =>
  send(second.authUrl, { path: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } })

test.each<[string, () => Promise<Answer>]>([
  ['a code', async () => there.exchange(client, parameterOf((await walk.authorize(requestOf(client, OPENID))).location, 'code'))],
  ['a refresh token', async () => there.refresh(client, (await openIdTokens(walk, client)).refresh_token)],
  ['a refresh token to be revoked', async () => there.revoke(client, (await openIdTokens(walk, client)).refresh_token)],
  ['an access token to be revoked', async () => there.revoke(client, (await openIdTokens(walk, client)).access_token)],
  ['an access token to be introspected', async () => there.introspect(client, (await openIdTokens(walk, client)).access_token)],
  ['an access token at the userinfo endpoint', async () => userinfo((await openIdTokens(walk, client)).access_token)],
  ['a login challenge', async () => there.describe(await walk.challenge(requestOf(client, { prompt: 'login' })))],
])(
  'At a node that could not read its key, %s gets 503 with Retry-After instead of the error for a forgery',
  async (_, present) => {
    expectRefusal(await present(), 'temporarily_unavailable')
  },
)

test('A DPoP proof whose nonce was made with an unread key gets 503, and no request for another nonce (RFC 9449 §8)', async () => {
  const key = newDpopKey()
  const send = async (by: Walk, nonce?: unknown) =>
    by.token(client, { grant_type: 'client_credentials' }, { dpop: await proofOf(first, key, { nonce }) })
  const withoutNonce = await send(walk)
  expect(withoutNonce.json().error).toBe('use_dpop_nonce')
  const answer = await send(there, withoutNonce.headers['dpop-nonce'])
  expect([answer.status, answer.headers['retry-after'], answer.json().error]).toEqual([503, '5', 'temporarily_unavailable'])
})

test('A page whose verifier or id_token_hint was made with an unread key says that the service is unavailable', async () => {
  const { id_token } = await openIdTokens(walk, client)
  const challenge = await walk.challenge(requestOf(client, { prompt: 'login' }))
  for (const path of [
    await walk.prove(challenge),
    `/oauth/authorize?${encode(requestOf(client, { ...OPENID, id_token_hint: id_token }))}`,
    `/oauth/logout?${encode({ id_token_hint: id_token })}`,
  ]) {
    const page = await there.browse({ path })
    expect([page.status, page.headers['retry-after'], noticeOf(page)], `the page ${path}`).toEqual([503, '5', 'unavailable'])
  }
})

test('A refresh token with a known key and a wrong signature is refused even without the store', async () => {
  const { refresh_token } = await openIdTokens(walk, client)
  const known = `grr.${second.deps.keys.maker('mac').id}${refresh_token.slice(14)}`
  expectRefusal(await there.refresh(client, known), 'invalid_grant')
})
