/** Types of the values that the browser scripts exchange. Only for the type checker: no browser loads this file. */

/** An EIP-1193 provider. */
export type Provider = {
  request(call: Call): Promise<unknown>
  on?(event: string, listener: (value: unknown) => void): void
  removeListener?(event: string, listener: (value: unknown) => void): void
}

export type Call = { method: string; params?: unknown[] }

export type Wallet = { key: string; rdns: string; name: string; icon: string | null; provider: Provider }

/** A response of the login server, with the body of the requested path. `retryAfter` in seconds. */
export type Refused = { kind: 'refused'; status: number; error: string; retryAfter: number }
export type Answer =
  | { kind: 'answered'; body: { message: string; translation: string[]; redirect_to: string; status: 'open' | Ending } }
  | Failure
export type Failure = Refused | { kind: 'unreachable' }

export type Ending = 'expired' | 'already_used' | 'continued_elsewhere' | 'signed_on_other_device'

/** The text on the page with its account and scopes, and the signature once there is one. */
export type Step = {
  wallet: Wallet
  accounts: string[]
  address: string
  /** What both requests to the login server have. */
  fields: object
  message: string
  /** In the language of the page; empty in English. */
  translation: string[]
  signature?: string
}

/** The page as the user sees it; `login.js` implements it. */
export type View = {
  report(word: string, names?: Record<string, string>): void
  warn(word: string, names?: Record<string, string>): void
  choose(): void
  review(step: Step): void
  /** While a signature is sent, the scopes cannot be changed. */
  lock(on: boolean): void
  /** The signature could not be checked yet: the button sends it again. */
  keep(): void
  end(kind: Ending): void
  leave(to: string): void
}

export type SignInOptions = {
  view: View
  loginChallenge: string
  chainIds: number[]
  /** The only account that can sign, as `0xf39f…2266` in lower case; undefined if any can. */
  signer: string | undefined
  /** The names of the scopes with a space between them, and the numbers of the limit as they were typed; undefined if the user cannot choose. */
  chosen(): { scope: string | undefined; limit: Record<string, string> | undefined }
}

export type WalletWatch = { legacyName: string; show(wallets: Wallet[]): void }
