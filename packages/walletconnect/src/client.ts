/**
 * A wallet on another device, or in another app of this device, as an EIP-1193 provider: `@walletconnect/sign-client` with one method,
 * `personal_sign`. The login page loads this file after the click on WalletConnect (`packages/server/src/pages/browser/walletconnect.js`).
 */
import { encodeQR } from 'qr'
import { type Connection, connect, failure, type Options } from './connection.ts'

type Call = { method: string; params?: unknown[] }

export type Wallet = {
  request(call: Call): Promise<unknown>
  /** The user no longer waits for a wallet. */
  cancel(): void
  on(event: string, listener: (accounts: string[]) => void): void
  removeListener(event: string, listener: (accounts: string[]) => void): void
}

export type WalletOptions = Omit<Options, 'show' | 'changed'> & {
  /** Shows the link that a wallet scans or opens. Called with null when the page no longer waits for a wallet. */
  show(link: { uri: string; picture: string } | null): void
}

export function createWallet({ show, ...options }: WalletOptions): Wallet {
  const listeners = new Set<(accounts: string[]) => void>()
  let waiting = new AbortController()
  let connection: Connection | undefined

  const open = async (): Promise<Connection> => {
    waiting.abort()
    const mine = new AbortController()
    waiting = mine
    await connection?.end()
    connection = undefined
    const showUri = (uri: string): void => show({ uri, picture: encodeQR(uri, 'data-url', { ecc: 'low', border: 4 }) })
    const changed = (accounts: string[]): void => listeners.forEach((listener) => listener(accounts))
    try {
      return await connect({ ...options, show: showUri, changed }, mine.signal)
    } finally {
      // A second click has begun another attempt, whose link stays
      if (waiting === mine) show(null)
    }
  }

  return {
    async request({ method, params = [] }) {
      if (method === 'eth_requestAccounts') {
        connection = await open()
        return connection.accounts()
      }
      if (!connection) throw failure(4900)
      if (method === 'eth_chainId') return `0x${connection.chainId().toString(16)}`
      if (method !== 'personal_sign') throw failure(4200)
      const signature = await connection.sign(params)
      // One signature is all that the page needs. The wallet then shows no open session
      await connection.end()
      return signature
    },
    cancel: () => waiting.abort(),
    on: (event, listener) => void (event === 'accountsChanged' && listeners.add(listener)),
    removeListener: (_event, listener) => void listeners.delete(listener),
  }
}
