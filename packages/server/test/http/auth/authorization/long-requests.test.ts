/** Pushed authorization requests (RFC 9126) that are too long for a login challenge: the challenge refers to the stored request. */
import { describe, expect } from 'vitest'
import { tokensOf } from '../../../support/app.ts'
import { test } from '../../../support/fixtures.ts'
import { pushed } from '../../../support/pushed.ts'
import { changeClient } from '../../../support/signed-app.ts'
import { CODE_VERIFIER, fieldOf, movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

describe('Requests that are too long for a login challenge', () => {
  const long = { state: 'x'.repeat(5000), response_type: 'code', nonce: 'n'.repeat(500) }

  test('A request that is too long for a login challenge gets invalid_request in the query, and completes a login if it is pushed', async ({
    app,
  }) => {
    const walk = new Walk(app.grantor, testWallet(1))
    expect(parameterOf((await walk.authorize(requestOf(app.client, long))).location, 'error')).toBe('invalid_request')
    const query = await pushed(walk, app.client, { ...long, scope: 'profile', max_age: '0', prompt: 'login', ...PKCE })
    const challenge = await walk.challenge(query)
    expect(challenge.length).toBeLessThanOrEqual(512)
    app.grantor.clock.advance(300)
    expect((await walk.describe(challenge)).json()).toMatchObject({ client_name: app.client.name, scopes: [{ name: 'profile' }] })
    const to = movingTo(await walk.complete(await walk.prove(challenge)))
    expect([parameterOf(to, 'state'), parameterOf(to, 'iss')]).toEqual([long.state, app.grantor.authUrl])
    const tokens = await walk.exchange(app.client, parameterOf(to, 'code'), { code_verifier: CODE_VERIFIER })
    expect(tokensOf(tokens).scope).toBe('profile')
  })

  test('A pushed request that is too long for a login challenge can be declined and confirmed', async ({ app }) => {
    const walk = new Walk(app.grantor)
    const challenge = await walk.challenge(await pushed(walk, app.client, long))
    const declined = movingTo(await walk.complete(await walk.reject(challenge)))
    expect([parameterOf(declined, 'error'), parameterOf(declined, 'state')]).toEqual(['access_denied', long.state])

    const page = await app.walk.authorize(
      await pushed(app.walk, app.client, { ...long, prompt: 'consent', state: 'x'.repeat(7000) }),
    )
    expect(fieldOf(page, 'confirmation').length).toBeGreaterThan(7000)
    expect(parameterOf(movingTo(await app.walk.confirm(page, 'allow')), 'code')).not.toBe('')
  })

  test('A pushed request that is too long for a login challenge can be resumed on another device, which gets no code', async ({
    app,
  }) => {
    const resources = Array.from({ length: 40 }, (_, at) => `https://api.example.com/${'r'.repeat(80)}${at}`)
    const made = await app.grantor.createClient({ resources })
    const walk = new Walk(app.grantor)
    const first = await walk.challenge(await pushed(walk, made, { resource: resources, state: 'secret-state' }))
    expect(first.length).toBeLessThanOrEqual(512)
    const phone = new Walk(app.grantor)
    const resumed = await phone.browse({ path: `/login/resume?login_challenge=${first}` })
    const page = await phone.complete(await phone.prove(parameterOf(resumed.location, 'login_challenge')))
    expect([page.status, noticeOf(page)]).toEqual([200, 'continue_on_app'])
    expect(page.body).not.toContain('secret-state')
  })

  test('The login of a long pushed request is 400 while its client is disabled, and after its row was removed', async ({
    app,
  }) => {
    const made = await app.grantor.createClient()
    const walk = new Walk(app.grantor)
    const challenge = await walk.challenge(await pushed(walk, made, long))
    await changeClient(app.grantor, made, { disabledAt: app.grantor.clock.now() })
    expect((await walk.describe(challenge)).status).toBe(400)
    await changeClient(app.grantor, made, { disabledAt: null })
    expect((await walk.describe(challenge)).status).toBe(200)
    await app.grantor.store.cleaning.sweep('pushed_requests', { overFor: 0, limit: 1000, at: app.grantor.clock.now() + 7200 })
    expect((await walk.describe(challenge)).status).toBe(400)
  })
})
