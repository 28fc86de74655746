import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { hashSources, scripts, styles } from '../../../src/pages/inline.ts'
import { testWallet } from '../../support/wallet.ts'
import { OPEN_CHALLENGE, refusal } from './auth-stand-in.ts'
import { LOGIN_SECRET, type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
const wallet = testWallet(0)
const open = { login_challenge: OPEN_CHALLENGE, address: wallet.address.toLowerCase(), chain_id: 1 }
beforeAll(async () => {
  login = await startLoginServer()
})
afterAll(() => login.close())
afterEach(() => {
  login.auth.answers.clear()
  login.auth.asked.length = 0
})

async function textToSign(): Promise<string> {
  const answer = (await (await login.postJson('/login/message', open)).json()) as { message: string }
  return answer.message
}

test('The login page names the app, its host, the permissions and the time at which they end', async () => {
  const response = await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  // A host breaks only at its dots.
  const page = (await response.text()).replaceAll('<wbr>', '')
  expect(response.status).toBe(200)
  for (const words of [
    'Aurora Notes',
    'notes.aurora.example',
    'Use the enhancement API in your name',
    '2027-01-15T08:09:00.000Z',
  ]) {
    expect(page).toContain(words)
  }
})

test('Every page of the login server forbids other scripts and styles, frames, caching and sniffing, and sends its address only to its origin', async () => {
  for (const path of [`/login?login_challenge=${OPEN_CHALLENGE}`, '/login', '/nowhere']) {
    const { headers } = await fetch(`${login.url}${path}`)
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src ${hashSources(scripts)}; style-src ${hashSources(styles)}; img-src 'self' data: ${login.auth.url}; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin-allow-popups')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  }
})

test('A script can get the text, send the signature, and read the address at which the login continues', async () => {
  const message = await textToSign()
  expect(message).toContain(wallet.address)
  const response = await login.postJson('/login', { ...open, signature: wallet.sign(message) })
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.json()).toEqual({ status: 'success', redirect_to: expect.stringContaining('/login/complete?') })
})

test('A form can get a page with the text, send the signature, and gets a page that continues the login by itself', async () => {
  const step = await (await login.postForm('/login/message', { login_challenge: OPEN_CHALLENGE, address: wallet.address })).text()
  const message = await textToSign()
  expect(step).toContain(message.replaceAll("'", '&#39;'))
  const fields = {
    login_challenge: OPEN_CHALLENGE,
    address: wallet.address,
    chain_id: '1',
    signature: `\n ${wallet.sign(message)} \n`,
  }
  const response = await login.postForm('/login', fields)
  const page = await response.text()
  expect(response.status).toBe(200)
  expect(page).toMatch(/<meta http-equiv="refresh" content="0;url=http:\/\/127\.0\.0\.1:\d+\/login\/complete\?/)
  expect(page).toContain('Continue to')
})

test('A declined login returns the address of the app to a script, and a page to a form', async () => {
  const json = await login.postJson('/login/deny', { login_challenge: OPEN_CHALLENGE })
  expect(await json.json()).toEqual({ status: 'denied', redirect_to: expect.stringContaining('/login/complete?') })
  const form = await login.postForm('/login/deny', { login_challenge: OPEN_CHALLENGE })
  expect(form.status).toBe(200)
  expect(await form.text()).toContain('You are not signed in')
})

test('The login server calls the auth service with its own credentials and with the address of the client', async () => {
  await login.postJson('/login/message', { ...open, client_ip: '203.0.113.9' })
  const [{ authorization, body } = { authorization: '', body: {} }] = login.auth.asked
  expect(authorization).toBe(`Basic ${Buffer.from(`login-server:${LOGIN_SECRET}`).toString('base64')}`)
  expect(body).toEqual({ ...open, client_ip: '127.0.0.1' })
})

test('The login server does not send unknown members of a body to the auth service', async () => {
  const message = await textToSign()
  login.auth.asked.length = 0
  await login.postJson('/login', { ...open, signature: wallet.sign(message), vouched: true, wallet: '0x1', client_ip: '1.2.3.4' })
  expect(Object.keys(login.auth.asked[0]?.body ?? {}).toSorted()).toEqual([
    'address',
    'chain_id',
    'client_ip',
    'login_challenge',
    'signature',
  ])
})

test.each([{}, { signature: '' }, { signature: ' \n ' }])(
  'A login without a signature gets 400 and is not sent to the auth service, which could count it as vouched for: %o',
  async (signature) => {
    const json = await login.postJson('/login', { ...open, ...signature })
    expect(json.status).toBe(400)
    expect(await json.json()).toMatchObject({ error: 'invalid_request' })
    const form = await login.postForm('/login', { ...open, chain_id: '1', ...signature })
    expect(form.status).toBe(400)
    expect(login.auth.asked.map(({ path }) => path)).not.toContain('/login/accept')
  },
)

test('The header X-Forwarded-For is used from a trusted proxy only', async () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9' }
  await login.postJson('/login/message', open, forwarded)
  expect(login.auth.asked[0]?.body.client_ip).toBe('127.0.0.1')

  const behindProxy = await startLoginServer({ trustedProxies: ['127.0.0.1'] })
  await behindProxy.postJson('/login/message', open, forwarded)
  expect(behindProxy.auth.asked[0]?.body.client_ip).toBe('203.0.113.9')
  await behindProxy.close()
})

test.each([
  [400, 'invalid_request', 'This sign-in link does not work'],
  [403, 'address_not_allowed', 'This wallet is not accepted here'],
  [403, 'chain_not_allowed', 'This network is not accepted here'],
  [409, 'already_used', 'This sign-in is already finished'],
  [410, 'expired', 'This sign-in has run out of time'],
  [413, 'too_large', 'That was too long'],
  [429, 'temporarily_unavailable', 'Too many failed attempts'],
  [503, 'temporarily_unavailable', 'We cannot sign you in right now'],
])(
  'An error of the auth service keeps its status and its code, and has a page of its own: %i %s',
  async (status, error, title) => {
    login.auth.answers.set('/login/message', refusal(status, error, { 'retry-after': '42' }))
    const json = await login.postJson('/login/message', open)
    expect(json.status).toBe(status)
    expect(json.headers.get('retry-after')).toBe('42')
    expect(await json.json()).toEqual({ error, error_description: `Refused: ${error}.` })

    login.auth.answers.set('/login/challenge', refusal(status, error, { 'retry-after': '42' }))
    const page = await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
    expect(page.status).toBe(status)
    expect(page.headers.get('retry-after')).toBe('42')
    expect(await page.text()).toContain(`<h1 tabindex="-1">${title}</h1>`)
  },
)

test('A wrong signature gets 401: an error for a script, and for a form the same step again with the same text', async () => {
  const signature = testWallet(1).sign(await textToSign())
  const json = await login.postJson('/login', { ...open, signature })
  expect(json.status).toBe(401)
  expect(await json.json()).toMatchObject({ error: 'not_proven' })

  const form = await login.postForm('/login', { login_challenge: OPEN_CHALLENGE, address: wallet.address, signature })
  const page = await form.text()
  expect(form.status).toBe(401)
  expect(page).toContain('This signature was not made with')
  expect(page).toContain((await textToSign()).replaceAll("'", '&#39;'))
  expect(page).not.toContain(signature)
})

test('An invalid address gets the form again, with the typed text and an explanation', async () => {
  const wrongChecksum = wallet.address.replace('f39F', 'F39f')
  for (const address of ['', 'me', wrongChecksum, '0x0000000000000000000000000000000000000000']) {
    const response = await login.postForm('/login/message', { login_challenge: OPEN_CHALLENGE, address })
    const page = await response.text()
    expect(response.status).toBe(400)
    expect(page).toContain('We cannot read this as a wallet address.')
    expect(page).toContain(`value="${address}"`)
  }
})

test('A login challenge that is missing, empty, repeated or not UTF-8 gets a page that says that the link does not work', async () => {
  for (const query of ['', '?login_challenge=', '?login_challenge=a&login_challenge=b', '?login_challenge=%FF']) {
    const response = await fetch(`${login.url}/login${query}`)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('This sign-in link does not work')
  }
  expect(login.auth.asked).toHaveLength(0)
})

test('The health endpoints respond without calling the auth service', async () => {
  login.auth.answers.set('/login/challenge', 'silence')
  for (const path of ['/health/live', '/health/ready']) expect((await fetch(`${login.url}${path}`)).status).toBe(200)
  expect(login.auth.asked).toHaveLength(0)
})
