/** Wallets whose private keys are known: the public test accounts, or the keys that a test gives. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { type Address, parseAddress, personalSign, TEST_ACCOUNTS } from 'grantor/private'

export type TestWallet = {
  /** in EIP-55 form */
  readonly address: Address
  /** ERC-191 `personal_sign`: 65 bytes in hexadecimal digits */
  sign(message: string): string
}

/** In one issuer. The login page lists all of them. */
const WALLETS_AT_MOST = 100

/** The wallets of these private keys; the three public test accounts of Hardhat and Anvil if there are none. */
export function testWallets(privateKeys: readonly string[] = TEST_ACCOUNTS.map(([, key]) => key)): TestWallet[] {
  if (privateKeys.length === 0 || privateKeys.length > WALLETS_AT_MOST)
    throw new RangeError(`wallets must have 1 to ${WALLETS_AT_MOST} private keys`)
  return privateKeys.map(walletOf)
}

function walletOf(privateKey: string, index: number): TestWallet {
  const key = Buffer.from(privateKey.replace(/^0x/, ''), 'hex')
  // The key, which may be a real one given by mistake, is not repeated.
  if (!/^(?:0x)?[0-9A-Fa-f]{64}$/.test(privateKey) || !secp256k1.utils.isValidSecretKey(key))
    throw new TypeError(`wallets[${index}] must be a private key of secp256k1: 64 hexadecimal digits, with or without 0x`)
  return { address: addressOf(key), sign: (message) => personalSign(message, key) }
}

/** The address of a key: the last 20 bytes of the Keccak-256 of the uncompressed public key, without the first byte. */
function addressOf(key: Uint8Array): Address {
  const digest = keccak_256(secp256k1.getPublicKey(key, false).slice(1))
  const parsed = parseAddress(`0x${Buffer.from(digest.slice(-20)).toString('hex')}`)
  if (parsed.kind !== 'address') throw new TypeError('the key has no usable address')
  return parsed.address
}

/** The wallet with this address; the first one if there is no address. */
export function findWallet(wallets: readonly TestWallet[], wanted: TestWallet | string | undefined): TestWallet {
  const sought = (typeof wanted === 'object' ? wanted.address : wanted)?.toLowerCase()
  const found = wallets.find(({ address }) => sought === undefined || address.toLowerCase() === sought)
  if (!found) throw new RangeError('wallet is none of the wallets of this test issuer: give its private key to `wallets`')
  return found
}
