/** A wallet extension for pages that Playwright opens. */
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { TestWallet } from './wallets.ts'

/** `slow` signs after `slowMs`, `hang` never answers, and `refuse` is a user who refuses the signature (EIP-1193, code 4001). */
export type WalletAnswer = 'sign' | 'refuse' | 'slow' | 'hang'

type Announced = { binding: string; info: { uuid: string; name: string; icon: string; rdns: string } }

/** The part of a page, or of a browser context, of Playwright that is used. */
export type PlaywrightPage = {
  exposeFunction(name: string, callback: (host: string, method: string, params: string[]) => Promise<unknown>): Promise<unknown>
  addInitScript(script: (announced: Announced) => void, announced: Announced): Promise<unknown>
}

export type TestWalletOptions = {
  account: TestWallet
  /** `sign` unless given */
  answer?: WalletAnswer
  /** milliseconds before the answer `slow`; 2000 unless given */
  slowMs?: number
  /** the name in the list of the login page; "Test Wallet" unless given */
  name?: string
  /** the EIP-155 chain; 1 unless given */
  chainId?: number
}

export type InstalledTestWallet = {
  /** how the wallet answers the next request for a signature */
  answer: WalletAnswer
  /** the texts of all requests for a signature, in order */
  readonly requested: readonly string[]
}

/** EIP-1193, and EIP-1474 for internal errors */
const CODES = { refused: 4001, unauthorized: 4100, unsupported: 4200, internal: -32603 }

type Reply = { result: unknown } | { code: number }

let installed = 0

/**
 * Installs a wallet in every document that `page` opens from now on. Several calls install several wallets.
 *
 * The wallet announces itself by EIP-6963, and refuses a text that names another site than the page's, as real wallets do.
 */
export async function installTestWallet(page: PlaywrightPage, options: TestWalletOptions): Promise<InstalledTestWallet> {
  const { account, answer = 'sign', slowMs = 2000, name = 'Test Wallet', chainId = 1 } = options
  installed += 1
  const binding = `grantorTestWallet${installed}`
  const requested: string[] = []
  const wallet = { answer, requested }
  const sign = async (host: string, [hex = '', address = '']: string[]): Promise<Reply> => {
    const message = Buffer.from(hex.replace(/^0x/, ''), 'hex').toString('utf8')
    requested.push(message)
    if (address.toLowerCase() !== account.address.toLowerCase()) return { code: CODES.unauthorized }
    if (!message.startsWith(`${host} wants you to sign in`)) return { code: CODES.internal }
    if (wallet.answer === 'refuse') return { code: CODES.refused }
    if (wallet.answer === 'hang') return new Promise(() => {})
    if (wallet.answer === 'slow') await pauseFor(slowMs, undefined, { ref: false })
    return { result: account.sign(message) }
  }
  await page.exposeFunction(binding, async (host, method, params): Promise<Reply> => {
    if (method === 'eth_chainId') return { result: `0x${chainId.toString(16)}` }
    if (method === 'eth_accounts' || method === 'eth_requestAccounts') return { result: [account.address.toLowerCase()] }
    return method === 'personal_sign' ? sign(host, params) : { code: CODES.unsupported }
  })
  const uuid = `00000000-0000-4000-8000-${String(installed).padStart(12, '0')}`
  await page.addInitScript(announceWallet, { binding, info: { uuid, name, icon: ICON, rdns: `test.grantor.wallet${installed}` } })
  return wallet
}

/** A picture of one pixel: EIP-6963 needs an icon. */
const ICON =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** What the script uses of a page. */
type InPage = {
  location: { host: string }
  CustomEvent: new (name: string, init: { detail: unknown }) => object
  dispatchEvent(event: object): void
  addEventListener(name: string, listener: () => void): void
}

/** Runs in the page, and so uses nothing else of this file: the provider (EIP-1193) and the announcement (EIP-6963). */
function announceWallet({ binding, info }: Announced): void {
  const page = globalThis as unknown as InPage
  const functions = globalThis as unknown as Record<string, (...args: unknown[]) => Promise<{ result: unknown; code?: number }>>
  const provider = {
    async request({ method, params = [] }: { method: string; params?: unknown[] }) {
      const reply = await functions[binding]?.(page.location.host, method, params)
      if (reply?.code !== undefined) throw Object.assign(new Error('The test wallet refused.'), { code: reply.code })
      return reply?.result
    },
    on() {},
    removeListener() {},
  }
  const announce = () =>
    page.dispatchEvent(
      new page.CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info: Object.freeze(info), provider }) }),
    )
  page.addEventListener('eip6963:requestProvider', announce)
  announce()
}
