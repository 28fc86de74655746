/**
 * A wallet for developers without one: the public test accounts of Hardhat and Anvil. Their private keys are public, so
 * any caller of a service that offers them can use every account. The wallet therefore exists on loopback only.
 */
import { isDevelopmentHost } from '../../http/login/development-host.ts'
import type { DevelopmentWallet } from '../../http/login/server.ts'
import { personalSign, TEST_ACCOUNTS } from './test-accounts.ts'

/** Throws unless both servers have host names that always mean this machine. */
export function createDevelopmentWallet(urls: { authUrl: string; loginUrl: string }): DevelopmentWallet {
  for (const url of [urls.authUrl, urls.loginUrl]) {
    if (!isDevelopmentHost(new URL(url).hostname)) throw new Error('the development wallet exists on loopback only')
  }
  return {
    takesAnyAddress: true,
    accounts: TEST_ACCOUNTS.map(([address], index) => ({ address, label: `Test account ${index + 1}` })),
    async sign(address, message) {
      const account = TEST_ACCOUNTS.find(([known]) => known.toLowerCase() === address.toLowerCase())
      if (!account) throw new Error('not an account of the development wallet')
      return personalSign(message, Buffer.from(account[1], 'hex'))
    },
  }
}
