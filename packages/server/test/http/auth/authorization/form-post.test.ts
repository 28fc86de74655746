/** OAuth 2.0 Form Post Response Mode: the browser posts the response to the app with a form from the server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashSources, scripts, styles } from '../../../../src/pages/inline.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, fieldOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ name: 'My & app' })
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const FORM = { response_mode: 'form_post', response_type: 'code', state: 'a "state" <1>&ü' }

/** Expects a page with one form to this URI, and a policy that allows no other form target. */
function expectForm(page: Answer, action: string, origin = new URL(action).origin): void {
  expect([page.status, page.location]).toEqual([200, ''])
  expect(page.body.match(/<form [^>]*>/g)).toEqual([`<form method="post" action="${action}">`])
  expect(page.body).toContain('<button class="button" id="continue">')
  expect(page.headers['content-security-policy']).toBe(
    `default-src 'none'; script-src ${hashSources(scripts)}; style-src ${hashSources(styles)}; img-src 'self' data:; connect-src 'self'; ` +
      `form-action ${origin}; base-uri 'none'; frame-ancestors 'none'`,
  )
  expect(page.headers['cache-control']).toBe('no-store')
  expect(page.body).not.toContain('http-equiv="refresh"')
}

const CALLBACK = 'https://app.example.net/callback'

describe('The form of a response (OAuth 2.0 Form Post Response Mode §2)', () => {
  test('With response_mode=form_post a code, state and iss are form fields for the redirect URI (Form Post Response Mode §2)', async () => {
    const page = await walk.authorize(requestOf(client, FORM))
    expectForm(page, CALLBACK)
    expect([fieldOf(page, 'state'), fieldOf(page, 'iss')]).toEqual([FORM.state, grantor.authUrl])
    expect((await walk.exchange(client, fieldOf(page, 'code'))).status).toBe(200)
  })

  test('The script that posts the response is no module and has only syntax of ECMAScript 5', async () => {
    const { body } = await walk.authorize(requestOf(client, FORM))
    expect(body.match(/<script[^>]*>/g)).toEqual(['<script>'])
    expect(body).toContain(scripts.formPost)
    expect(scripts.formPost).not.toMatch(/\?\.|\?\?|=>|`|\b(?:const|let|class|async|await|import|export)\b/)
  })

  test('With response_mode=form_post an error and state are form fields for the redirect URI (Form Post Response Mode §2)', async () => {
    const page = await walk.authorize(requestOf(client, { ...FORM, scope: 'unknown' }))
    expectForm(page, CALLBACK)
    expect([fieldOf(page, 'error'), fieldOf(page, 'state')]).toEqual(['invalid_scope', FORM.state])
  })

  test('With response_mode=form_post the response after a login or a declined login is a form (Form Post Response Mode §2)', async () => {
    const browser = new Walk(grantor)
    const declined = await browser.complete(await browser.reject(await browser.challenge(requestOf(client, FORM))))
    expectForm(declined, CALLBACK)
    expect(fieldOf(declined, 'error')).toBe('access_denied')
    const challenge = await browser.challenge(requestOf(client, FORM))
    const page = await browser.complete(await browser.prove(challenge))
    expectForm(page, CALLBACK)
    expect(page.headers['set-cookie']?.[0]).toMatch(/^grantor_session=/)
    expect((await browser.exchange(client, fieldOf(page, 'code'))).status).toBe(200)
  })

  test('With response_mode=form_post the response after a confirmation is a form, for both decisions (Form Post Response Mode §2)', async () => {
    for (const [decision, field] of [
      ['allow', 'code'],
      ['deny', 'error'],
    ] as const) {
      const page = await walk.confirm(await walk.authorize(requestOf(client, { ...FORM, prompt: 'consent' })), decision)
      expectForm(page, CALLBACK)
      expect(fieldOf(page, field)).not.toBe('')
    }
  })

  test('With response_mode=form_post the form has no fields state and iss if the response has none', async () => {
    const page = await walk.authorize(requestOf(client, { response_mode: 'form_post' }))
    expect(page.body.match(/<input type="hidden" name="[a-z_]+"/g)).toEqual(['<input type="hidden" name="code"'])
  })

  test.each([
    ['https://app.example.net:8443/a?b=1&c=', 'https://app.example.net:8443'],
    ['http://127.0.0.1:49152/cb', 'http://127.0.0.1:49152'],
    ['http://localhost:3000/cb', 'http://localhost:3000'],
  ])(
    'A form for the redirect URI %s keeps the URI’s query, and its Content-Security-Policy allows only that origin',
    async (uri, origin) => {
      const own = await grantor.createClient({ redirectUris: [uri] })
      expectForm(await walk.authorize(requestOf(own, FORM)), uri.replaceAll('&', '&amp;'), origin)
    },
  )
})

describe('Redirect URIs that cannot receive a form', () => {
  test.each([
    ['with a private-use scheme', 'com.example.app:/cb'],
    ['with an IPv6 address, which no policy can contain', 'http://[::1]:3000/cb'],
    ['with a semicolon in its host', 'https://app.example.net;script-src.example/cb'],
    ['with a comma in its host', 'https://app.example.net,x.example/cb'],
  ])('A request with response_mode=form_post and a redirect URI %s gets invalid_request in the query', async (_, uri) => {
    const native = await grantor.createClient({ type: 'native', redirectUris: [uri] })
    for (const response_mode of ['form_post', 'form_post.jwt']) {
      const challenge = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' }
      const { status, location } = await walk.authorize(requestOf(native, { ...challenge, response_mode }))
      expect([status, parameterOf(location, 'error')]).toEqual([302, 'invalid_request'])
      expect(grantor.events.at(-1)?.reason).toBe('response_mode_without_form')
    }
  })

  test('A client whose only response mode is form_post cannot register a redirect URI with a private-use scheme', async () => {
    const registration = grantor.createClient({
      type: 'native',
      redirectUris: ['com.example.app:/cb'],
      responseModes: ['form_post'],
    })
    await expect(registration).rejects.toThrow('Redirect URI com.example.app:/cb cannot receive a form')
  })
})
