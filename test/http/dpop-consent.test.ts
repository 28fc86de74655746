/** The key that an app proves (RFC 9449 §10), in the text that the wallet signs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConsent } from '../../src/wallet/read-consent.ts'
import { newDpopKey, thumbprint } from '../support/dpop.ts'
import { outcomeOf, signedClient } from '../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'

let grantor: Grantor
let client: TestClient
let jkt: string
let another: string

beforeAll(async () => {
  grantor = await startGrantor()
  client = await signedClient(grantor)
  jkt = await thumbprint(newDpopKey())
  another = await thumbprint(newDpopKey())
})
afterAll(() => grantor.close())

test.each(['signed', 'session'] as const)('stands there where the app names it, under %s', async (consent) => {
  const own = await grantor.createClient({ consent })
  const walk = new Walk(grantor)
  const text = async (more: Record<string, string>) => {
    const login_challenge = await walk.challenge(requestOf(own, more))
    const answer = await walk.loginApi('/login/message', { login_challenge, address: walk.wallet.address, chain_id: 1 })
    return answer.json().message as string
  }
  expect(await text({ dpop_jkt: jkt })).toContain(`- urn:ietf:params:oauth:jwk-thumbprint:sha-256:${jkt}\n`)
  expect(readConsent(await text({ dpop_jkt: jkt }))?.keyThumbprint).toBe(jkt)
  expect(await text({})).not.toContain('jwk-thumbprint')
})

describe('a consent that names a key covers what is bound to that key', () => {
  test('and neither another key nor none: then the wallet is asked again', async () => {
    const walk = new Walk(grantor)
    const come = async (more: Record<string, string> = {}) => outcomeOf(await walk.authorize(requestOf(client, more)))
    await walk.signIn(requestOf(client, { dpop_jkt: jkt }))
    expect(await come({ dpop_jkt: jkt })).toBe('code')
    expect(await come({ dpop_jkt: another })).toBe('login')
    expect(await come()).toBe('login')
    expect(await come({ dpop_jkt: another, prompt: 'none', response_type: 'code' })).toBe('consent_required')
    await walk.signIn(requestOf(client, { dpop_jkt: another }))
    expect([await come({ dpop_jkt: jkt }), await come({ dpop_jkt: another }), await come()]).toEqual(['code', 'code', 'login'])
  })

  test('one that names none covers any', async () => {
    const own = await signedClient(grantor)
    const walk = new Walk(grantor)
    await walk.signIn(requestOf(own))
    for (const more of [{}, { dpop_jkt: jkt }, { dpop_jkt: another }])
      expect(outcomeOf(await walk.authorize(requestOf(own, more)))).toBe('code')
  })
})
