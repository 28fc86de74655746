import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { testWallet } from '../support/wallet.ts'
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

test('the page names the app, its host, what it may do and until when', async () => {
  const response = await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  const page = await response.text()
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

test('every page forbids inline script, frames, caching and sniffing, and keeps its address to itself', async () => {
  for (const path of [`/login?login_challenge=${OPEN_CHALLENGE}`, '/login', '/nowhere']) {
    const { headers } = await fetch(`${login.url}${path}`)
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin-allow-popups')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  }
})

test('a script gets the text, sends the signature, and learns where to go', async () => {
  const message = await textToSign()
  expect(message).toContain(wallet.address)
  const response = await login.postJson('/login', { ...open, signature: wallet.sign(message) })
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(await response.json()).toEqual({ status: 'success', redirect_to: expect.stringContaining('/login/complete?') })
})

test('a form gets the text on a page, sends the signature, and gets a page that moves on by itself', async () => {
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

test('cancelling leads back to the app, for a script and for a form', async () => {
  const json = await login.postJson('/login/deny', { login_challenge: OPEN_CHALLENGE })
  expect(await json.json()).toEqual({ status: 'denied', redirect_to: expect.stringContaining('/login/complete?') })
  const form = await login.postForm('/login/deny', { login_challenge: OPEN_CHALLENGE })
  expect(form.status).toBe(200)
  expect(await form.text()).toContain('You are not signed in')
})

test('the auth service is asked with the login server’s own credentials, and told whose request it is', async () => {
  await login.postJson('/login/message', { ...open, client_ip: '203.0.113.9' })
  const [{ authorization, body } = { authorization: '', body: {} }] = login.auth.asked
  expect(authorization).toBe(`Basic ${Buffer.from(`login-server:${LOGIN_SECRET}`).toString('base64')}`)
  expect(body).toEqual({ ...open, client_ip: '127.0.0.1' })
})

test('nothing that a browser adds to its body reaches the auth service', async () => {
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
  'a login without a signature never reaches the auth service, which might be told to believe it: %o',
  async (signature) => {
    const json = await login.postJson('/login', { ...open, ...signature })
    expect(json.status).toBe(400)
    expect(await json.json()).toMatchObject({ error: 'invalid_request' })
    const form = await login.postForm('/login', { ...open, chain_id: '1', ...signature })
    expect(form.status).toBe(400)
    expect(login.auth.asked.map(({ path }) => path)).not.toContain('/login/accept')
  },
)

test('X-Forwarded-For is believed from a trusted proxy, and from nobody else', async () => {
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
])('a refusal of the auth service keeps its status and code, and has a page of its own: %i %s', async (status, error, title) => {
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
})

test('a signature that proves nothing is 401 in JSON; in a form it is the same step again, with the same text', async () => {
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

test('an address that is none brings the form back with what was typed, and says what to do', async () => {
  const wrongChecksum = wallet.address.replace('f39F', 'F39f')
  for (const address of ['', 'me', wrongChecksum, '0x0000000000000000000000000000000000000000']) {
    const response = await login.postForm('/login/message', { login_challenge: OPEN_CHALLENGE, address })
    const page = await response.text()
    expect(response.status).toBe(400)
    expect(page).toContain('We cannot read this as a wallet address.')
    expect(page).toContain(`value="${address}"`)
  }
})

test('a login challenge that is missing, empty or there twice is a page that says the link does not work', async () => {
  for (const query of ['', '?login_challenge=', '?login_challenge=a&login_challenge=b', '?login_challenge=%FF']) {
    const response = await fetch(`${login.url}/login${query}`)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('This sign-in link does not work')
  }
  expect(login.auth.asked).toHaveLength(0)
})

test('health answers without the auth service', async () => {
  login.auth.answers.set('/login/challenge', 'silence')
  for (const path of ['/health/live', '/health/ready']) expect((await fetch(`${login.url}${path}`)).status).toBe(200)
  expect(login.auth.asked).toHaveLength(0)
})
