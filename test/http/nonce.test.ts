/** How long a `nonce` may be (OpenID Connect Core §3.1.2.1): as long as the ID token that holds it is one we read ourselves. */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPENID, openIdClient, openIdTokens } from '../support/openid-app.ts'
import { push, pushed } from '../support/pushed.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { parameterOf, requestOf, Walk } from '../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await openIdClient(grantor)
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const errorOf = async (asked: Record<string, string>) =>
  parameterOf((await walk.authorize(requestOf(client, asked))).location, 'error')

test.each([
  ['as it is', 'n'.repeat(2000)],
  ['of characters that JSON writes longer', '\u0001'.repeat(666)],
  ['not of ASCII', '\uffff'.repeat(222)],
])(
  'a nonce of 2,000 characters, form-urlencoded, comes back as it was sent, in an ID token that is still a hint: %s',
  async (_, nonce) => {
    const { id_token } = await openIdTokens(walk, client, { ...OPENID, nonce })
    expect(decodeJwt(id_token).nonce).toBe(nonce)
    // docs/reference/protocol.md: what is longer we would not read ourselves
    expect(id_token.length).toBeLessThanOrEqual(8192)
    const hinted = await pushed(walk, client, { ...OPENID, id_token_hint: id_token, prompt: 'none' })
    expect((await walk.authorize(hinted)).location).toContain('code=')
  },
)

test('a longer nonce is invalid_request at the app and where it is pushed, as a request that is too long altogether', async () => {
  for (const nonce of ['n'.repeat(2001), '\u0001'.repeat(667)]) {
    expect(await errorOf({ ...OPENID, nonce })).toBe('invalid_request')
    expect(await errorOf({ ...OPENID, nonce, prompt: 'login' })).toBe('invalid_request')
    const answer = await push(walk, client, requestOf(client, { ...OPENID, nonce }))
    expect([answer.status, answer.json().error]).toEqual([400, 'invalid_request'])
  }
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason: 'nonce_too_long' })
})
