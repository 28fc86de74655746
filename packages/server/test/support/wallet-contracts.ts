/** Minimal contract wallets for a local chain, assembled by hand, and the keys of their owners. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Address, parseAddress } from '../../src/protocol/wallet/address.ts'

export type Owner = {
  address: Address
  /** ERC-191 `personal_sign`. */
  sign(message: string): string
  /** A signature over the plain hash: 65 bytes in hex, low s, v 27 or 28. */
  signHash(hash: Uint8Array): string
}

/** Derives a key from a name. */
export function owner(name: string): Owner {
  const key = keccak_256(utf8ToBytes(`key of ${name}`))
  const publicKey = secp256k1.getPublicKey(key, false)
  const signHash = (hash: Uint8Array): string => {
    const [recovery = 0, ...rs] = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
    return `0x${bytesToHex(Uint8Array.from(rs))}${(27 + recovery).toString(16)}`
  }
  const address = checksummed(bytesToHex(keccak_256(publicKey.subarray(1)).subarray(-20)))
  return { address, signHash, sign: (message) => signHash(hashMessage(message)) }
}

/** The hash of ERC-191 version 0x45, which a wallet signs and ERC-1271 checks. */
export function hashMessage(message: string): Uint8Array {
  const text = utf8ToBytes(message)
  return keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${text.length}`), text))
}

/** Init code that deploys `runtime` unchanged. */
export function deploying(runtime: string): string {
  return `0x61${size(runtime, 2)}80600a5f395ff3${runtime}`
}

/** isValidSignature by ecrecover; the owner is part of the code: 78 bytes. */
export function ownedWallet(of: string): string {
  return recoverOwner(`73${digits(of)}`)
}

/** Init code of the same wallet with the owner in storage, which `changeOwner` replaces. */
export function changeableWallet(of: string): string {
  // 32 bytes of calldata are the new owner..
  const change = '3660201415600d575f355f55005b'
  const runtime = change + recoverOwner('5f54')
  return `0x73${digits(of)}5f5560${size(runtime, 1)}8060205f395ff3${runtime}`
}

export function changeOwner(to: string): string {
  return `0x${digits(to).padStart(64, '0')}`
}

/** ecrecover(hash, v, r, s) = owner ? magic value : 0, whatever the selector. */
function recoverOwner(pushOwner: string): string {
  return `60043560005260a4355f1a6020526064356040526084356060526020608060805f60015afa50608051${pushOwner}14631626ba7e60e01b025f5260205ff3`
}

/** Runtimes of contracts that are not wallets. */
export const oddContracts = {
  /** returns its calldata, as the identity precompile does */
  echo: '365f5f37365ff3',
  /** loops until it runs out of gas */
  endlessLoop: '5b5f56',
  reverts: '5f5ffd',
  /** reverts with the magic value as data */
  revertsWithMagic: '631626ba7e60e01b5f5260205ffd',
  /** an undefined instruction, which consumes all gas */
  invalid: 'fe',
  /** returns no data */
  silent: '00',
  /** returns a megabyte of zeros */
  longAnswer: '621000005ff3',
}

/** Returns these bytes (at most 255) for every call. */
export function answering(bytes: string): string {
  return `60${size(bytes, 1)}8060095f395ff3${digits(bytes)}`
}

/** Accepts every signature if it gets more than two million gas, as an expensive check of a passkey needs. */
export const costlyWallet = '621e84805a11631626ba7e60e01b025f5260205ff3'

/** CREATE2 with calldata = salt and init code. Returns the new address. */
export const create2Factory = '36602090038060205f375f35905f5ff55f5260205ff3'

/** The same, but it loops before its end until less than 131,072 gas is left. */
export const wastefulFactory = '36602090038060205f375f35905f5ff5505b620200005a1160115700'

export function create2Call(initCode: string, salt = '00'.repeat(32)): string {
  return `0x${salt}${digits(initCode)}`
}

/** EIP-1014. */
export function create2Address(factory: string, initCode: string, salt = '00'.repeat(32)): Address {
  const initHash = bytesToHex(keccak_256(hexToBytes(digits(initCode))))
  const preimage = hexToBytes(`ff${digits(factory)}${salt}${initHash}`)
  return checksummed(bytesToHex(keccak_256(preimage).subarray(-20)))
}

/** Wraps the signature of a wallet that is not deployed yet (ERC-6492). */
export function wrapSignature(factory: string, factoryCall: string, signature: string): string {
  return `0x${abiEncode([digits(factory), { bytes: factoryCall }, { bytes: signature }])}${'6492'.repeat(16)}`
}

/** A word in digits (an address, a number), or a value of variable size: `bytes`, a `text` (string), an array, a tuple. */
export type AbiArgument =
  | string
  | { bytes: string }
  | { text: string }
  | { list: readonly AbiArgument[] }
  | { tuple: readonly AbiArgument[] }

export function abiEncode(args: readonly AbiArgument[]): string {
  let tail = ''
  const head = args.map((arg) => {
    if (typeof arg === 'string') return digits(arg).padStart(64, '0')
    const offset = args.length * 32 + tail.length / 2
    tail += encodeDynamic(arg)
    return word(offset)
  })
  return head.join('') + tail
}

function encodeDynamic(arg: Exclude<AbiArgument, string>): string {
  if ('list' in arg) return word(arg.list.length) + abiEncode(arg.list)
  if ('tuple' in arg) return abiEncode(arg.tuple)
  const content = 'text' in arg ? bytesToHex(utf8ToBytes(arg.text)) : digits(arg.bytes)
  return word(content.length / 2) + content.padEnd(Math.ceil(content.length / 64) * 64, '0')
}

/** Calldata: the selector of a function such as `deploy(bytes,bytes32)`, and its arguments. */
export function abiCall(signature: string, args: readonly AbiArgument[]): string {
  return `0x${bytesToHex(keccak_256(utf8ToBytes(signature))).slice(0, 8)}${abiEncode(args)}`
}

export function word(number: number): string {
  return number.toString(16).padStart(64, '0')
}

export function digits(hex: string): string {
  return hex.replace(/^0x/, '').toLowerCase()
}

export function checksummed(hex: string): Address {
  const parsed = parseAddress(`0x${digits(hex)}`)
  if (parsed.kind !== 'address') throw new Error('not an address with a key')
  return parsed.address
}

function size(code: string, bytes: number): string {
  return (digits(code).length / 2).toString(16).padStart(bytes * 2, '0')
}
