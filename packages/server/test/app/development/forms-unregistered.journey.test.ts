/**
 * `grantor start` as a process: a person without a wallet extension and without JavaScript signs in with the forms of the development login,
 * for a client that is not registered, in a browser and on a device. What the client gets is used at the demo's servers.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startClientHost } from '../../support/client-host.ts'
import { DEVICE_GRANT } from '../../support/device.ts'
import { sixInARow } from '../../support/free-ports.ts'
import { type Answer, send } from '../../support/send.ts'
import { CODE_VERIFIER, encode, movingTo, PKCE, parameterOf } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'
import { launch, newFolder, type Running } from '../run.ts'

const REDIRECT_URI = 'http://localhost:54321/callback'
const FORM = 'application/x-www-form-urlencoded'

let running: Running
let authUrl: string
let apiUrl: string
let mcpUrl: string
let close: () => Promise<unknown>
let clientId: string

beforeAll(async () => {
  const port = await sixInARow()
  ;[authUrl, apiUrl, mcpUrl] = [`http://localhost:${port}`, `http://localhost:${port + 3}`, `http://localhost:${port + 4}/mcp`]
  const host = await startClientHost(({ url = '' }, response) => {
    const document = {
      client_id: `${host.origin}${url}`,
      client_name: 'Agent',
      redirect_uris: ['http://localhost/callback'],
      grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT],
      token_endpoint_auth_method: 'none',
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  })
  clientId = `${host.origin}/client.json`
  running = launch(['start', '--ports', String(port), '--data', join(newFolder(), 'data')])
  await running.printed('Ctrl-C stops everything')
  close = async () => {
    const ended = running.ended()
    running.child.kill('SIGTERM')
    await Promise.all([ended, host.close()])
  }
})
afterAll(() => close())

/** A browser without JavaScript: it keeps cookies, follows pages that move on, and submits forms. */
class Browser {
  readonly #cookies = new Map<string, string>()
  #url = ''
  page!: Answer

  async open(url: string, form?: Record<string, string>): Promise<Answer> {
    const { origin, pathname, search } = new URL(url)
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ')
    const posted = form && { method: 'POST', body: encode(form) }
    const headers = { ...(cookie === '' ? {} : { cookie }), ...(form ? { 'content-type': FORM, origin } : {}) }
    this.page = await send(origin, { path: pathname + search, headers, ...posted })
    this.#url = url
    for (const line of this.page.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.#cookies.set(name, value)
    }
    const to = this.page.location || movingTo(this.page)
    return to === '' || to.startsWith(REDIRECT_URI) ? this.page : this.open(new URL(to, url).href)
  }

  /** Presses a button of a form, with the values of its hidden fields and those that the person entered. */
  press(button: string, entered: Record<string, string> = {}): Promise<Answer> {
    const form = this.page.body.split('<form ').find((part) => part.split('</form>')[0]?.includes(`id="${button}"`)) ?? ''
    const [, action = ''] = /action="([^"]*)"/.exec(form) ?? []
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, ...pair]) => pair)
    const [, ...own] = new RegExp(`id="${button}" name="([^"]+)" value="([^"]+)"`).exec(form) ?? []
    const fields = Object.fromEntries([...hidden, ...(own.length > 0 ? [own] : [])]) as Record<string, string>
    if (action === '') throw new Error(`no form has the button ${button}: ${this.page.status}`)
    return this.open(new URL(action, this.#url).href, { ...fields, ...entered })
  }

  /** The two steps of the development login. */
  async signIn(): Promise<Answer> {
    await this.press('sign-in', { address: testWallet(1).address })
    return this.press('approve')
  }
}

function post(path: string, parameters: Record<string, string>): Promise<Answer> {
  const body = encode({ client_id: clientId, ...parameters })
  return send(authUrl, { method: 'POST', path, headers: { 'content-type': FORM }, body })
}

test('Under start, the forms of the development login sign in for a client with a metadata document, and its token opens the demo MCP server', async () => {
  const browser = new Browser()
  const request = { client_id: clientId, redirect_uri: REDIRECT_URI, response_type: 'code', resource: mcpUrl, ...PKCE }
  const login = await browser.open(`${authUrl}/oauth/authorize?${encode(request)}`)
  expect(login.body).toContain(new URL(clientId).host)
  const to = movingTo(await browser.signIn())
  const code = parameterOf(to, 'code')
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER }
  const tokens = (await post('/oauth/token', exchange)).json()
  expect(tokens).toMatchObject({ token_type: 'Bearer', scope: 'notes.read notes.write' })
  const called = await send(new URL(mcpUrl).origin, {
    method: 'POST',
    path: '/mcp',
    headers: {
      authorization: `Bearer ${String(tokens.access_token)}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } }),
  })
  expect([called.status, called.body]).toEqual([200, expect.stringContaining(testWallet(1).address)])
})

test('Under start, the forms of the development login sign in on a device for a client with a metadata document, and its token opens the demo API', async () => {
  const device = (await post('/oauth/device_authorization', { resource: apiUrl })).json()
  const browser = new Browser()
  const page = await browser.open(String(device.verification_uri_complete))
  expect(page.body).toContain(new URL(clientId).host)
  await browser.press('allow')
  const done = await browser.signIn()
  expect([done.status, done.body]).toEqual([200, expect.stringContaining('data-notice="device_allowed"')])
  const answer = await post('/oauth/token', { grant_type: DEVICE_GRANT, device_code: String(device.device_code) })
  const { access_token } = answer.json()
  const called = await send(apiUrl, { path: '/me', headers: { authorization: `Bearer ${String(access_token)}` } })
  expect([called.status, called.body]).toEqual([200, expect.stringContaining(testWallet(1).address)])
})

test('Under start, the command line program of the demo is signed in by the forms of the development login', async () => {
  const [, id = ''] = new RegExp(`cli-device.* ${authUrl} (\\S+) `).exec(running.out()) ?? []
  const device = (await post('/oauth/device_authorization', { client_id: id })).json()
  const browser = new Browser()
  await browser.open(`${authUrl}/device?${encode({ user_code: String(device.user_code) })}`)
  await browser.press('allow')
  await browser.signIn()
  const redeem = { grant_type: DEVICE_GRANT, device_code: String(device.device_code), client_id: id }
  expect((await post('/oauth/token', redeem)).json()).toMatchObject({ token_type: 'Bearer', scope: 'enhancement' })
})

test('Under start, a client registers itself, as MCP clients do that have no document, and the development login signs in for it (RFC 7591)', async () => {
  const metadata = await send(authUrl, { path: '/.well-known/oauth-authorization-server' })
  expect(metadata.json().registration_endpoint).toBe(`${authUrl}/oauth/register`)
  const registered = await send(authUrl, {
    method: 'POST',
    path: '/oauth/register',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Inspector', redirect_uris: [REDIRECT_URI] }),
  })
  const { client_id: id } = registered.json() as { client_id: string }
  const browser = new Browser()
  const request = { client_id: id, redirect_uri: REDIRECT_URI, response_type: 'code', resource: mcpUrl, ...PKCE }
  await browser.open(`${authUrl}/oauth/authorize?${encode(request)}`)
  const code = parameterOf(movingTo(await browser.signIn()), 'code')
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER }
  const tokens = (await post('/oauth/token', { ...exchange, client_id: id })).json()
  expect(tokens).toMatchObject({ token_type: 'Bearer', scope: 'notes.read notes.write' })
})
