/** The signed text is composed twice, from the sealed challenge alone. Changes of settings or clients in between do not change the text. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { seal, unseal } from '../../../../src/protocol/keys/sealed.ts'
import { checkReceipt } from '../../../../src/protocol/wallet/receipt.ts'
import { type App, claimsOf, tokensOf } from '../../../support/app.ts'
import { API, changeClient, endingChallenge, outcomeOf, receiptsOf, startSignedApp } from '../../../support/signed-app.ts'
import { movingTo, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let app: App
beforeEach(async () => {
  app = await startSignedApp()
})
afterEach(() => app.close())

const claim = (challenge: string) => ({ login_challenge: challenge, address: app.walk.wallet.address, chain_id: 1 })
const textOf = (challenge: string) => app.walk.loginApi('/login/message', claim(challenge))

describe('Changes between the text and its signature', () => {
  test.each<[string, (app: App) => unknown]>([
    ['the client’s name', ({ grantor, client }) => changeClient(grantor, client, { name: 'Another Name' })],
    [
      'the client’s scopes',
      ({ grantor, client }) => changeClient(grantor, client, { scopes: ['profile'], defaultScopes: ['profile'] }),
    ],
    ['the client’s resources', ({ grantor, client }) => changeClient(grantor, client, { resources: [] })],
    ['the client’s consent rule', ({ grantor, client }) => changeClient(grantor, client, { consent: 'session' })],
    ['the default resource', ({ grantor }) => (grantor.deps.settings.defaultResource = 'https://new.example/')],
    ['the lifetime of grants', ({ grantor }) => (grantor.deps.settings.lifetimes.grant = 60)],
    [
      'the description of a scope',
      ({ grantor }) => (grantor.deps.settings.scopeDescriptions = { enhancement: 'Something else' }),
    ],
    ['the time', ({ grantor }) => grantor.clock.advance(599)],
  ])('A change of %s does not change the text, and the signature is accepted', async (_, change) => {
    for (const more of [{}, { resource: API }]) {
      const challenge = await app.walk.challenge(requestOf(app.client, { scope: 'enhancement profile', ...more }))
      const proof = await app.walk.proof(challenge)
      const before = (await textOf(challenge)).body
      await change(app)
      expect((await textOf(challenge)).body).toBe(before)
      expect((await app.walk.loginApi('/login/accept', proof)).status).toBe(200)
      await changeClient(app.grantor, app.client, {})
      app.walk = new Walk(app.grantor)
      const [receipt] = await receiptsOf(app.grantor, app.walk.wallet)
      expect(receipt?.expiresAt).toBe((receipt?.issuedAt ?? 0) + 30 * 86_400)
      app.grantor.deps.settings.lifetimes.grant = 30 * 86_400
    }
  })

  test('After a change of the default resource, the token is for the signed one, and the next request needs a new signature', async () => {
    const challenge = await app.walk.challenge(requestOf(app.client))
    const path = await app.walk.prove(challenge)
    app.grantor.deps.settings.defaultResource = 'https://new.example/'
    const code = parameterOf(movingTo(await app.walk.complete(path)), 'code')
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    expect(claimsOf(tokens.access_token).aud).toBe(app.grantor.authUrl)
    expect(claimsOf(tokensOf(await app.walk.refresh(app.client, tokens.refresh_token)).access_token).aud).toBe(
      app.grantor.authUrl,
    )
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('login')
    expect((await app.walk.exchange(app.client, code, { resource: 'https://new.example/' })).json().error).toBe('invalid_target')
  })

  test('If the client is disabled or loses its redirect URI, the signature gets 403 and nothing is stored', async () => {
    for (const change of [{ disabledAt: 1 }, { redirectUris: ['https://other.example/'] }]) {
      const proof = await app.walk.proof(await app.walk.challenge(requestOf(app.client)))
      await changeClient(app.grantor, app.client, change)
      const before = await app.grantor.rows()
      const answer = await app.walk.loginApi('/login/accept', proof)
      expect([answer.status, answer.json().error]).toEqual([403, 'client_not_allowed'])
      expect(await app.grantor.rows()).toEqual(before)
      await changeClient(app.grantor, app.client, {})
    }
  })
})

describe('Unknown templates of the text', () => {
  /** The same challenge with another template, as a node of another version would seal the challenge. */
  function withTemplate(challenge: string, template: unknown): string {
    const [, ...rest] = unseal(app.grantor.deps.keys, 'grl', challenge) as unknown[]
    return seal(app.grantor.deps.keys, 'grl', [template, ...rest])
  }

  test.each([0, 1, 3, 4, 5, 9, 11, 12, 99, -1, 2.5])(
    'A challenge of an app with template %d is 410 expired, for the text and for any signature',
    async (template) => {
      const challenge = await app.walk.challenge(requestOf(app.client))
      const { signature } = await app.walk.proof(challenge)
      const before = await app.grantor.rows()
      const other = claim(withTemplate(challenge, template))
      for (const answer of [
        await app.walk.loginApi('/login/message', other),
        await app.walk.loginApi('/login/accept', { ...other, signature }),
        await app.walk.loginApi('/login/accept', { ...other, signature: `0x${'1'.repeat(130)}` }),
      ]) {
        expect([answer.status, answer.json().error]).toEqual([410, 'expired'])
      }
      expect(await app.grantor.rows()).toEqual(before)
    },
  )

  test('A challenge with the template of another purpose is 410', async () => {
    const { location } = await app.walk.browse({ path: '/account' })
    const account = parameterOf(location, 'login_challenge')
    for (const template of [1, 2, 4, 5]) {
      expect((await textOf(withTemplate(account, template))).status).toBe(410)
    }
    const ending = await endingChallenge(app.walk)
    for (const template of [1, 2, 3, 5]) expect((await textOf(withTemplate(ending, template))).status).toBe(410)
    for (const challenge of [account, ending]) expect((await textOf(challenge)).status).toBe(200)
  })
})

test('The text has the client name from the start of the login, reduced to ASCII, and the receipt stays valid after a new name', async () => {
  await changeClient(app.grantor, app.client, { name: 'Zoë’s “Äpp” 🎈' })
  await app.walk.signIn(requestOf(app.client))
  await changeClient(app.grantor, app.client, { name: 'Bank' })
  const [receipt] = await receiptsOf(app.grantor, app.walk.wallet)
  const file = (await app.walk.browse({ path: `/account/receipts/${receipt?.id}.json` })).json()
  const verdict = await checkReceipt(file, { now: app.grantor.clock.now() })
  expect(verdict).toMatchObject({ kind: 'holds', signed: { kind: 'consent', clientName: 'Zoes App' } })
})
