import { expect, test } from 'vitest'
import { testWallet } from '../../support/wallet.ts'
import { OPEN_CHALLENGE, refusal } from './auth-stand-in.ts'
import { developmentWallet, LOGIN_SECRET, startLoginServer } from './start-login-server.ts'

test('The log has routes and statuses, and contains no challenge, address, signature, signed text or secret', async () => {
  const login = await startLoginServer({ developmentWallet })
  const wallet = testWallet(0)
  const open = { login_challenge: OPEN_CHALLENGE, address: wallet.address, chain_id: 1 }
  await fetch(`${login.url}/login?login_challenge=${OPEN_CHALLENGE}`)
  await fetch(`${login.url}/nowhere/${wallet.address}?login_challenge=${OPEN_CHALLENGE}`)
  const { message } = (await (await login.postJson('/login/message', open)).json()) as { message: string }
  const signature = wallet.sign(message)
  await login.postJson('/login', { ...open, signature })
  await login.postForm('/login/development-wallet', { login_challenge: OPEN_CHALLENGE, address: wallet.address })
  for (const status of [400, 500, 503]) {
    login.auth.answers.set('/login/accept', refusal(status, 'server_error'))
    await login.postJson('/login', { ...open, signature })
  }
  login.auth.answers.set('/login/accept', { status: 200, body: `${signature} is not JSON` })
  await login.postJson('/login', { ...open, signature })
  await login.close()

  const log = login.log.join('').toLowerCase()
  expect(log).toContain('"route":"/login"')
  expect(log).toContain('"route":"unmatched"')
  expect(log).toContain('"status":503')
  for (const secret of [OPEN_CHALLENGE, wallet.address.slice(2), signature.slice(2, 60), 'wants you to sign in', LOGIN_SECRET]) {
    expect(log).not.toContain(secret.toLowerCase())
  }
})
