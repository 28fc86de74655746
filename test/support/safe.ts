/** Safe accounts on a local chain, from the project's own artifacts, and their owners' signatures. */

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

/** A Safe that is not deployed: where it will be, and which call of which factory deploys it. */
export type Safe = { address: Address; factory: Address; factoryCall: string; deploy(): Promise<void> }

/** Deploys what Safes are made of, once a chain, and gives a way to make Safes. */
export async function safes(chain: TestChain): Promise<(owners: readonly Owner[], threshold: number) => Promise<Safe>> {
  const [master, factory, fallbackHandler] = await Promise.all(
    [singleton, proxyFactory, handler].map(({ bytecode }) => chain.deploy(bytecode)),
  )
  if (!master || !factory || !fallbackHandler) throw new Error('the Safe contracts were not deployed')
  return async (owners, threshold) => {
    const initializer = setupCall(owners, threshold, fallbackHandler)
    const factoryCall = `0x${selector('createProxyWithNonce(address,bytes,uint256)')}${abiEncode([digits(master), { bytes: initializer }, word(1)])}`
    // asked, not sent: where the factory would put it
    const answer: string = await chain.request('eth_call', [{ to: factory, data: factoryCall }, 'latest'])
    return {
      address: checksummed(answer.slice(-40)),
      factory,
      factoryCall,
      deploy: () => chain.send(factory, factoryCall),
    }
  }
}

/** What owners sign, in Safe's own words (EIP-712 `SafeMessage`), joined in the order of their addresses as Safe asks for. */
export function signForSafe(message: string, safe: string, chainId: number, owners: readonly Owner[]): string {
  const domain = hash(
    hashText('EIP712Domain(uint256 chainId,address verifyingContract)') + word(chainId) + digits(safe).padStart(64, '0'),
  )
  const struct = hash(hashText('SafeMessage(bytes message)') + hash(bytesToHex(hashMessage(message))))
  const signed = hexToBytes(hash(`1901${domain}${struct}`))
  const inOrder = owners.toSorted((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1))
  return `0x${inOrder.map((owner) => digits(owner.signHash(signed))).join('')}`
}

/** Safe.setup: eight arguments, of which `owners` and the empty `data` stand behind the others. */
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
