/** ENS on a local chain: a registry and a resolver that return what the test sets, assembled by hand. */
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { hashName } from '../../src/protocol/wallet/ens-name.ts'
import { startChain, type TestChain } from './chain.ts'
import { FILE, started, test } from './fixtures.ts'

const REGISTRY = '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e'
const RESOLVER = '0x00000000000000000000000000000000000e0001'
const OTHER_RESOLVER = '0x00000000000000000000000000000000000e0002'
/** Returns the code at the address in the slot that is named by the hash of the calldata; nothing if the slot is empty. */
const TABLE = '0x365f5f37365f2054803b805f5f843c5ff3'

export type TestEns = {
  /** The reverse record of an address. */
  setName(address: string, name: string): Promise<void>
  /** What the name resolves to. */
  setAddress(name: string, address: string): Promise<void>
  setAvatar(name: string, avatar: string): Promise<void>
  /** Gives a name a resolver with this code. */
  setResolverCode(name: string, code: string): Promise<void>
  /** Exactly these bytes as the reverse record. */
  setNameBytes(address: string, digits: string): Promise<void>
}

export async function deployEns(chain: TestChain): Promise<TestEns> {
  await chain.setCode(REGISTRY, TABLE)
  await chain.setCode(RESOLVER, TABLE)

  /** Sets what a call of the contract with this calldata returns. */
  async function setResult(contract: string, calldata: string, result: string): Promise<void> {
    const slot = bytesToHex(keccak_256(hexToBytes(calldata)))
    const at = bytesToHex(keccak_256(hexToBytes(slot + contract.slice(2)))).slice(24)
    await chain.setCode(`0x${at}`, `0x${result}`)
    await chain.request('hardhat_setStorageAt', [contract, `0x${slot.replace(/^0+/, '')}`, `0x${at.padStart(64, '0')}`])
  }

  async function setNameBytes(address: string, digits: string): Promise<void> {
    const node = hashName(`${address.slice(2).toLowerCase()}.addr.reverse`).slice(2)
    await setResult(REGISTRY, `0178b8bf${node}`, word(RESOLVER))
    await setResult(RESOLVER, `691f3431${node}`, digits)
  }

  return {
    setNameBytes,
    setName: (address, name) => setNameBytes(address, abiString(name)),
    async setAddress(name, address) {
      const node = hashName(name).slice(2)
      await setResult(REGISTRY, `0178b8bf${node}`, word(RESOLVER))
      await setResult(RESOLVER, `3b3b57de${node}`, word(address))
    },
    async setAvatar(name, avatar) {
      const key = `${(64).toString(16).padStart(64, '0')}${abiString('avatar').slice(64)}`
      await setResult(RESOLVER, `59d1d43c${hashName(name).slice(2)}${key}`, abiString(avatar))
    },
    async setResolverCode(name, code) {
      await chain.setCode(OTHER_RESOLVER, code)
      await setResult(REGISTRY, `0178b8bf${hashName(name).slice(2)}`, word(OTHER_RESOLVER))
    },
  }
}

function word(address: string): string {
  return address.slice(2).toLowerCase().padStart(64, '0')
}

/** ABI `string` as the only result: the offset, the length, the bytes. */
export function abiString(text: string): string {
  const digits = Buffer.from(text, 'utf8').toString('hex')
  const size = (digits.length / 2).toString(16).padStart(64, '0')
  return `${'20'.padStart(64, '0')}${size}${digits.padEnd(Math.ceil(digits.length / 64) * 64, '0')}`
}

/** `chain` has ENS, which the tests of a file write through `ens`. `beside` is a second endpoint of the chain. */
export const ensTest = test
  .extend(
    'chain',
    FILE,
    started(
      () => startChain({ chainId: 1 }),
      (chain) => chain.close(),
    ),
  )
  .extend('beside', FILE, ({ chain }) => chain.openRpc())
  .extend('ens', FILE, ({ chain }) => deployEns(chain))
