/** The row of an approval, the same in both engines. */
import type { Approval, NewApproval } from '../domain/model/approval-store.ts'
import { DECLINED_WITHIN, type UsableApproval } from '../domain/model/approvals.ts'
import { listText, readList } from './list-text.ts'
import { pack, unpack, unpackNullable } from './packed.ts'

/** The types that are `Uint8Array` are packed. SQLite has 0 or 1 for a boolean. */
export type ApprovalRow = {
  grant_id: Uint8Array
  id: Uint8Array
  client_id: Uint8Array
  wallet: Uint8Array
  digest: Uint8Array
  receipt_id: Uint8Array | null
  apps: string
  user_code: string
  scope: string
  summary: string
  asked_at: number
  expires_at: number
  answered_at: number | null
  used_at: number | null
  is_last: boolean | number
}

/** The columns have the name of their table, because a statement can also read the grant. */
export const APPROVAL_COLUMNS = [
  'grant_id',
  'id',
  'client_id',
  'wallet',
  'digest',
  'receipt_id',
  'apps',
  'user_code',
  'scope',
  'summary',
  'asked_at',
  'expires_at',
  'answered_at',
  'used_at',
  'is_last',
]
  .map((column) => `approvals.${column}`)
  .join(', ')

/** What `decideUse` needs. */
export type UsableRow = ApprovalRow & { attempt_id: Uint8Array | null; is_alive: boolean | number }

export function approvalOf(row: ApprovalRow): Approval {
  return {
    grantId: unpack(row.grant_id),
    id: unpack(row.id),
    clientId: unpack(row.client_id),
    wallet: unpack(row.wallet) as Approval['wallet'],
    digest: unpack(row.digest),
    receiptId: unpackNullable(row.receipt_id),
    apps: readList(row.apps),
    userCode: row.user_code,
    scope: row.scope,
    summary: row.summary,
    askedAt: row.asked_at,
    expiresAt: row.expires_at,
    answeredAt: row.answered_at,
    usedAt: row.used_at,
    isLast: Boolean(row.is_last),
  }
}

export function usableOf(row: UsableRow): UsableApproval {
  return { approval: approvalOf(row), usedBy: unpackNullable(row.attempt_id), isAlive: Boolean(row.is_alive) }
}

/** The values of a new row: the parameters of the insert, by their names. */
export function newApprovalRow(approval: NewApproval) {
  return {
    grantId: pack(approval.grantId),
    id: pack(approval.id),
    clientId: pack(approval.clientId),
    wallet: pack(approval.wallet),
    digest: pack(approval.digest),
    apps: listText(approval.apps),
    userCode: approval.userCode,
    scope: approval.scope,
    summary: approval.summary,
    expiresAt: approval.expiresAt,
  }
}

/**
 * The query for `AskedBefore` of one grant. The arguments are the parameters in the form of the engine, and whether one row has `is_last`: SQLite has no
 * booleans. A row that was declined has an answer and no receipt.
 */
export const askedBefore = ({ grantId, since, isLast }: { grantId: string; since: string; isLast: string }): string => `
  SELECT count(*) FILTER (WHERE answered_at IS NULL AND expires_at > :at) AS "waiting",
         count(*) FILTER (WHERE asked_at > ${since}) AS "asked",
         coalesce(min(asked_at) FILTER (WHERE asked_at > ${since}), 0) AS "firstAskedAt",
         count(*) FILTER (WHERE declined_at > last_declined_at - ${DECLINED_WITHIN}) AS "declined",
         coalesce(max(last_declined_at), 0) AS "lastDeclinedAt",
         ${isLast} AS "isLast"
  FROM (
    SELECT asked_at, expires_at, answered_at, is_last, declined_at, max(declined_at) OVER () AS last_declined_at
    FROM (
      SELECT asked_at, expires_at, answered_at, is_last, CASE WHEN receipt_id IS NULL THEN answered_at END AS declined_at
      FROM approvals WHERE grant_id = ${grantId}) AS of_grant) AS with_last`
