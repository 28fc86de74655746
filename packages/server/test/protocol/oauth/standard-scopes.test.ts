import { expect, test } from 'vitest'
import { claimsOfScopes, isRequiredScope, isStandardScope, SCOPE_CLAIMS } from '../../../src/protocol/oauth/standard-scopes.ts'

const ACCOUNT = {
  wallet: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  chainId: 8453,
  name: 'alice.eth',
  picture: 'https://auth.example.com/oauth/picture/0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
}

test('Scope `wallet` adds the address, the chain and the account, and other scopes add no claim (OpenID Connect Core §5.4)', () => {
  expect(claimsOfScopes(ACCOUNT, ['openid', 'enhancement', 'toString'])).toEqual({})
  expect(claimsOfScopes(ACCOUNT, ['openid', 'wallet'])).toEqual({
    wallet_address: ACCOUNT.wallet,
    chain_id: 8453,
    account_id: `eip155:8453:${ACCOUNT.wallet}`,
  })
})

test('Scope `profile` adds the name, twice, and the picture (OpenID Connect Core §5.1)', () => {
  const { name, picture } = ACCOUNT
  expect(claimsOfScopes(ACCOUNT, ['openid', 'profile'])).toEqual({ name, preferred_username: name, picture })
})

test('Every claim that a scope adds is in the list for the metadata', () => {
  const added = Object.keys(claimsOfScopes(ACCOUNT, ['openid', 'wallet', 'profile', 'siwe']))
  expect(SCOPE_CLAIMS.toSorted()).toEqual([...added, 'siwe_message', 'siwe_signature'].toSorted())
})

test('Names of object members are not scopes of the service', () => {
  for (const name of ['toString', '__proto__', 'constructor', 'enhancement']) {
    expect(isStandardScope(name)).toBe(false)
    expect(isRequiredScope(name)).toBe(false)
  }
})
