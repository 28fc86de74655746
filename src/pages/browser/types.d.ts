/** What the browser scripts pass to each other. Only for the type checker: no browser loads this file. */

/** An EIP-1193 provider. */
export type Provider = {
  request(call: { method: string; params?: unknown[] }): Promise<unknown>
  on?(event: string, listener: (value: unknown) => void): void
  removeListener?(event: string, listener: (value: unknown) => void): void
}

export type Wallet = { key: string; rdns: string; name: string; icon: string | null; provider: Provider }

/** What the login server said: of the body, the part that belongs to what was asked. `retryAfter` in seconds. */
export type Refused = { kind: 'refused'; status: number; error: string; retryAfter: number }
export type Answer =
  | { kind: 'answered'; body: { message: string; redirect_to: string; status: 'open' | Ending } }
  | Refused
  | { kind: 'unreachable' }

export type Ending = 'expired' | 'already_used' | 'continued_elsewhere'

/** The text on the page, for whom, and for which scopes; the signature once there is one. */
export type Step = {
  wallet: Wallet
  accounts: string[]
  address: string
  chainId: number
  scope: string | undefined
  message: string
  signature?: string
}

/** What the person sees; `login.js` makes it. */
export type View = {
  tell(word: string, names?: Record<string, string>): void
  complain(word: string, names?: Record<string, string>): void
  choose(): void
  review(step: Step): void
  /** While a signature is on its way, what it allows cannot be changed. */
  lock(on: boolean): void
  /** The signature is there and could not be checked yet: the button sends it again. */
  keep(): void
  end(kind: Ending): void
  leave(to: string): void
}

export type SignInOptions = {
  view: View
  loginChallenge: string
  chainIds: number[]
  /** Names with a space between them; undefined where nothing can be chosen. */
  chosenScope(): string | undefined
}

export type WalletWatch = { legacyName: string; show(wallets: Wallet[]): void }
