/** The development login of `grantor start`: it signs in any address by plain forms, without a wallet. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { pack } from '../../../../src/store/packed.ts'
import { type Answer, send } from '../../../support/send.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { contentOf, movingTo, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'
import { developmentWallet } from '../../login/start-login-server.ts'

const STRANGER = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const packed = (text: string) => new Uint8Array(pack(text))

let grantor: Grantor
let web: TestClient
let native: TestClient
beforeAll(async () => {
  grantor = await startGrantor({
    developmentWallet: { ...developmentWallet, takesAnyAddress: true },
    settings: { loginMayVouch: true },
  })
  web = await grantor.createClient()
  native = await grantor.createClient({ type: 'native', redirectUris: ['com.example.app:/cb'] })
})
afterAll(() => grantor.close())

function submit(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
  const body = new URLSearchParams(fields).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded', origin: grantor.loginUrl }
  return send(grantor.loginUrl, { method: 'POST', path, body, headers: { ...type, ...headers } })
}

/** The hidden fields of the form that contains the button, as a browser sends them. */
function fieldsOf(page: string, button: string): Record<string, string> {
  const form = page.split('<form ').find((part) => part.split('</form>')[0]?.includes(`id="${button}"`)) ?? ''
  return Object.fromEntries(
    [...form.split('</form>')[0]!.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name!,
      value!,
    ]),
  )
}

async function approve(walk: Walk, client: TestClient, address: string): Promise<Answer> {
  const challenge = await walk.challenge(requestOf(client, client === native ? PKCE : {}))
  const page = await submit('/login/development', { login_challenge: challenge, address })
  expect(page.status).toBe(200)
  return submit('/login/development-wallet', fieldsOf(page.body, 'approve'))
}

test('The development login signs in an address without a key, and its session is marked as vouched, without a receipt', async () => {
  const walk = new Walk(grantor)
  const answer = await approve(walk, web, STRANGER.toLowerCase())
  expect(answer.status).toBe(200)
  const done = await walk.complete(movingTo(answer).replace(grantor.authUrl, ''))
  const tokens = await walk.exchange(web, parameterOf(movingTo(done), 'code'))
  expect(tokens.status).toBe(200)
  expect((await walk.introspect(web, tokens.json().access_token as string)).json().sub).toBe(STRANGER)
  const { sessions, receipts, wallets } = await grantor.rows()
  expect(sessions).toContainEqual(expect.objectContaining({ wallet: packed(STRANGER), is_vouched: 1, receipt_id: null }))
  expect(receipts).toEqual([])
  expect(wallets).toEqual([])
})

test('The development login signs with the key of a test account, and its session is marked as signed', async () => {
  const walk = new Walk(grantor)
  const answer = await approve(walk, web, testWallet(1).address)
  expect((await walk.complete(movingTo(answer).replace(grantor.authUrl, ''))).status).toBe(200)
  const { sessions } = await grantor.rows()
  expect(sessions).toContainEqual(expect.objectContaining({ wallet: packed(testWallet(1).address), is_vouched: 0 }))
})

test('The development login refuses an address without a key for a client that needs a signed consent, and explains the remedy', async () => {
  const walk = new Walk(grantor)
  const before = await grantor.rows()
  const answer = await approve(walk, native, STRANGER)
  expect(answer.status).toBe(403)
  expect(answer.body).toContain('id="address-problem"')
  expect(answer.body).toContain('only the test accounts can give one here')
  const json = await submit(
    '/login/development-wallet',
    { login_challenge: await walk.challenge(requestOf(native, PKCE)), address: STRANGER },
    { accept: 'application/json' },
  )
  expect([json.status, json.json().error]).toEqual([403, 'consent_needs_signature'])
  expect(await grantor.rows()).toEqual(before)

  const signed = await approve(walk, native, testWallet(1).address)
  const done = await walk.complete(movingTo(signed).replace(grantor.authUrl, ''))
  expect(movingTo(done)).toMatch(/^com\.example\.app:\/cb\?code=/)
})

test.each(['0x12', STRANGER.replace('F', 'f'), 'vitalik.eth', '<script>'])(
  'The development login refuses the text %s, which is no address, with 400 and an error at the field',
  async (address) => {
    const challenge = await new Walk(grantor).challenge(requestOf(web))
    const answer = await submit('/login/development', { login_challenge: challenge, address })
    expect(answer.status).toBe(400)
    expect(answer.body).toContain('id="address-problem"')
    expect(answer.body).not.toContain('<script>"')
    expect((await submit('/login/development-wallet', { login_challenge: challenge, address })).status).toBe(400)
  },
)

test.each(['evil.example', 'localhost.evil.example', 'test', 'a.test.evil.example', '10.0.0.1', '[::2]', '127.0.0.1.nip.io'])(
  'The development login is not available under the host name %s, against DNS rebinding',
  async (name) => {
    const challenge = await new Walk(grantor).challenge(requestOf(web))
    const host = `${name}:${grantor.ports[1]}`
    for (const path of ['/login/development', '/login/development-wallet']) {
      const answer = await submit(path, { login_challenge: challenge, address: STRANGER }, { host })
      expect(answer.status).toBe(404)
    }
    const page = await send(grantor.loginUrl, { path: `/login?login_challenge=${challenge}`, headers: { host } })
    expect(contentOf(page.body)).not.toContain('evelopment')
  },
)

test.each(['localhost', 'LOCALHOST:1', 'grantor.localhost', 'auth.grantor.test', '127.0.0.1', '127.8.8.8:4001', '[::1]:4001'])(
  'The development login is available under the host name %s',
  async (host) => {
    const challenge = await new Walk(grantor).challenge(requestOf(web))
    const page = await send(grantor.loginUrl, { path: `/login?login_challenge=${challenge}`, headers: { host } })
    expect(page.body).toContain('id="address"')
    const answer = await submit('/login/development', { login_challenge: challenge, address: STRANGER }, { host })
    expect(answer.status).toBe(200)
  },
)
