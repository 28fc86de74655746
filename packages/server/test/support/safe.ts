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
import type { Address } from '../../src/protocol/wallet/address.ts'
import type { TestChain } from './chain.ts'
import { abiCall, checksummed, digits, hashMessage, type Owner, word } from './wallet-contracts.ts'

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
    const factoryCall = abiCall('createProxyWithNonce(address,bytes,uint256)', [master, { bytes: initializer }, word(1)])
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

/** The call with which a Safe replaces its first owner. */
export function swapOwnerCall(first: Owner, replacement: Owner): string {
  return abiCall('swapOwner(address,address,address)', [word(1), first.address, replacement.address])
}

/** The owners and the threshold; no call, handler for ERC-1271, no payment. */
function setupCall(owners: readonly Owner[], threshold: number, fallbackHandler: string): string {
  const nobody = word(0)
  const list = owners.map(({ address }) => address)
  return abiCall('setup(address[],uint256,address,bytes,address,address,uint256,address)', [
    { list },
    word(threshold),
    nobody,
    { bytes: '' },
    fallbackHandler,
    nobody,
    word(0),
    nobody,
  ])
}

function hashText(text: string): string {
  return bytesToHex(keccak_256(utf8ToBytes(text)))
}

function hash(hex: string): string {
  return bytesToHex(keccak_256(hexToBytes(hex)))
}
