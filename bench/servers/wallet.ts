/** Wallets with real keys, made for one run: an address, and ERC-191 signatures. */
import { randomBytes } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'

export type Wallet = {
  /** lower-case, as wallets give it */
  address: string
  /** `personal_sign`: 65 bytes in hex */
  sign(message: string): string
}

export function makeWallet(): Wallet {
  const key = randomBytes(32)
  const publicKey = secp256k1.getPublicKey(key, false).subarray(1)
  return {
    address: `0x${bytesToHex(keccak_256(publicKey).subarray(12))}`,
    sign(message) {
      const bytes = utf8ToBytes(message)
      const hash = keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes))
      const [recovery = 0, ...rs] = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
      return `0x${bytesToHex(Uint8Array.from(rs))}${(27 + recovery).toString(16)}`
    },
  }
}
