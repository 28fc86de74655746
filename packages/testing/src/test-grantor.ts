/** What a test gives to a test issuer and gets from it. */
import type { TokenResponse } from 'grantor/private'
import type { TestClock } from './clock.ts'
import type { Faults } from './faults.ts'
import type { ClientEntry, ResourceEntry, TestClient } from './records.ts'
import type { TestWallet } from './wallets.ts'

export type TestGrantorOptions = {
  /** as in the file of `grantor apply`; one client named "Test app" unless given */
  clients?: readonly ClientEntry[]
  /** as in the file of `grantor apply` */
  resources?: readonly ResourceEntry[]
  /** private keys of wallets; the three public test accounts of Hardhat and Anvil unless given */
  wallets?: readonly string[]
  /** the clock in epoch seconds; that of the machine unless given. `clock.advance` adds to it. */
  now?: () => number
  /** the first of two ports in a row, for the auth service and the login server; free ports unless given */
  port?: number
  /** settings of docs/reference/settings.md, such as `{ GRANTOR_ACCESS_TOKEN_LIFETIME: '60' }` */
  settings?: Readonly<Record<string, string | undefined>>
  /** receives each line of the log, as JSON; nothing is logged unless given */
  log?: (line: string) => void
}

export type TokenRequest = {
  /** the wallet or an address; the first wallet unless given */
  wallet?: TestWallet | string | undefined
  /** the name or the id of the client; the first one unless given */
  client?: string | undefined
  /** names with a space between them; the client's default scopes unless given */
  scope?: string | undefined
  /** the resource of the token; the client's first one unless given */
  resource?: string | undefined
}

export type TestGrantor = {
  readonly issuer: string
  readonly loginUrl: string
  /** the URL of the control endpoint; null unless the command opened it */
  readonly controlUrl: string | null
  readonly clients: readonly TestClient[]
  /** The client with this name or id; the first one unless given. */
  client(nameOrId?: string): TestClient
  readonly wallets: readonly TestWallet[]
  readonly clock: TestClock
  readonly faults: Faults
  /** A token, after the whole flow over HTTP, without the ordered faults. */
  tokenFor(request?: TokenRequest): Promise<TokenResponse>
  /** Closes the servers and removes the database. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
