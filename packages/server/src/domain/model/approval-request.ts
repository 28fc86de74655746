/** What a wallet is asked to sign once, as a login challenge carries it. The text to sign is composed from this alone. */
import type { Address } from '../../protocol/wallet/address.ts'
import type { ApprovalKey } from './approval-store.ts'

export type ApprovalRequest = ApprovalKey & {
  /** the client that the user allowed */
  appId: string
  /** the client of the API that asks */
  apiId: string
  /** the API */
  resource: string
  scope: string
  summary: string
  /** SHA-256 of the action, base64url */
  digest: string
  /** the only wallet that can sign */
  wallet: Address
  expiresAt: number
}
