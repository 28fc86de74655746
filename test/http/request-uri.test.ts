/** Pushed authorization requests (RFC 9126): the browser comes with the name of one, and it is good for one code. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, claimsOf, startApp, tokensOf } from '../support/app.ts'
import { pushed, URN } from '../support/pushed.ts'
import { changeClient, outcomeOf, signedClient } from '../support/signed-app.ts'
import { startGrantor } from '../support/start.ts'
import { CODE_VERIFIER, movingTo, noticeOf, type Parameters, PKCE, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let app: App

beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())

/** That the person reads a page, and nobody is redirected. */
async function expectPage(parameters: Parameters, walk = app.walk): Promise<void> {
  const answer = await walk.authorize(parameters)
  expect({ status: answer.status, notice: noticeOf(answer) }).toEqual({ status: 400, notice: 'request_unusable' })
  expect(answer.headers).not.toHaveProperty('location')
}

const lastReason = (): string | undefined => app.grantor.events.at(-1)?.reason

describe('the authorization request with a request_uri (§4)', () => {
  test('is answered as if it stood in the query: code, state, iss, PKCE, scope and resource', async () => {
    const { client, walk } = app
    const asked = { response_type: 'code', state: 'a b', scope: 'profile', resource: 'https://api.example.com/', ...PKCE }
    const { location } = await walk.authorize(await pushed(walk, client, asked))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+&state=a%20b&iss=/)
    expect(parameterOf(location, 'iss')).toBe(app.grantor.authUrl)
    const code = parameterOf(location, 'code')
    const tokens = tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER }))
    expect([tokens.scope, claimsOf(tokens.access_token).aud]).toEqual(['profile', 'https://api.example.com/'])
  })

  test('a bare request that was pushed is answered as barely: no iss without response_type (RFC 9207)', async () => {
    const { location } = await app.walk.authorize(await pushed(app.walk, app.client))
    expect(location).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[^&]+$/)
  })

  test('whatever else stands in the query does not count', async () => {
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

  test('errors go to the pushed redirect URI, and spend nothing', async () => {
    const query = await pushed(new Walk(app.grantor), app.client, { prompt: 'none', state: 's', response_type: 'code' })
    const refused = await new Walk(app.grantor).authorize(query)
    expect(parameterOf(refused.location, 'error')).toBe('login_required')
    expect(parameterOf(refused.location, 'iss')).toBe(app.grantor.authUrl)
    expect(outcomeOf(await app.walk.authorize(query))).toBe('code')
  })

  test('works for the client that pushed it alone, and for nobody is a fault redirected (§2.2)', async () => {
    const other = await app.grantor.createClient()
    const { request_uri } = await pushed(app.walk, app.client)
    await expectPage({ client_id: other.id, request_uri })
    expect(lastReason()).toBe('pushed_by_another_client')
    await expectPage(requestOf(other, { request_uri }))
    expect(outcomeOf(await app.walk.authorize({ client_id: app.client.id, request_uri })), 'untouched by that').toBe('code')
  })

  test('unknown or malformed ones are a page, also beside a good redirect_uri', async () => {
    for (const id of ['a'.repeat(43), '', 'x', 'a'.repeat(44), `${'a'.repeat(42)}%00`, '../../etc', "' OR 1=1"]) {
      await expectPage(requestOf(app.client, { request_uri: URN + id }))
    }
  })

  test('an address is never fetched: request_uri_not_supported at a registered redirect URI, else a page', async () => {
    const request_uri = 'https://app.example.net/request.jwt'
    const { location } = await app.walk.authorize(requestOf(app.client, { request_uri }))
    expect(parameterOf(location, 'error')).toBe('request_uri_not_supported')
    await expectPage({ client_id: app.client.id, request_uri })
  })

  test('request and request_uri together are refused (RFC 9101 §5)', async () => {
    const query = await pushed(app.walk, app.client)
    await expectPage({ ...query, request: 'x.y.z' })
    expect(lastReason()).toBe('request_twice')
  })

  test('it is first presented within 60 seconds, or not at all', async () => {
    const { clock } = app.grantor
    const [early, late] = [await pushed(app.walk, app.client), await pushed(app.walk, app.client)]
    clock.advance(59)
    expect(outcomeOf(await app.walk.authorize(early))).toBe('code')
    clock.advance(1)
    await expectPage(late)
    expect(lastReason()).toBe('pushed_expired')
  })

  test('what the operator changed since counts: a redirect URI taken away, a scope, the client itself', async () => {
    const made = await app.grantor.createClient({ scopes: ['enhancement', 'profile'] })
    const query = await pushed(app.walk, made, { scope: 'profile' })
    await changeClient(app.grantor, made, { scopes: ['enhancement'] })
    expect(parameterOf((await app.walk.authorize(query)).location, 'error')).toBe('invalid_scope')
    await changeClient(app.grantor, made, { redirectUris: ['https://elsewhere.example/'] })
    expect(noticeOf(await app.walk.authorize(query))).toBe('redirect_uri_mismatch')
    await changeClient(app.grantor, made, { disabledAt: app.grantor.clock.now() })
    expect(noticeOf(await app.walk.authorize(query))).toBe('unknown_client')
  })

  test('a client registered for it must push: every other request is invalid_request (§6)', async () => {
    const strict = await app.grantor.createClient({ requirePushedRequests: true })
    const refused = await app.walk.authorize(requestOf(strict, { state: 's' }))
    expect(refused.location).toMatch(
      /^https:\/\/app\.example\.net\/callback\?error=invalid_request&error_description=[^&]+&state=s$/,
    )
    expect(outcomeOf(await app.walk.authorize(await pushed(app.walk, strict)))).toBe('code')
  })
})

