import { expect, test } from 'vitest'
import { callbacks, grantor, grantorV4 } from '../src/authjs.ts'
import { grantor as betterAuth } from '../src/better-auth.ts'
import { grantorStrategy } from '../src/passport.ts'
import { beginSignIn } from '../src/sign-in-request.ts'

test('Only a sign-in with Grantor puts a wallet in the session: the `sub` of another provider is no wallet', () => {
  const profile = { sub: '0x52908400098527886E0F7030069857D2E4169EE7' }
  const walletAfter = (provider: string) => {
    const token = callbacks.jwt({ token: {}, account: { provider }, profile })
    return callbacks.session({ session: {}, token }).user.wallet
  }
  expect(walletAfter('grantor')).toBe(profile.sub)
  expect(walletAfter('another')).toBeUndefined()
})

test('An issuer with a final slash is refused when the app starts, with the reason (RFC 9207 §2.4)', () => {
  const options = { issuer: 'https://auth.example.com/', clientId: 'c', clientSecret: 's' }
  const fault = /issuer must have no final slash/
  expect(() => grantor(options)).toThrow(fault)
  expect(() => grantorV4(options)).toThrow(fault)
  expect(() => betterAuth(options)).toThrow(fault)
  expect(() => grantorStrategy(Object, { ...options, callbackUrl: 'https://app.example.com/callback' })).toThrow(fault)
  expect(() => beginSignIn(options)).toThrow(fault)
  expect(grantor({ ...options, issuer: undefined }).issuer).toBeUndefined()
})
