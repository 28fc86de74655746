/** A platform's own login server may vouch for a wallet. Vouching is off by default, and never replaces a signed consent. */
import { createProtectedResource } from '@grantor/resource'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bearer, refusal } from '../../../../../resource/test/refusal.ts'
import { pack } from '../../../../src/store/packed.ts'
import { outcomeOf } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, CODE_VERIFIER, movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

type Platform = { grantor: Grantor; web: TestClient; native: TestClient }

async function startPlatform(loginMayVouch: boolean): Promise<Platform> {
  const grantor = await startGrantor({ settings: { loginMayVouch } })
  const web = await grantor.createClient()
  const native = await grantor.createClient({ type: 'native', redirectUris: ['com.example.app:/cb'] })
  return { grantor, web, native }
}

async function vouch(walk: Walk, challenge: string, more: Record<string, unknown> = {}): Promise<Answer> {
  return walk.loginApi('/login/accept', { login_challenge: challenge, address: walk.wallet.address, chain_id: 1, ...more })
}

function pathOf(accepted: Answer): string {
  expect(accepted.status).toBe(200)
  return (accepted.json().redirect_to as string).replace(/^https?:\/\/[^/]+/, '')
}

describe('Vouching off, the default', () => {
  let platform: Platform
  beforeAll(async () => {
    platform = await startPlatform(false)
  })
  afterAll(() => platform.grantor.close())

  test.each([{}, { signature: '' }, { signature: null }])(
    'With vouching off, an accept without a signature (%o) is 403 vouching_off, and the login can still be signed',
    async (more) => {
      const walk = new Walk(platform.grantor)
      const challenge = await walk.challenge(requestOf(platform.web))
      const before = await platform.grantor.rows()
      const answer = await vouch(walk, challenge, more)
      expect(answer.status).toBe(403)
      expect(answer.json()).toEqual({ error: 'vouching_off', error_description: expect.any(String) as string })
      expect(await platform.grantor.rows()).toEqual(before)
      expect((await walk.complete(await walk.prove(challenge))).status).toBe(200)
    },
  )

  test('With vouching off, an accept for a client with signed consent is 403 vouching_off too', async () => {
    const walk = new Walk(platform.grantor)
    const answer = await vouch(walk, await walk.challenge(requestOf(platform.native, PKCE)))
    expect([answer.status, answer.json().error]).toEqual([403, 'vouching_off'])
  })
})

