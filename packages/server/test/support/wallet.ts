/** A wallet for tests: three well-known keys, and the behaviour of a wallet extension in a page. */
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Page } from 'playwright-core'

export type TestWallet = {
  /** EIP-55. */
  address: string
  /** ERC-191 `personal_sign`: 65 bytes in hex, low s, v 27 or 28. */
  sign(message: string): string
}

/** The first accounts of every local Ethereum chain (Hardhat, Anvil): their keys are public. */
const ACCOUNTS = [
  ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'],
  ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'],
  ['0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', '5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'],
] as const

export function testWallet(index: 0 | 1 | 2): TestWallet {
  const [address, key] = ACCOUNTS[index]
  return { address, sign: (message) => personalSign(message, hexToBytes(key)) }
}

function personalSign(message: string, key: Uint8Array): string {
  const bytes = utf8ToBytes(message)
  const hash = keccak_256(concatBytes(utf8ToBytes(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes))
  const [recovery = 0, ...rs] = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
  return `0x${bytesToHex(Uint8Array.from(rs))}${(27 + recovery).toString(16)}`
}

export type WalletPolicy =
  | 'sign'
  /** the user refuses the signature (4001) */
  | 'reject'
  /** has an earlier request open (-32002) */
  | 'pending'
  /** never responds to the request for a signature */
  | 'hang'
  /** signs with the high s of the same signature, which ECDSA accepts and the service refuses */
  | 'malleated'
  /** returns a value that is not a signature */
  | 'garbage'
  /** signs with another account's key */
  | 'another_account'
  /** switches to another account while the request for the first signature is open */
  | 'switches'
  /** shares no account */
  | 'locked'
  /** lost its connection (4900) */
  | 'disconnected'

export type InstalledWallet = {
  policy?: WalletPolicy
  announce?: 'eip6963' | 'late' | 'legacy' | 'none'
  name?: string
  icon?: string
  rdns?: string
  /** the response to eth_chainId; `0x1` if absent */
  chainId?: string
  /** the accounts that the wallet shares with the page, the chosen one first; only the wallet's own account if absent */
  accounts?: readonly TestWallet[]
}

/** The requests to the wallet in order, and its behaviour, which a test can change. */
export type Installation = {
  policy: WalletPolicy
  asked: string[]
  signed: string[]
  /** Switches the account, as its owner does. An empty list locks the wallet. */
  switchTo(accounts: readonly TestWallet[]): Promise<void>
}

let installed = 0

type Answer = { result: unknown } | { code: number }
/** An error with a code only, because the page must not depend on the messages of wallets. */
const refuse = (code: number): Answer => ({ code })

/**
 * Installs a wallet in every document that `page` opens from now on. Several calls install several wallets.
 *
 * The wallet behaves like MetaMask: accounts in lower case, and no signature over a text that names another site than the page's.
 */
export async function installWallet(page: Page, wallet: TestWallet, options: InstalledWallet = {}): Promise<Installation> {
  const binding = `testWallet${installed++}`
  let accounts = options.accounts ?? [wallet]
  const inLowerCase = (): string[] => accounts.map(({ address }) => address.toLowerCase())
  const state: Installation = {
    policy: options.policy ?? 'sign',
    asked: [],
    signed: [],
    async switchTo(chosen) {
      accounts = chosen
      const news = { event: `${binding}:accounts`, detail: inLowerCase() }
      await page.evaluate(({ event, detail }) => window.dispatchEvent(new CustomEvent(event, { detail })), news)
    },
  }

  await page.exposeFunction(binding, async (host: string, method: string, params: string[] = []): Promise<Answer> => {
    state.asked.push(method)
    const { policy } = state
    if (policy === 'disconnected') return refuse(4900)
    if (method === 'eth_chainId') return { result: options.chainId ?? '0x1' }
    if (method === 'eth_requestAccounts') return { result: policy === 'locked' ? [] : inLowerCase() }
    if (method !== 'personal_sign') return refuse(4200)

    const [hex = '', address = ''] = params
    const message = Buffer.from(hex.slice(2), 'hex').toString('utf8')
    const signer = accounts.find((account) => account.address.toLowerCase() === address.toLowerCase())
    state.signed.push(message)
    if (!message.startsWith(`${host} wants you to sign in`)) return refuse(-32603)
    if (!signer) return refuse(4100)
    switch (policy) {
      case 'reject':
        return refuse(4001)
      case 'pending':
        return refuse(-32002)
      case 'hang':
        return new Promise(() => {})
      case 'garbage':
        return { result: '0xnot' }
      case 'malleated':
        return { result: raiseS(signer.sign(message)) }
      case 'another_account':
        return { result: testWallet(1).sign(message) }
      case 'switches':
        state.policy = 'sign'
        await state.switchTo([testWallet(2)])
        return { result: signer.sign(message) }
      default:
        return { result: signer.sign(message) }
    }
  })
  await page.addInitScript(announceWallet, {
    binding,
    announce: options.announce ?? 'eip6963',
    info: {
      uuid: `00000000-0000-4000-8000-${String(installed).padStart(12, '0')}`,
      name: options.name ?? 'Test Wallet',
      icon:
        options.icon ??
        'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
      rdns: options.rdns ?? `test.wallet${installed}`,
    },
  })
  return state
}

/** Runs in the page: the EIP-1193 provider and its announcement (EIP-6963, or `window.ethereum`). */
function announceWallet({ binding, announce, info }: { binding: string; announce: string; info: Record<string, string> }): void {
  const provider = {
    async request({ method, params }: { method: string; params?: unknown[] }) {
      const answer = await (window as any)[binding](location.host, method, params)
      if ('code' in answer) throw Object.assign(new Error('Refused by the test wallet.'), { code: answer.code })
      return answer.result
    },
    on(event: string, listener: (accounts: string[]) => void) {
      if (event === 'accountsChanged')
        window.addEventListener(`${binding}:accounts`, (news) => listener((news as CustomEvent).detail))
    },
    removeListener() {},
  }
  const tell = () =>
    window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
  if (announce === 'legacy') (window as any).ethereum = provider
  if (announce === 'eip6963') window.addEventListener('eip6963:requestProvider', tell)
  if (announce === 'late') setTimeout(tell, 1500)
}

/** The other valid s of the same signature: n - s, with the other v. */
function raiseS(signature: string): string {
  const s = secp256k1.Point.Fn.ORDER - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}
