/** Safe accounts on a local chain, made with Safe's own artifacts, and the signatures of their owners. */

import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import handler from '@safe-global/safe-smart-account/build/artifacts/contracts/handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json' with {
  type: 'json',
}
import proxyFactory from '@safe-global/safe-smart-account/build/artifacts/contracts/proxies/SafeProxyFactory.sol/SafeProxyFactory.json' with {
  type: 'json',
}
import singleton from '@safe-global/safe-smart-account/build/artifacts/contracts/Safe.sol/Safe.json' with { type: 'json' }
import type { Address } from '../../src/wallet/address.ts'
import type { TestChain } from './chain.ts'
import { abiEncode, checksummed, digits, hashMessage, type Owner, word } from './wallet-contracts.ts'

/** A Safe that is not deployed yet: its future address, and the call of the factory that deploys it. */
export type Safe = { address: Address; factory: Address; factoryCall: string; deploy(): Promise<void> }

/** Deploys the contracts of Safe, once for each chain, and returns a function that makes Safes. */
export async function safes(chain: TestChain): Promise<(owners: readonly Owner[], threshold: number) => Promise<Safe>> {
  const [master, factory, fallbackHandler] = await Promise.all(
    [singleton, proxyFactory, handler].map(({ bytecode }) => chain.deploy(bytecode)),
  )
  if (!master || !factory || !fallbackHandler) throw new Error('the Safe contracts were not deployed')
  return async (owners, threshold) => {
    const initializer = setupCall(owners, threshold, fallbackHandler)
    const factoryCall = `0x${selector('createProxyWithNonce(address,bytes,uint256)')}${abiEncode([digits(master), { bytes: initializer }, word(1)])}`
    // A call without a transaction returns the future address.
    const answer: string = await chain.request('eth_call', [{ to: factory, data: factoryCall }, 'latest'])
    return {
      address: checksummed(answer.slice(-40)),
      factory,
      factoryCall,
      deploy: () => chain.send(factory, factoryCall),
    }
  }
}

/** The owners' signatures over Safe's EIP-712 `SafeMessage`, joined in the order of their addresses, as Safe requires. */
export function signForSafe(message: string, safe: string, chainId: number, owners: readonly Owner[]): string {
  const domain = hash(
    hashText('EIP712Domain(uint256 chainId,address verifyingContract)') + word(chainId) + digits(safe).padStart(64, '0'),
  )
  const struct = hash(hashText('SafeMessage(bytes message)') + hash(bytesToHex(hashMessage(message))))
  const signed = hexToBytes(hash(`1901${domain}${struct}`))
  const inOrder = owners.toSorted((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1))
  return `0x${inOrder.map((owner) => digits(owner.signHash(signed))).join('')}`
}

/** Safe.setup with eight arguments, of which `owners` and the empty `data` are encoded after the others. */
function setupCall(owners: readonly Owner[], threshold: number, fallbackHandler: string): string {
  const nobody = word(0)
  const list = word(owners.length) + owners.map(({ address }) => digits(address).padStart(64, '0')).join('')
  const head = [word(256), word(threshold), nobody, word(256 + list.length / 2), digits(fallbackHandler).padStart(64, '0')]
  const call = 'setup(address[],uint256,address,bytes,address,address,uint256,address)'
  return `0x${selector(call)}${head.join('')}${nobody}${word(0)}${nobody}${list}${word(0)}`
}

function selector(signature: string): string {
  return hashText(signature).slice(0, 8)
}

function hashText(text: string): string {
  return bytesToHex(keccak_256(utf8ToBytes(text)))
}

function hash(hex: string): string {
  return bytesToHex(keccak_256(hexToBytes(hex)))
}
