/** Pushed authorization requests (RFC 9126): the browser presents the `request_uri`, which is good for one code. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp, tokensOf } from '../../../support/app.ts'
import { pushed, URN } from '../../../support/pushed.ts'
import { changeClient, outcomeOf, signedClient } from '../../../support/signed-app.ts'
import { startBeside } from '../../../support/start.ts'
import { CODE_VERIFIER, movingTo, noticeOf, type Parameters, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App

beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())

/** Expects an error page, without a redirect. */
async function expectPage(parameters: Parameters, walk = app.walk): Promise<void> {
  const answer = await walk.authorize(parameters)
  expect({ status: answer.status, notice: noticeOf(answer) }).toEqual({ status: 400, notice: 'request_unusable' })
  expect(answer.headers).not.toHaveProperty('location')
}

const lastReason = (): string | undefined => app.grantor.events.at(-1)?.reason

describe('The authorization request with a request_uri (RFC 9126 §4)', () => {
  test('A pushed request has the effect of the same parameters in the query: state, iss, PKCE, scope and resource', async () => {
    const { client, walk } = app
    const parameters = { response_type: 'code', state: 'a b', scope: 'profile', resource: 'https://api.example.com/', ...PKCE }
    const { location } = await walk.authorize(await pushed(walk, client, parameters))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+&state=a%20b&iss=/)
    expect(parameterOf(location, 'iss')).toBe(app.grantor.authUrl)
    const code = parameterOf(location, 'code')
    const tokens = tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER }))
    expect([tokens.scope, claimsOf(tokens.access_token).aud]).toEqual(['profile', 'https://api.example.com/'])
  })

  test('A pushed request without response_type and state gets a code without iss and state (RFC 9207)', async () => {
    const { location } = await app.walk.authorize(await pushed(app.walk, app.client))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+$/)
  })

  test('Parameters beside the request_uri are ignored', async () => {
    const query = await pushed(app.walk, app.client, { state: 'pushed', response_type: 'code' })
    const added = {
      redirect_uri: 'https://evil.example/',
      state: 'added',
      scope: 'admin',
      response_type: 'token',
      prompt: 'login',
    }
    const { location } = await app.walk.authorize({ ...added, ...query })
    expect([outcomeOf({ status: 302, location } as never), parameterOf(location, 'state')]).toEqual(['code', 'pushed'])
    expect(location.startsWith('https://app.example.net/callback?')).toBe(true)
  })

  test('An error goes to the pushed redirect URI, and the pushed request can be used again', async () => {
    const query = await pushed(new Walk(app.grantor), app.client, { prompt: 'none', state: 's', response_type: 'code' })
    const refused = await new Walk(app.grantor).authorize(query)
    expect(parameterOf(refused.location, 'error')).toBe('login_required')
    expect(parameterOf(refused.location, 'iss')).toBe(app.grantor.authUrl)
    expect(outcomeOf(await app.walk.authorize(query))).toBe('code')
  })

  test('A request_uri of another client is refused with a page, and the pushed request stays usable (RFC 9126 §2.2)', async () => {
    const other = await app.grantor.createClient()
    const { request_uri } = await pushed(app.walk, app.client)
    await expectPage({ client_id: other.id, request_uri })
    expect(lastReason()).toBe('pushed_by_another_client')
    await expectPage(requestOf(other, { request_uri }))
    expect(outcomeOf(await app.walk.authorize({ client_id: app.client.id, request_uri })), 'still usable').toBe('code')
  })

  test('An unknown or malformed request_uri is refused with a page, even beside a registered redirect_uri', async () => {
    for (const id of ['a'.repeat(43), '', 'x', 'a'.repeat(44), `${'a'.repeat(42)}%00`, '../../etc', "' OR 1=1"]) {
      await expectPage(requestOf(app.client, { request_uri: URN + id }))
    }
  })

  test('A request_uri that is an https URL gets request_uri_not_supported at a registered redirect URI, otherwise a page', async () => {
    const request_uri = 'https://app.example.net/request.jwt'
    const { location } = await app.walk.authorize(requestOf(app.client, { request_uri }))
    expect(parameterOf(location, 'error')).toBe('request_uri_not_supported')
    await expectPage({ client_id: app.client.id, request_uri })
  })

  test('The parameters request and request_uri together are refused (RFC 9101 §5)', async () => {
    const query = await pushed(app.walk, app.client)
    await expectPage({ ...query, request: 'x.y.z' })
    expect(lastReason()).toBe('request_twice')
  })

  test('A request_uri that is first presented after 60 seconds or later is refused', async () => {
    const { clock } = app.grantor
    const [early, late] = [await pushed(app.walk, app.client), await pushed(app.walk, app.client)]
    clock.advance(59)
    expect(outcomeOf(await app.walk.authorize(early))).toBe('code')
    clock.advance(1)
    await expectPage(late)
    expect(lastReason()).toBe('pushed_expired')
  })

  test('A pushed request is checked again after the operator removed a scope or a redirect URI, or disabled the client', async () => {
    const changing = await app.grantor.createClient({ scopes: ['enhancement', 'profile'] })
    const query = await pushed(app.walk, changing, { scope: 'profile' })
    await changeClient(app.grantor, changing, { scopes: ['enhancement'] })
    expect(parameterOf((await app.walk.authorize(query)).location, 'error')).toBe('invalid_scope')
    await changeClient(app.grantor, changing, { redirectUris: ['https://elsewhere.example/'] })
    expect(noticeOf(await app.walk.authorize(query))).toBe('redirect_uri_mismatch')
    await changeClient(app.grantor, changing, { disabledAt: app.grantor.clock.now() })
    expect(noticeOf(await app.walk.authorize(query))).toBe('unknown_client')
  })

  test('A client that must push gets invalid_request for any other authorization request (RFC 9126 §6)', async () => {
    const strict = await app.grantor.createClient({ requirePushedRequests: true })
    const refused = await app.walk.authorize(requestOf(strict, { state: 's' }))
    expect(refused.location).toMatch(
      /^https:\/\/app\.example\.net\/callback\?error=invalid_request&error_description=[^&]+&state=s&iss=[^&]+$/,
    )
    expect(outcomeOf(await app.walk.authorize(await pushed(app.walk, strict)))).toBe('code')
  })
})

