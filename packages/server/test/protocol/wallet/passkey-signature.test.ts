/** Wallets whose owner is a passkey (WebAuthn, P-256) on a local chain, with the published contracts of smart wallets. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerGas } from '../../../src/protocol/wallet/check-code.ts'
import { startChain, type TestChain } from '../../support/chain.ts'
import { metaMaskContracts, type PasskeyAccount } from '../../support/metamask-account.ts'
import { passkey } from '../../support/passkey.ts'
import { abiCall, hashMessage } from '../../support/wallet-contracts.ts'
import { message, verifierAt } from './ask-wallet.ts'
import { coinbaseContracts } from './coinbase-account.ts'

const alice = passkey('alice')
const bob = passkey('bob')
const record = process.env.TEST_COINBASE_WALLET

const products = [
  { product: 'MetaMask Smart Account', accounts: async (chain: TestChain) => (await metaMaskContracts(chain)).accountOf },
  ...(record ? [{ product: 'Coinbase Smart Wallet', accounts: (chain: TestChain) => coinbaseContracts(chain, record) }] : []),
]
const chains = [
  { with: 'with the P-256 precompile (EIP-7951)', p256: true },
  { with: 'without the P-256 precompile', p256: false },
]

describe.each(products.flatMap((product) => chains.map((chain) => ({ ...product, ...chain }))))(
  'A $product of a passkey, on a chain $with',
  ({ accounts, p256 }) => {
    let chain: TestChain
    let verify: ReturnType<typeof verifierAt>
    let account: PasskeyAccount
    beforeAll(async () => {
      chain = await startChain({ p256 })
      verify = verifierAt(chain.chainId, chain)
      account = await (await accounts(chain))(alice)
    })
    afterAll(() => chain.close())

    test('The signature of the passkey is valid before the wallet is deployed, and leaves its address without code (ERC-6492)', async () => {
      const { address, sign } = account.undeployed
      expect(await verify(address, sign(message))).toEqual({ kind: 'valid' })
      expect(await verify(address, account.wallet.sign(message))).toEqual({ kind: 'not_proven' })
      expect(await chain.request('eth_getCode', [address, 'latest'])).toBe('0x')
    })

    test('The signature of the passkey is valid for the deployed wallet, and that of another passkey or text is not (ERC-1271)', async () => {
      await account.deploy()
      const { address, sign } = account.wallet
      expect(await verify(address, sign(message))).toEqual({ kind: 'valid' })
      expect(await verify(address, account.signatureOf(bob.assert(account.challengeOf(message))))).toEqual({ kind: 'not_proven' })
      expect(await verify(address, sign(`${message} `))).toEqual({ kind: 'not_proven' })
    })

    test('The signature of the passkey needs less than a fifth of the gas limit of the check', async () => {
      const { address, sign } = account.wallet
      const hash = Buffer.from(hashMessage(message)).toString('hex')
      const data = abiCall('isValidSignature(bytes32,bytes)', [hash, { bytes: sign(message) }])
      const gas = Number(await chain.request('eth_estimateGas', [{ to: address, data }]))
      expect(gas).toBeLessThan(answerGas / 5)
    })

    test('The signature of a passkey that was replaced is no longer valid', async () => {
      await account.changeOwner(bob)
      const { address, sign } = account.wallet
      expect(await verify(address, sign(message))).toEqual({ kind: 'not_proven' })
    })
  },
)
