import { expect, test } from 'vitest'
import { OPEN_CHALLENGE } from './auth-stand-in.ts'
import { type LoginServerSettings, startLoginServer } from './start-login-server.ts'

/** The login page for a challenge with these fields. */
async function pageOf(settings: LoginServerSettings, more: Record<string, unknown>): Promise<string> {
  const server = await startLoginServer(settings)
  try {
    Object.assign(server.auth.challenge, more)
    return await (await fetch(`${server.url}/login?login_challenge=${OPEN_CHALLENGE}`)).text()
  } finally {
    await server.close()
  }
}

const walletWindow = 'https://keys.example.com/connect'

test('The login page names the page of the wallet window and the home chain, where smart wallets sign in', async () => {
  const page = await pageOf({ walletWindow }, { chain_ids: [1, 8453], home_chain_id: 8453 })
  expect(page).toContain(`<meta name="wallet-window" content="${walletWindow}" data-chain-id="8453">`)
})

test('The login page offers no wallet window if the operator set none, or if contract wallets cannot sign in', async () => {
  expect(await pageOf({}, { home_chain_id: 1 })).not.toContain('wallet-window')
  expect(await pageOf({ walletWindow }, {})).not.toContain('wallet-window')
  expect(await pageOf({ walletWindow }, { home_chain_id: '1' })).not.toContain('wallet-window')
})
