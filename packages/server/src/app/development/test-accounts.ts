/**
 * The public test accounts of Hardhat and Anvil. Their private keys are public, so any caller of a service that offers them can use every
 * account. Only the development wallet and the test issuer import this file.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'

/** The address and the private key of the first three accounts of the mnemonic "test test test test test test test test test test test junk". */
export const TEST_ACCOUNTS = [
  ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'],
  ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'],
  ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'],
] as const

/** ERC-191 version 0x45, as wallets sign for `personal_sign`. */
export function personalSign(message: string, key: Uint8Array): string {
  const text = Buffer.from(message, 'utf8')
  const digest = keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`), text]))
  // Noble puts the recovery bit first; Ethereum writes it last, as 27 or 28.
  const [recovery = 0, ...rs] = secp256k1.sign(digest, key, { prehash: false, format: 'recovered' })
  return `0x${Buffer.from([...rs, 27 + recovery]).toString('hex')}`
}
