/** The headers and the content of every page of the auth service, and the secrets that the log must not contain. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import {
  type Answer,
  contentOf,
  fieldOf,
  movingTo,
  noticeOf,
  PKCE,
  parameterOf,
  requestOf,
  STYLE_OR_SCRIPT,
  Walk,
} from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  // `same-origin` would break wallets that open a window of their own
  'cross-origin-opener-policy': 'same-origin-allow-popups',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** The only page with a full address, because the page shows the signed text byte for byte. */
const RECEIPT = 'receipt'

let grantor: Grantor
let client: TestClient
let pages: [what: string, status: number, page: Answer][]

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient({ name: '<img src=x onerror=alert(1)>"&\'`' })
  pages = await everyPage()
})
afterAll(() => grantor.close())

async function everyPage(): Promise<typeof pages> {
  const walk = new Walk(grantor)
  const { answer } = await walk.signIn(requestOf(client))
  const path = await walk.prove(await walk.challenge(requestOf(client, { prompt: 'login' })))
  const declined = await walk.complete(await walk.reject(await walk.challenge(requestOf(client, { prompt: 'login' }))))
  const late = await walk.prove(await walk.challenge(requestOf(client, { prompt: 'login' })))
  const confirmation = () => walk.authorize(requestOf(client, { prompt: 'consent' }))
  const foreign = await walk.postForm(
    '/oauth/authorize/confirm',
    { confirmation: fieldOf(await confirmation(), 'confirmation') },
    { origin: 'null' },
  )
  const result: typeof pages = [
    ['unknown app', 400, await walk.authorize({ client_id: 'x' })],
    ['no redirect URI', 400, await walk.authorize({ client_id: client.id })],
    ['another redirect URI', 400, await walk.authorize({ client_id: client.id, redirect_uri: '"><script>alert(1)</script>' })],
    ['repeated parameter', 400, await walk.authorize(`${new URLSearchParams({ client_id: client.id })}&client_id=<script>`)],
    ['moving on', 200, answer],
    ['moving on after a denial', 200, declined],
    ['confirmation', 200, await confirmation()],
    ['moving on after a confirmation', 200, await walk.confirm(await confirmation(), 'allow')],
    ['foreign form', 403, foreign],
    ['broken link', 400, await walk.complete('/login/complete?login_challenge=<script>')],
    ['another browser', 403, await new Walk(grantor).complete(path)],
    ...(await accountPages(walk)),
    ['nothing here', 404, await walk.browse({ path: '/<script>alert(1)</script>' })],
    ['wrong form type', 415, await walk.postForm('/oauth/authorize/confirm', '{}', { 'content-type': 'application/json' })],
  ]
  await walk.complete(path)
  result.push(['used', 409, await walk.complete(path)])
  grantor.clock.advance(60)
  result.push(['expired', 410, await walk.complete(late)])
  return result
}

/** The responses of the account page, of its forms, and of logins on another device. */
async function accountPages(walk: Walk): Promise<typeof pages> {
  const other = new Walk(grantor)
  await other.signIn(requestOf(client))
  const phone = new Walk(grantor)
  const resumed = await phone.browse({
    path: `/login/resume?login_challenge=${await new Walk(grantor).challenge(requestOf(client))}`,
  })
  const elsewhere = await phone.complete(await phone.prove(parameterOf(resumed.location, 'login_challenge')))
  const lost = new Walk(grantor, testWallet(1))
  const ending = await lost.postForm('/account/end-everything', {})
  const ended = await lost.complete(await lost.prove(parameterOf(movingTo(ending), 'login_challenge')))
  const [receipt] = await grantor.store.receipts.listReceipts(walk.wallet.address as `0x${string}`, { limit: 1 })
  return [
    ['account', 200, await walk.browse({ path: '/account?done="><script>alert(1)</script>' })],
    [RECEIPT, 200, await walk.browse({ path: `/account/receipts/${receipt?.id}` })],
    ['no such receipt', 404, await walk.browse({ path: '/account/receipts/<script>' })],
    ['end everything', 200, await walk.browse({ path: '/account/end-everything' })],
    ['end everything, without a session', 200, await new Walk(grantor).browse({ path: '/account/end-everything' })],
    ['moving on to end everything', 200, ending],
    ['everything ended', 200, ended],
    ['foreign form on the account page', 403, await walk.postForm('/account/apps/end', {}, { origin: 'https://evil.example' })],
    ['account form without a session', 401, await new Walk(grantor).postForm('/account/sign-out', {})],
    ['signed out', 200, await other.postForm('/account/sign-out', {})],
    ['broken link to another device', 400, await walk.browse({ path: '/login/resume?login_challenge=<script>' })],
    ['signed in on another device', 200, elsewhere],
  ]
}

