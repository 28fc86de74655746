import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { testWallet } from '../../support/wallet.ts'
import { OPEN_CHALLENGE } from './auth-stand-in.ts'
import { developmentWallet, type LoginServer, startLoginServer } from './start-login-server.ts'

let login: LoginServer
const wallet = testWallet(0)
const open = { login_challenge: OPEN_CHALLENGE, address: wallet.address }
beforeAll(async () => {
  login = await startLoginServer({ developmentWallet })
})
afterAll(() => login.close())
afterEach(() => {
  login.auth.asked.length = 0
  login.auth.challenge.may_choose_scopes = true
})

/** The path and the scopes of each POST to the auth service. */
const scopesSent = () => login.auth.asked.filter(({ method }) => method === 'POST').map(({ path, body }) => [path, body.scope])

test('The scopes that a person left on are sent to the auth service with the text and the signature; without a choice none is sent', async () => {
  for (const scope of ['profile', 'enhancement profile', undefined]) {
    login.auth.asked.length = 0
    await login.postJson('/login/message', { ...open, chain_id: 1, scope })
    await login.postJson('/login', { ...open, chain_id: 1, scope, signature: '0x00' })
    expect(scopesSent()).toEqual([
      ['/login/message', scope],
      ['/login/accept', scope],
    ])
  }
})

test.each([
  ['one box', 'scope=profile', 'profile'],
  ['two boxes', 'scope=enhancement&scope=profile', 'enhancement profile'],
  ['the empty field beside the boxes', 'scope=&scope=profile', 'profile'],
  ['names in one field', 'scope=enhancement+profile', 'enhancement profile'],
  ['no scope field', '', undefined],
])('The check boxes of a form become one list of scopes: %s', async (_name, boxes, scope) => {
  const body = `${new URLSearchParams(open).toString()}&${boxes}`
  expect((await login.postForm('/login/message', body)).status).toBe(200)
  expect(scopesSent()).toEqual([['/login/message', scope]])
})

test('A choice without any scope gets 400 and is not sent to the auth service, where no scope means all scopes', async () => {
  const answer = await login.postForm('/login/message', { ...open, scope: '' })
  expect(answer.status).toBe(400)
  expect(await answer.text()).toContain('At least one must stay on.')
  for (const path of ['/login/message', '/login']) {
    const refused = await login.postJson(path, { ...open, chain_id: 1, scope: '', signature: '0x00' })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: 'invalid_request' })
  }
  expect((await login.postForm('/login/development-wallet', { ...open, scope: '' })).status).toBe(400)
  expect(scopesSent()).toEqual([])
})

test('The page with the text keeps the chosen scopes for the step with the signature', async () => {
  const page = await (await login.postForm('/login/message', { ...open, scope: 'profile' })).text()
  expect(page).toContain('<input type="hidden" name="scope" value="profile">')
  expect(page).toContain('See your profile')
  expect(page).not.toContain('Use the enhancement API in your name')
})

test('The development wallet signs for the scopes that a person left on', async () => {
  await login.postForm('/login/development-wallet', { ...open, scope: 'profile' })
  expect(scopesSent()).toEqual([
    ['/login/message', 'profile'],
    ['/login/accept', 'profile'],
  ])
})

test('If the scopes cannot be chosen, the login page has no switches and no scope field', async () => {
  login.auth.challenge.may_choose_scopes = false
  const page = await (await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)).text()
  expect(page).toContain('See your profile')
  expect(page).not.toMatch(/name="scope"|role="switch"/)
})
