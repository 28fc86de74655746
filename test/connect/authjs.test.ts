import { expect, test } from 'vitest'
import { callbacks } from '../../src/connect/authjs.ts'

test('Only a sign-in with Grantor puts a wallet in the session: the `sub` of another provider is no wallet', () => {
  const profile = { sub: '0x52908400098527886E0F7030069857D2E4169EE7' }
  const walletAfter = (provider: string) => {
    const token = callbacks.jwt({ token: {}, account: { provider }, profile })
    return callbacks.session({ session: {}, token }).user.wallet
  }
  expect(walletAfter('grantor')).toBe(profile.sub)
  expect(walletAfter('another')).toBeUndefined()
})
