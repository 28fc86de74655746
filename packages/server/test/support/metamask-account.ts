/**
 * MetaMask Smart Accounts on a local chain, made with MetaMask's own contracts: accounts whose owner is a passkey (`HybridDeleGator`),
 * and the contract to which a key's account delegates (`EIP7702StatelessDeleGator`).
 */

import {
  EIP7702StatelessDeleGator,
  ERC1967Proxy,
  HybridDeleGator,
  SCL_RIP7212,
  SimpleFactory,
} from '@metamask/delegation-abis/bytecode'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Address } from '../../src/protocol/wallet/address.ts'
import type { TestChain } from './chain.ts'
import type { Assertion, Passkey } from './passkey.ts'
import type { TestWallet } from './wallet.ts'
import { abiCall, abiEncode, create2Address, digits, hashMessage, word, wrapSignature } from './wallet-contracts.ts'

/** The placeholder of a library's address in the code of `HybridDeleGator`. The library checks P-256 signatures without a precompile. */
const LIBRARY = /__\$b8f96b288d4d0429e38b8ed50fd423070f\$__/g
const SALT = '00'.repeat(32)
/** The contracts for transactions: no part of a check of a signature. */
const UNUSED = [word(1), word(2)]

export type PasskeyAccount = {
  /** Signs with the passkey. */
  wallet: TestWallet
  /** The same account before it is deployed: signs with the wrapper of ERC-6492. */
  undeployed: TestWallet
  /** Adds the wrapper of ERC-6492 to a signature. */
  wrap(signature: string): string
  /** What the passkey signs for a text. */
  challengeOf(message: string): Uint8Array
  /** The assertion of a passkey, in the form of this account. */
  signatureOf(assertion: Assertion): string
  deploy(): Promise<void>
  /** Replaces the owner, as the account does when its owner asks for it. */
  changeOwner(to: Passkey): Promise<void>
}

export type MetaMaskContracts = {
  accountOf(owner: Passkey): PasskeyAccount
  /** The contract to which accounts delegate (EIP-7702). */
  delegate: Address
}

/** Deploys the contracts of MetaMask, once for each chain. */
export async function metaMaskContracts(chain: TestChain): Promise<MetaMaskContracts> {
  const library = await chain.deploy(SCL_RIP7212)
  const implementation = await chain.deploy(HybridDeleGator.replace(LIBRARY, digits(library)) + abiEncode(UNUSED))
  const delegate = await chain.deploy(EIP7702StatelessDeleGator + abiEncode(UNUSED))
  const factory = await chain.deploy(SimpleFactory)

  function accountOf(owner: Passkey): PasskeyAccount {
    const initCode = ERC1967Proxy + abiEncode([implementation, { bytes: signers('initialize', owner) }])
    const address = create2Address(factory, initCode)
    const factoryCall = abiCall('deploy(bytes,bytes32)', [{ bytes: initCode }, SALT])
    const signatureOf = (assertion: Assertion): string => encodeAssertion(owner, assertion)
    const wallet: TestWallet = { address, sign: (message) => signatureOf(owner.assert(hashMessage(message))) }
    const wrap = (signature: string): string => wrapSignature(factory, factoryCall, signature)
    return {
      wallet,
      undeployed: { address, sign: (message) => wrap(wallet.sign(message)) },
      wrap,
      challengeOf: hashMessage,
      signatureOf,
      deploy: () => chain.send(factory, factoryCall),
      changeOwner: (to) => chain.sendAs(address, address, signers('updateSigners', to)),
    }
  }
  return { accountOf, delegate }
}

/** The call that makes a passkey the only owner: no address, one key id, its x, its y. */
function signers(name: 'initialize' | 'updateSigners', { id, x, y }: Passkey): string {
  return abiCall(`${name}(address,string[],uint256[],uint256[])`, [
    word(0),
    { list: [{ text: id }] },
    { list: [x] },
    { list: [y] },
  ])
}

/** The account's form of an assertion: the hash of the key's id, the signature, and the client data around the challenge. */
function encodeAssertion(owner: Passkey, { authenticatorData, clientDataJSON, r, s }: Assertion): string {
  const [before = '', after = ''] = clientDataJSON.split(/(?<="challenge":")[^"]+/)
  const keyId = bytesToHex(keccak_256(utf8ToBytes(owner.id)))
  const [verified, typeAt] = [word(1), word(clientDataJSON.indexOf('"type"'))]
  return `0x${abiEncode([keyId, r, s, { bytes: authenticatorData }, verified, { text: before }, { text: after }, typeAt])}`
}