describe('One code for each pushed request (RFC 9126 §7.3)', () => {
  test('A person who must sign in can reload the page and sign in after the 60 seconds, and the app gets one code', async () => {
    const walk = new Walk(app.grantor, testWallet(2))
    const query = await pushed(walk, app.client, { state: 's', prompt: 'login' })
    await walk.challenge(query)
    const challenge = await walk.challenge(query)
    app.grantor.clock.advance(400)
    const to = movingTo(await walk.complete(await walk.prove(challenge)))
    expect(parameterOf(to, 'state')).toBe('s')
    expect((await walk.exchange(app.client, parameterOf(to, 'code'))).status).toBe(200)
    await expectPage(query, walk)
  })

  test('An app can repeat its request after a login, as long as no code was issued for the request', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    await walk.challenge(query)
    await walk.signIn(requestOf(app.client))
    expect(outcomeOf(await walk.authorize(query))).toBe('code')
    for (const visitor of [walk, new Walk(app.grantor)]) {
      await expectPage(query, visitor)
      expect(lastReason(), 'refused before a login begins').toBe('pushed_spent')
    }
  })

  test('If two tabs sign in with one pushed request, one gets the code, and the other a page with already_used', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    const [one, other] = [await walk.challenge(query), await walk.challenge(query)]
    expect(parameterOf(movingTo(await walk.complete(await walk.prove(one))), 'code')).not.toBe('')
    const late = await walk.complete(await walk.prove(other))
    expect({ status: late.status, notice: noticeOf(late) }).toEqual({ status: 409, notice: 'already_used' })
    expect(late.body).not.toContain('grc.')
    expect(outcomeOf(await walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('Ten logins and ten authorization requests that use one pushed request at the same time get exactly one code', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    const paths: string[] = []
    for (let tab = 0; tab < 10; tab++) paths.push(await walk.prove(await walk.challenge(query)))
    const visits = Array.from({ length: 10 }, () => app.walk.authorize(query))
    const answers = await Promise.all([...visits, ...paths.map((path) => walk.complete(path))])
    const withCode = answers.filter((answer) => `${answer.location} ${answer.body}`.includes('code=grc.'))
    expect(withCode).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400 || status === 409)).toHaveLength(19)
  })

  test('A declined login does not use the pushed request up', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    const declined = movingTo(await walk.complete(await walk.reject(await walk.challenge(query))))
    expect(parameterOf(declined, 'error')).toBe('access_denied')
    await walk.signIn(requestOf(app.client))
    expect(outcomeOf(await walk.authorize(query))).toBe('code')
  })

  test('A confirmation that is sent twice gets one code, also after the 60 seconds', async () => {
    const query = await pushed(app.walk, app.client, { prompt: 'consent' })
    const [page, again] = [await app.walk.authorize(query), await app.walk.authorize(query)]
    app.grantor.clock.advance(300)
    expect(parameterOf(movingTo(await app.walk.confirm(page, 'allow')), 'code')).not.toBe('')
    for (const each of [page, again]) {
      const late = await app.walk.confirm(each, 'allow')
      expect({ status: late.status, notice: noticeOf(late) }).toEqual({ status: 409, notice: 'already_used' })
    }
  })

  test('A pushed request of a client with signed consent gets a code with all its scopes after one signature', async () => {
    const signed = await signedClient(app.grantor)
    const walk = new Walk(app.grantor)
    const { code } = await walk.signIn(await pushed(walk, signed, { scope: 'enhancement profile' }))
    expect(tokensOf(await walk.exchange(signed, code)).scope).toBe('enhancement profile')
  })

  test('Fifty simultaneous authorization requests with one pushed request, on two nodes, get exactly one code', async () => {
    const node = await startBeside(app.grantor)
    const there = app.walk.copy(node)
    const query = await pushed(app.walk, app.client)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 ? app.walk : there).authorize(query)))
    expect(answers.filter((answer) => outcomeOf(answer) === 'code')).toHaveLength(1)
    expect(answers.filter((answer) => noticeOf(answer) === 'request_unusable' && answer.status === 400)).toHaveLength(49)
    await node.close()
  })
})
