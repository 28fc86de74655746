import { expect, test } from 'vitest'
import { createDevelopmentWallet } from '../../../src/app/development/development-wallet.ts'
import { parseAddress } from '../../../src/protocol/wallet/address.ts'
import { verifyPlainSignature } from '../../../src/protocol/wallet/signature.ts'

const loopback = { authUrl: 'http://localhost:4000', loginUrl: 'http://127.0.0.1:4001' }

test('Each of the three accounts of the development wallet makes signatures that the service accepts (ERC-191)', async () => {
  const wallet = createDevelopmentWallet(loopback)
  expect(wallet.accounts).toHaveLength(3)
  for (const { address } of wallet.accounts) {
    const parsed = parseAddress(address)
    expect(parsed).toEqual({ kind: 'address', address })
    for (const message of ['localhost:4001 wants you to sign in', '', 'ünï¢ode\n'.repeat(100)]) {
      const signature = await wallet.sign(address.toLowerCase(), message)
      expect(signature).toMatch(/^0x[0-9a-f]{130}$/)
      expect(parsed.kind === 'address' && verifyPlainSignature(message, signature, parsed.address)).toEqual({ kind: 'valid' })
    }
  }
})

test('The development wallet does not sign for an address that is not one of its accounts', async () => {
  await expect(createDevelopmentWallet(loopback).sign('0x90F79bf6EB2c4f870365E785982E1f101E93b906', 'hello')).rejects.toThrow()
})

test.each([
  { ...loopback, authUrl: 'https://auth.example.com' },
  { ...loopback, loginUrl: 'https://login.example.com' },
  { ...loopback, loginUrl: 'http://localhost.example.com' },
])('The development wallet cannot be created for a URL that is not loopback: %o', (urls) => {
  expect(() => createDevelopmentWallet(urls)).toThrow('loopback')
})