describe('one code for each pushed request (§7.3)', () => {
  test('a person who must sign in first may reload, sign in after the 60 seconds, and gets the one code', async () => {
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

  test('an app may also repeat its request after the login, as long as no code was issued', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    await walk.challenge(query)
    await walk.signIn(requestOf(app.client))
    expect(outcomeOf(await walk.authorize(query))).toBe('code')
    for (const visitor of [walk, new Walk(app.grantor)]) {
      await expectPage(query, visitor)
      expect(lastReason(), 'told before a login that would lead nowhere').toBe('pushed_spent')
    }
  })

  test('of two tabs that sign in with one request one gets its code; the other is signed in and told so', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    const [one, other] = [await walk.challenge(query), await walk.challenge(query)]
    expect(parameterOf(movingTo(await walk.complete(await walk.prove(one))), 'code')).not.toBe('')
    const late = await walk.complete(await walk.prove(other))
    expect({ status: late.status, notice: noticeOf(late) }).toEqual({ status: 409, notice: 'already_used' })
    expect(late.body).not.toContain('grc.')
    expect(outcomeOf(await walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('ten logins that end at once, and ten visits besides: exactly one code', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    const paths: string[] = []
    for (let tab = 0; tab < 10; tab++) paths.push(await walk.prove(await walk.challenge(query)))
    const visits = Array.from({ length: 10 }, () => app.walk.authorize(query))
    const answers = await Promise.all([...visits, ...paths.map((path) => walk.complete(path))])
    const given = answers.filter((answer) => `${answer.location} ${answer.body}`.includes('code=grc.'))
    expect(given).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400 || status === 409)).toHaveLength(19)
  })

  test('who declines spends nothing: the app’s next visit may still be granted', async () => {
    const walk = new Walk(app.grantor)
    const query = await pushed(walk, app.client)
    const declined = movingTo(await walk.complete(await walk.reject(await walk.challenge(query))))
    expect(parameterOf(declined, 'error')).toBe('access_denied')
    await walk.signIn(requestOf(app.client))
    expect(outcomeOf(await walk.authorize(query))).toBe('code')
  })

  test('a confirmation pressed twice gives one code, and pressed late it still counts', async () => {
    const query = await pushed(app.walk, app.client, { prompt: 'consent' })
    const [page, again] = [await app.walk.authorize(query), await app.walk.authorize(query)]
    app.grantor.clock.advance(300)
    expect(parameterOf(movingTo(await app.walk.confirm(page, 'allow')), 'code')).not.toBe('')
    for (const each of [page, again]) {
      const late = await app.walk.confirm(each, 'allow')
      expect({ status: late.status, notice: noticeOf(late) }).toEqual({ status: 409, notice: 'already_used' })
    }
  })

  test('a consent that is signed anew is asked for once, and the code rests on it', async () => {
    const signed = await signedClient(app.grantor)
    const walk = new Walk(app.grantor)
    const { code } = await walk.signIn(await pushed(walk, signed, { scope: 'enhancement profile' }))
    expect(tokensOf(await walk.exchange(signed, code)).scope).toBe('enhancement profile')
  })

  test('50 visits at once, on two nodes: exactly one code', async () => {
    const { databasePath, clock, authUrl, loginUrl } = app.grantor
    const node = await startGrantor({ databasePath, clock, settings: { authUrl, loginUrl, defaultResource: authUrl } })
    const there = new Walk(node)
    for (const [name, value] of app.walk.cookies) there.cookies.set(name, value)
    const query = await pushed(app.walk, app.client)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 ? app.walk : there).authorize(query)))
    expect(answers.filter((answer) => outcomeOf(answer) === 'code')).toHaveLength(1)
    expect(answers.filter((answer) => noticeOf(answer) === 'request_unusable' && answer.status === 400)).toHaveLength(49)
    await node.close()
  })
})
