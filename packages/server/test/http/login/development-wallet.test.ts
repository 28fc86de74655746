import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { contentOf } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'
import { OPEN_CHALLENGE } from './auth-stand-in.ts'
import { developmentWallet, type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
const { address } = testWallet(1)
beforeAll(async () => {
  login = await startLoginServer({ developmentWallet })
})
afterAll(() => login.close())
afterEach(() => {
  login.auth.asked.length = 0
})

const page = async (server: LoginServer): Promise<string> =>
  (await fetch(`${server.url}/login?login_challenge=${OPEN_CHALLENGE}`)).text()

test('The login page offers the development accounts in a form, labelled as development accounts', async () => {
  const markup = await page(login)
  expect(markup).toContain('Development accounts')
  expect(markup).toContain('action="/login/development"')
  expect(markup).toContain(`<option value="${address}">0x7099…79C8 · Test account 2</option>`)
})

test('A development account signs in with the same text and signature check as any wallet, from a form and from curl', async () => {
  const fields = { login_challenge: OPEN_CHALLENGE, address }
  const form = await login.postForm('/login/development-wallet', fields)
  expect(form.status).toBe(200)
  expect(await form.text()).toContain('http-equiv="refresh"')
  expect(login.auth.asked.map(({ path }) => path)).toEqual(['/login/challenge', '/login/message', '/login/accept'])
  const curl = await login.postForm('/login/development-wallet', fields, { accept: 'application/json' })
  expect(await curl.json()).toEqual({ status: 'success', redirect_to: expect.stringContaining('/login/complete?') })
})

test('An account that is not a development account is refused', async () => {
  const stranger = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
  for (const otherAddress of [stranger, '', 'x']) {
    const fields = { login_challenge: OPEN_CHALLENGE, address: otherAddress }
    expect((await login.postForm('/login/development-wallet', fields)).status).toBe(400)
  }
  expect(login.auth.asked).toHaveLength(0)
})

test('Without a development wallet the login page has no form for one, and its endpoint is 404', async () => {
  const production = await startLoginServer()
  expect(contentOf(await page(production))).not.toContain('evelopment')
  const response = await production.postForm('/login/development-wallet', { login_challenge: OPEN_CHALLENGE, address })
  expect(response.status).toBe(404)
  await production.close()
})
