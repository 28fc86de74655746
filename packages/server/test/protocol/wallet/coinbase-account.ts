/**
 * Coinbase Smart Wallets on a local chain. Their contracts are in no npm package, so the tests read the record of their deployment
 * from a file (docs/contributing/release.md). The addresses in the record are computed from the code, so other code cannot take their place.
 */
import { readFile } from 'node:fs/promises'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { TestChain } from '../../support/chain.ts'
import type { PasskeyAccount } from '../../support/metamask-account.ts'
import type { Assertion, Passkey } from '../../support/passkey.ts'
import type { TestWallet } from '../../support/wallet.ts'
import {
  abiCall,
  abiEncode,
  checksummed,
  create2Factory,
  digits,
  hashMessage,
  word,
  wrapSignature,
} from '../../support/wallet-contracts.ts'

/** The contract that deployed the wallet's contracts on every chain, and the contract that creates the wallets. */
const DEPLOYER = '0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7'
const FACTORY = '0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a'

type DeploymentRecord = { transactions: { transaction: { input: string } }[] }

/** Deploys the contracts of the record, once for each chain. */
export async function coinbaseContracts(
  chain: TestChain,
  recordFile: string,
): Promise<(owner: Passkey) => Promise<PasskeyAccount>> {
  const { transactions } = JSON.parse(await readFile(recordFile, 'utf8')) as DeploymentRecord
  await chain.setCode(DEPLOYER, `0x${create2Factory}`)
  for (const { transaction } of transactions) await chain.send(DEPLOYER, transaction.input)
  return (owner) => accountOf(chain, owner)
}

async function accountOf(chain: TestChain, owner: Passkey): Promise<PasskeyAccount> {
  const ownerBytes = { bytes: owner.x + owner.y }
  const account = [{ list: [ownerBytes] }, word(0)]
  const call = { to: FACTORY, data: abiCall('getAddress(bytes[],uint256)', account) }
  const address = checksummed((await chain.request('eth_call', [call, 'latest'])).slice(-40))
  const factoryCall = abiCall('createAccount(bytes[],uint256)', account)
  const challengeOf = (message: string): Uint8Array => hashForAccount(chain.chainId, address, message)
  const wallet: TestWallet = { address, sign: (message) => encodeAssertion(owner.assert(challengeOf(message))) }
  const wrap = (signature: string): string => wrapSignature(FACTORY, factoryCall, signature)
  return {
    wallet,
    undeployed: { address, sign: (message) => wrap(wallet.sign(message)) },
    wrap,
    challengeOf,
    signatureOf: encodeAssertion,
    deploy: () => chain.send(FACTORY, factoryCall),
    async changeOwner({ x, y }) {
      await chain.sendAs(address, address, abiCall('addOwnerPublicKey(bytes32,bytes32)', [x, y]))
      await chain.sendAs(address, address, abiCall('removeOwnerAtIndex(uint256,bytes)', [word(0), ownerBytes]))
    },
  }
}

/** The hash that an owner signs: it names the wallet and the chain (EIP-712). */
function hashForAccount(chainId: number, address: string, message: string): Uint8Array {
  const domain = hashOf(
    hashText('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
    hashText('Coinbase Smart Wallet'),
    hashText('1'),
    word(chainId),
    digits(address).padStart(64, '0'),
  )
  const struct = hashOf(hashText('CoinbaseSmartWalletMessage(bytes32 hash)'), Buffer.from(hashMessage(message)).toString('hex'))
  return hexToBytes(hashOf('1901', domain, struct))
}

/** The signature of the first owner. */
function encodeAssertion({ authenticatorData, clientDataJSON, r, s }: Assertion): string {
  const [challengeAt, typeAt] = ['"challenge"', '"type"'].map((name) => word(clientDataJSON.indexOf(name))) as [string, string]
  const assertion = abiEncode([{ tuple: [{ bytes: authenticatorData }, { text: clientDataJSON }, challengeAt, typeAt, r, s] }])
  return `0x${abiEncode([{ tuple: [word(0), { bytes: assertion }] }])}`
}

function hashText(text: string): string {
  return Buffer.from(keccak_256(utf8ToBytes(text))).toString('hex')
}

function hashOf(...parts: string[]): string {
  return Buffer.from(keccak_256(hexToBytes(parts.join('')))).toString('hex')
}
