/** The longest `nonce` (OpenID Connect Core §3.1.2.1): an ID token with such a nonce is still accepted as `id_token_hint`. */
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import { test as base, FILE, signIn } from '../../../support/fixtures.ts'
import { OPENID, openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { push, pushed } from '../../../support/pushed.ts'
import type { TestClient } from '../../../support/start.ts'
import { parameterOf, requestOf, type Walk } from '../../../support/walk.ts'

const test = base.extend('client', ({ grantor }) => openIdClient(grantor)).extend('walk', FILE, signIn)

const errorOf = async (client: TestClient, walk: Walk, parameters: Record<string, string>) =>
  parameterOf((await walk.authorize(requestOf(client, parameters))).location, 'error')

test.for<[string, string]>([
  ['ASCII letters', 'n'.repeat(2000)],
  ['control characters, which JSON escapes', '\u0001'.repeat(666)],
  ['characters outside of ASCII', '\uffff'.repeat(222)],
])(
  'A nonce of 2,000 form-urlencoded characters is returned unchanged, and its ID token is accepted as id_token_hint: %s',
  async ([, nonce], { client, walk }) => {
    const { id_token } = await openIdTokens(walk, client, { ...OPENID, nonce })
    expect(decodeJwt(id_token).nonce).toBe(nonce)
    // A longer token would not be accepted as `id_token_hint` (docs/reference/protocol.md).
    expect(id_token.length).toBeLessThanOrEqual(8192)
    const hinted = await pushed(walk, client, { ...OPENID, id_token_hint: id_token, prompt: 'none' })
    expect((await walk.authorize(hinted)).location).toContain('code=')
  },
)

test('A nonce of more than 2,000 form-urlencoded characters is invalid_request in an authorization request and in a pushed one', async ({
  grantor,
  client,
  walk,
}) => {
  for (const nonce of ['n'.repeat(2001), '\u0001'.repeat(667)]) {
    expect(await errorOf(client, walk, { ...OPENID, nonce })).toBe('invalid_request')
    expect(await errorOf(client, walk, { ...OPENID, nonce, prompt: 'login' })).toBe('invalid_request')
    const answer = await push(walk, client, requestOf(client, { ...OPENID, nonce }))
    expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
  }
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'nonce_too_long' })
})
