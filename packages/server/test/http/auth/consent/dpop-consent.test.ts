/** The DPoP key of an authorization request (RFC 9449 §10) in the text that the wallet signs. */
import { describe, expect } from 'vitest'
import { readConsent } from '../../../../src/protocol/wallet/read-consent.ts'
import { newDpopKey, thumbprint } from '../../../support/dpop.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { outcomeOf, signedClient } from '../../../support/signed-app.ts'
import { requestOf, Walk } from '../../../support/walk.ts'

const test = base
  .extend('client', ({ grantor }) => signedClient(grantor))
  .extend('jkt', FILE, () => thumbprint(newDpopKey()))
  .extend('another', FILE, () => thumbprint(newDpopKey()))

test.for(['signed', 'session'] as const)(
  'The signed text contains the thumbprint of dpop_jkt if the request has one, under the consent rule %s (RFC 9449 §10)',
  async (consent, { grantor, jkt }) => {
    const own = await grantor.createClient({ consent })
    const walk = new Walk(grantor)
    const text = async (more: Record<string, string>) => {
      const login_challenge = await walk.challenge(requestOf(own, more))
      const answer = await walk.loginApi('/login/message', { login_challenge, address: walk.wallet.address, chain_id: 1 })
      return answer.json().message as string
    }
    expect(await text({ dpop_jkt: jkt })).toMatch(new RegExp(`^- urn:uuid:[0-9a-f-]{36}#${jkt}$`, 'm'))
    expect(readConsent(await text({ dpop_jkt: jkt }))?.keyThumbprint).toBe(jkt)
    expect(await text({})).not.toContain('#')
  },
)

describe('Consents with a DPoP key', () => {
  test('A consent that contains a DPoP key covers requests with this key only; any other request needs a new login', async ({
    grantor,
    client,
    jkt,
    another,
  }) => {
    const walk = new Walk(grantor)
    const outcomeWith = async (more: Record<string, string> = {}) => outcomeOf(await walk.authorize(requestOf(client, more)))
    await walk.signIn(requestOf(client, { dpop_jkt: jkt }))
    expect(await outcomeWith({ dpop_jkt: jkt })).toBe('code')
    expect(await outcomeWith({ dpop_jkt: another })).toBe('login')
    expect(await outcomeWith()).toBe('login')
    expect(await outcomeWith({ dpop_jkt: another, prompt: 'none', response_type: 'code' })).toBe('consent_required')
    await walk.signIn(requestOf(client, { dpop_jkt: another }))
    expect([await outcomeWith({ dpop_jkt: jkt }), await outcomeWith({ dpop_jkt: another }), await outcomeWith()]).toEqual([
      'code',
      'code',
      'login',
    ])
  })

  test('A consent without a DPoP key covers requests with any key', async ({ grantor, jkt, another }) => {
    const own = await signedClient(grantor)
    const walk = new Walk(grantor)
    await walk.signIn(requestOf(own))
    for (const more of [{}, { dpop_jkt: jkt }, { dpop_jkt: another }])
      expect(outcomeOf(await walk.authorize(requestOf(own, more)))).toBe('code')
  })
})