describe('The pages of the auth service', () => {
  test('Each page of the auth service has the expected status', () => {
    expect(pages.map(([what, , { status }]) => [what, status])).toEqual(pages.map(([what, status]) => [what, status]))
  })

  test('Each page forbids framing, caching and sniffing, and sends its address only to its own origin', () => {
    for (const [what, , { headers }] of pages) expect([what, headers]).toEqual([what, expect.objectContaining(HEADERS)])
  })

  test('Each page has a policy against other scripts and styles, frames, foreign forms, base elements and plug-ins (CSP)', () => {
    for (const [, , { headers }] of pages) {
      const policy = Object.fromEntries(
        (headers['content-security-policy'] as string).split('; ').map((line) => line.split(/ (.*)/)),
      )
      expect(policy).toMatchObject({
        'default-src': "'none'",
        'frame-ancestors': "'none'",
        'form-action': "'self'",
        'base-uri': "'none'",
        'script-src': expect.stringMatching(/^('sha256-[\w+/=]+' ?)+$/),
        'style-src': expect.stringMatching(/^('sha256-[\w+/=]+' ?)+$/),
      })
      expect(headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/)
    }
  })

  test('No page has a script or style whose hash the policy does not name, an event handler, or anything from another origin', () => {
    for (const [what, , { body, headers }] of pages) {
      const elements = [...body.matchAll(STYLE_OR_SCRIPT)]
      expect(elements.length).toBeGreaterThan(0)
      for (const [, , text = ''] of elements)
        expect(headers['content-security-policy']).toContain(createHash('sha256').update(text).digest('base64'))
      const content = contentOf(body)
      expect([what, content.match(/<script|<style|\sstyle="|\son[a-z]+="|javascript:/gi)]).toEqual([what, null])
      const addresses = [...content.matchAll(/<([a-z]+)\b[^>]*?\s(?:src|href|action)="([^"]*)"/g)]
      for (const [, element, url = ''] of addresses) {
        // Links to the app and to the login server are allowed: they load nothing until a person clicks on them.
        const origin = element === 'a' && URL.canParse(url) ? new URL(url).origin : ''
        if (!['https://app.example.net', grantor.loginUrl].includes(origin))
          expect([what, url]).toEqual([what, expect.stringMatching(/^([/#]|data:image\/)/)])
      }
    }
  })

  test('Each page shows input from outside as text', () => {
    for (const [, , { body }] of pages) expect(body).not.toMatch(/<script>|<img src=x/)
    const [, , moving] = pages.find(([what]) => what === 'moving on') as (typeof pages)[number]
    expect(moving.body).toContain('&lt;img src=x')
  })

  test('Each page has a language, a title and a heading, and a notice or a next step', () => {
    for (const [, , page] of pages) {
      expect(page.body).toMatch(/^<!doctype html>\s*<html lang="en"/i)
      expect(page.body).toMatch(/<title>[^<]+<\/title>/)
      expect(page.body).toMatch(/<h1[^>]*>[^<]+/)
      if (page.status >= 400) expect(noticeOf(page)).not.toBe('')
      else if (noticeOf(page) === '')
        expect(page.body.slice(page.body.indexOf('<main'))).toMatch(/<form method="post"|<a [^>]*href=/)
    }
  })

  test('No page shows a stack trace or a path of the machine, and only the receipt shows a full address', () => {
    for (const [what, , { body }] of pages) {
      if (what !== RECEIPT) expect(body).not.toMatch(/0x[0-9a-f]{40}/i)
      expect(body).not.toMatch(/node_modules|\.ts:\d|at [A-Z]\w+\./)
    }
  })
})

describe('Secrets in the log', () => {
  test('The log shortens addresses, and contains no signature, code, challenge, verifier, token, cookie, secret or state', async () => {
    const walk = new Walk(grantor)
    const secrets: string[] = []
    const { code, challenge, to } = await walk.signIn(requestOf(client, { state: 'a-state-of-the-app', ...PKCE }))
    const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
    const { message } = (await walk.loginApi('/login/message', claim)).json()
    const signature = walk.wallet.sign(message as string)
    await walk.loginApi('/login/accept', { ...claim, signature })
    await walk.loginApi('/login/accept', { ...claim, signature: `${signature.slice(0, -2)}00` })
    await walk.loginApi('/login/accept', { ...claim, address: `${walk.wallet.address}0`, signature })
    const path = await walk.prove(await walk.challenge(requestOf(client, { prompt: 'login' })))
    await new Walk(grantor).complete(path)
    await walk.complete(`${path}x`)
    const tokens = (await walk.exchange(client, code, { code_verifier: 'a-code-verifier-of-at-least-43-characters-0123' })).json()
    expect(tokens).toHaveProperty('access_token')
    await walk.token(
      { id: client.id, secret: 'a-wrong-secret' },
      { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string },
    )

    secrets.push(code, challenge, to, signature, message as string, path, client.secret, 'a-state-of-the-app', 'a-wrong-secret')
    secrets.push(tokens.access_token as string, tokens.refresh_token as string, ...walk.cookies.values(), PKCE.code_challenge)
    const log = [...grantor.logLines, ...grantor.events.map((event) => JSON.stringify(event))].join('\n')
    expect(log).toContain('"event":"wallet_proved"')
    expect(log).toContain('0xf39F…2266')
    expect(log).not.toMatch(/0x[0-9a-f]{40}/i)
    for (const secret of secrets) {
      expect(log).not.toContain(secret)
      expect(log).not.toContain(secret.slice(-30))
    }
  })
})