describe('Vouching on', () => {
  let platform: Platform
  beforeAll(async () => {
    platform = await startPlatform(true)
  })
  afterAll(() => platform.grantor.close())

  async function vouchedBrowser(): Promise<Walk> {
    const walk = new Walk(platform.grantor)
    const answer = await walk.complete(pathOf(await vouch(walk, await walk.challenge(requestOf(platform.web)))))
    expect(answer.status).toBe(200)
    expect(parameterOf(movingTo(answer), 'code')).not.toBe('')
    return walk
  }

  test('A vouched login gets a session, and a code for a client with session consent', async () => {
    const walk = await vouchedBrowser()
    const { location } = await walk.authorize(requestOf(platform.web))
    const tokens = await walk.exchange(platform.web, parameterOf(location, 'code'))
    expect(tokens.status).toBe(200)
    expect((await walk.introspect(platform.web, tokens.json().access_token as string)).json().sub).toBe(walk.wallet.address)
  })

  test('A vouched session is stored as vouched, without a receipt and without a row for the wallet', async () => {
    const walk = await vouchedBrowser()
    const { sessions, wallets, receipts } = await platform.grantor.rows()
    const wallet = new Uint8Array(pack(walk.wallet.address))
    expect(sessions).toContainEqual(expect.objectContaining({ is_vouched: 1, wallet, receipt_id: null }))
    expect(wallets).toEqual([])
    expect(receipts).toEqual([])
  })

  test('A vouched session does not satisfy signed consent: a request of a native client leads to the login', async () => {
    const walk = await vouchedBrowser()
    const answer = await walk.authorize(requestOf(platform.native, PKCE))
    expect(answer.status).toBe(302)
    expect(answer.location.startsWith(`${platform.grantor.loginUrl}/login?login_challenge=`)).toBe(true)
    const none = await walk.authorize(requestOf(platform.native, { ...PKCE, prompt: 'none' }))
    expect(parameterOf(none.location, 'error')).toBe('login_required')
  })

  test('A vouched session does not satisfy signed consent even if the wallet signed a consent earlier', async () => {
    const signed = new Walk(platform.grantor)
    await signed.signIn(requestOf(platform.native, PKCE))
    expect((await signed.authorize(requestOf(platform.native, PKCE))).location).toMatch(/^com\.example\.app:\/cb\?code=/)
    const walk = await vouchedBrowser()
    const answer = await walk.authorize(requestOf(platform.native, PKCE))
    expect(answer.location.startsWith(`${platform.grantor.loginUrl}/login?login_challenge=`)).toBe(true)
  })

  test('A login for a native client cannot be vouched for: the accept is 403 consent_needs_signature', async () => {
    const walk = await vouchedBrowser()
    const challenge = await walk.challenge(requestOf(platform.native, PKCE))
    const before = await platform.grantor.rows()
    const answer = await vouch(walk, challenge)
    expect(answer.status).toBe(403)
    expect(answer.json()).toEqual({ error: 'consent_needs_signature', error_description: expect.any(String) as string })
    expect(await platform.grantor.rows()).toEqual(before)
    // The wallet can still sign the consent.
    const page = await walk.complete(await walk.prove(challenge))
    const code = parameterOf(movingTo(page), 'code')
    expect((await walk.exchange(platform.native, code, { code_verifier: CODE_VERIFIER })).status).toBe(200)
  })

  test('A vouched login gets no code if the client’s consent rule became signed before the login was completed', async () => {
    const client = await platform.grantor.createClient()
    const walk = new Walk(platform.grantor)
    const path = pathOf(await vouch(walk, await walk.challenge(requestOf(client))))
    await platform.grantor.store.clients.replaceClient({ ...client, consent: 'signed' })
    await platform.grantor.noticeChanges()
    const answer = await walk.complete(path)
    expect(answer.status).toBe(401)
    expect(noticeOf(answer)).toBe('login_required_again')
    expect(answer.body).not.toContain('code=')
  })

  test('A wrong or malformed signature is refused even with vouching on', async () => {
    const walk = new Walk(platform.grantor)
    const challenge = await walk.challenge(requestOf(platform.web))
    for (const [signature, status] of [
      [`0x${'1'.repeat(130)}`, 401],
      ['0x', 400],
      [1, 400],
      [[], 400],
    ] as const) {
      expect((await vouch(walk, challenge, { signature })).status).toBe(status)
    }
  })

  const SIGNATURE = 'urn:grantor:acr:signature'
  const VOUCHED = 'urn:grantor:acr:vouched'
  const STEP_UP = { response_type: 'code', acr_values: SIGNATURE }

  test.each([
    [SIGNATURE, 'login'],
    [`urn:example:other ${SIGNATURE}`, 'login'],
    [`${SIGNATURE} ${VOUCHED}`, 'code'],
    [VOUCHED, 'code'],
    ['urn:example:other', 'code'],
    ['', 'code'],
  ])('With acr_values "%s" a request in a vouched session leads to: %s (RFC 9470 §5)', async (acr_values, outcome) => {
    const walk = await vouchedBrowser()
    expect(outcomeOf(await walk.authorize(requestOf(platform.web, { response_type: 'code', acr_values })))).toBe(outcome)
  })

  test('A request that requires a signature gets login_required with prompt=none in a vouched session, directly and pushed (RFC 9470 §5)', async () => {
    const walk = await vouchedBrowser()
    const request = { ...STEP_UP, prompt: 'none' }
    expect(outcomeOf(await walk.authorize(requestOf(platform.web, request)))).toBe('login_required')
    const pushed = await walk.call('/oauth/par', platform.web, requestOf(platform.web, request))
    const request_uri = pushed.json().request_uri as string
    expect(outcomeOf(await walk.authorize({ client_id: platform.web.id, request_uri }))).toBe('login_required')
  })

  test('The login of a request that requires a signature cannot be vouched for, offers no choice of scopes, and a signature gets the code', async () => {
    const walk = await vouchedBrowser()
    const challenge = await walk.challenge(requestOf(platform.web, STEP_UP))
    expect((await walk.describe(challenge)).json()).toMatchObject({ may_choose_scopes: false })
    const answer = await vouch(walk, challenge)
    expect([answer.status, answer.json().error]).toEqual([403, 'consent_needs_signature'])
    const page = await walk.complete(await walk.prove(challenge))
    expect(parameterOf(movingTo(page), 'code')).not.toBe('')
    expect(outcomeOf(await walk.authorize(requestOf(platform.web, STEP_UP))), 'the session is signed now').toBe('code')
  })

  test('An app that repeats the acr_values of an API’s challenge gets a token that the API accepts (RFC 9470 §4)', async () => {
    const { authUrl, clock } = platform.grantor
    const api = createProtectedResource({ issuer: authUrl, resource: authUrl, now: clock.now })
    const check = (token: unknown) => api.check(bearer(String(token)), { acrValues: [SIGNATURE] })
    const walk = await vouchedBrowser()
    const { location } = await walk.authorize(requestOf(platform.web))
    const first = (await walk.exchange(platform.web, parameterOf(location, 'code'))).json()
    const { error, acrValues = '' } = await refusal(check(first.access_token))
    expect(error).toBe('insufficient_user_authentication')

    const request = { response_type: 'code', acr_values: acrValues }
    const page = await walk.complete(await walk.prove(await walk.challenge(requestOf(platform.web, request))))
    const second = (await walk.exchange(platform.web, parameterOf(movingTo(page), 'code'))).json()
    await expect(check(second.access_token)).resolves.toMatchObject({ acr: SIGNATURE })
  })

  test('A vouched login is subject to the rules on address, chain, browser, single use and the 60 seconds', async () => {
    const walk = new Walk(platform.grantor)
    const challenge = await walk.challenge(requestOf(platform.web))
    expect((await vouch(walk, challenge, { address: `0x${'0'.repeat(40)}` })).status).toBe(403)
    expect((await vouch(walk, challenge, { address: walk.wallet.address.replace('f', 'F') })).status).toBe(400)
    expect((await vouch(walk, challenge, { chain_id: 5 })).status).toBe(403)

    const path = pathOf(await vouch(walk, challenge))
    expect((await new Walk(platform.grantor).complete(path)).status).toBe(403)
    expect((await walk.complete(path)).status).toBe(200)
    expect((await walk.complete(path)).status).toBe(409)
    expect((await vouch(walk, challenge)).status).toBe(409)

    const late = pathOf(await vouch(walk, await walk.challenge(requestOf(platform.web, { prompt: 'login' }))))
    platform.grantor.clock.advance(60)
    expect((await walk.complete(late)).status).toBe(410)
  })

  test('A vouched login cannot be completed after the operator has raised the epoch of the wallet', async () => {
    const walk = new Walk(platform.grantor)
    const path = pathOf(await vouch(walk, await walk.challenge(requestOf(platform.web))))
    await platform.grantor.store.wallets.raiseEpoch(walk.wallet.address as `0x${string}`)
    expect((await walk.complete(path)).status).toBe(401)
    expect(walk.cookies.has('grantor_session')).toBe(false)
  })
})
