/**
 * What approvals need of a store: one row for each action that an API asked the user to sign. The row is on the machine of its grant, so the
 * statement that uses an approval also reads whether the grant has ended.
 */
import type { Address } from '../../protocol/wallet/address.ts'

/** `id`: a UUID that is derived from the API and its key of the action, so that an action that is asked for again is the same row. */
export type ApprovalKey = { grantId: string; id: string }

/** What the API asked for. Only an answer and a use change the row. */
export type NewApproval = ApprovalKey & {
  /** the client of the API that asked */
  clientId: string
  /** the client of the grant, and then, for an exchanged token (RFC 8693), the clients that acted for it */
  apps: string[]
  wallet: Address
  scope: string
  summary: string
  /** SHA-256 of the action, base64url */
  digest: string
  userCode: string
  expiresAt: number
}

export type Approval = NewApproval & {
  askedAt: number
  /** when the user signed or declined */
  answeredAt: number | null
  /** the receipt of the signature; null if the user has not answered, or has declined */
  receiptId: string | null
  /** true if the user declined and wants no more questions from this grant; `expiresAt` is then the end of the grant */
  isLast: boolean
  usedAt: number | null
}

/** How often the apps of one grant have asked, for `decideAsk` (`approvals.ts`). */
export type AskedBefore = {
  /** not answered and not expired */
  waiting: number
  /** asked after `since` */
  asked: number
  /** when the user last declined; 0 if the user has not declined */
  lastDeclinedAt: number
  /** declined within the hour that ended at `lastDeclinedAt`, the last one included */
  declined: number
  /** when the first of `asked` was asked; 0 if none was */
  firstAskedAt: number
  /** whether the user wants no more questions from this grant */
  isLast: boolean
}

/** `receiptId` is null if the user declined. `isLast`: the user declined and wants no more questions from this grant. */
export type ApprovalAnswer = { receiptId: string | null; isLast: boolean; at: number }

/** `signedFor`: for how many seconds after the signature the approval can be used. */
export type ApprovalUse = { clientId: string; attemptId: string; signedFor: number; at: number }

export type UseOutcome =
  /** this attempt used the approval, now or in an earlier try whose result was lost */
  | { kind: 'used'; approval: Approval }
  /** another attempt used it */
  | { kind: 'used_before' }
  /** not signed, not signed within the last `signedFor` seconds, or the grant has ended or expired; the row is unchanged */
  | { kind: 'not_usable'; approval: Approval }
  | { kind: 'unknown' }

export interface ApprovalStore {
  /** Null for an unknown approval. */
  readApproval(key: ApprovalKey): Promise<Approval | null>
  /** Counts the approvals of one grant. `since`: in epoch seconds. */
  readAskedBefore(grantId: string, times: { since: number; at: number }): Promise<AskedBefore>
  /** The approvals of a wallet that wait for an answer and whose grant has neither ended nor expired, the newest first. */
  listWaiting(wallet: Address, page: { at: number; limit: number }): Promise<Approval[]>
  /** The approval with these letters that waits for an answer; null if there is none. */
  findByUserCode(userCode: string, at: number): Promise<Approval | null>
  /**
   * Inserts the approval, unless its key exists or its grant has ended or expired. Returns the row of the key, whatever its other values are;
   * null if the grant has ended or expired and the key does not exist.
   */
  ask(approval: NewApproval, at: number): Promise<Approval | null>
  /**
   * Stores the answer of the user. If several answers race, exactly one is stored; the first answer stays. If its result was lost, the repeated call returns
   * `answered` again. `isLast` makes `expiresAt` the end of the grant, so that the row lives as long. `too_late`: expired without an answer.
   */
  answer(key: ApprovalKey, answer: ApprovalAnswer): Promise<'answered' | 'answered_before' | 'too_late' | 'unknown'>
  /** If several uses race, exactly one attempt gets `used`. If its result was lost, the repeated attempt gets `used` again, also after the end of the grant. */
  useApproval(key: ApprovalKey, use: ApprovalUse): Promise<UseOutcome>
  /** Those of the approvals that have an answer. One query for all. */
  findAnswered(keys: readonly ApprovalKey[]): Promise<ApprovalKey[]>
}
