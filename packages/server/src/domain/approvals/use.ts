/** The API acts: an approval is used once, by one attempt. */
import { alreadyUsed, notApproved, unknownApproval } from '../../protocol/oauth/oauth-error.ts'
import { openReceipt, type SignedMessage } from '../consent/receipt.ts'
import type { Approval } from '../model/approval-store.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { scopesAt } from '../resources/scopes-at.ts'
import { findParties } from './answer.ts'
import { readApprovalId, writeApprovalId } from './approval-id.ts'
import { type ApprovalState, readState, USED_WITHIN } from './state.ts'

/** What `grantor verify-receipt` checks. */
export type ApprovalReceipt = SignedMessage & { address: string; chain_id: number }

export type UsedApproval = { approval_id: string; state: 'used'; used_at: number | null; receipt: ApprovalReceipt | null }

/** The approval that this API asked for. @throws OAuthError if there is none */
export async function readOwnApproval(deps: Deps, api: Client, wireId: string): Promise<Approval> {
  const key = readApprovalId(wireId)
  const approval = key && (await deps.store.approvals.readApproval(key))
  if (approval?.clientId !== api.id) throw unknownApproval()
  return approval
}

/** @throws OAuthError for every refusal */
export async function useApproval(
  deps: Deps,
  api: Client,
  { wireId, attemptId }: { wireId: string; attemptId: string },
): Promise<UsedApproval> {
  const before = await readOwnApproval(deps, api, wireId)
  // An attempt that used the approval before gets its answer.
  if (before.usedAt === null && !(await isStillAllowed(deps, before))) throw notApproved('ended')
  const { grantId, id } = before
  const use = { clientId: api.id, attemptId, signedFor: USED_WITHIN, at: deps.now() }
  const outcome = await deps.store.approvals.useApproval({ grantId, id }, use)
  if (outcome.kind === 'unknown') throw unknownApproval()
  if (outcome.kind === 'used_before') throw alreadyUsed()
  if (outcome.kind === 'not_usable') throw notApproved(await explain(deps, outcome.approval))
  const { approval } = outcome
  const approvalId = writeApprovalId(approval)
  if (before.usedAt === null) {
    const details = { approval_id: approvalId }
    deps.audit({ event: 'approval_used', client_id: api.id, grant_id: grantId, wallet: approval.wallet, details })
  }
  return { approval_id: approvalId, state: 'used', used_at: approval.usedAt, receipt: await readReceiptOf(deps, approval) }
}

/** Nothing may be done for a client that is disabled or that lost the scope, because such a client would get no token. */
async function isStillAllowed(deps: Deps, approval: Approval): Promise<boolean> {
  const parties = await findParties(deps, approval)
  if (!parties) return false
  const { resource, apps } = parties
  return apps.every((app) => scopesAt(deps, app, resource, app.scopes).includes(approval.scope))
}

/** Why the store changed nothing. A signed approval was not used because its grant has ended. */
async function explain(deps: Deps, found: Approval): Promise<Exclude<ApprovalState, 'signed' | 'used'>> {
  const state = await readState(deps, found)
  return state === 'signed' || state === 'used' ? 'ended' : state
}

/** Null if the user has not signed, or if the key that sealed the receipt is retired. */
export async function readReceiptOf({ store, keys }: Deps, { wallet, receiptId }: Approval): Promise<ApprovalReceipt | null> {
  const receipt = receiptId === null ? null : await store.receipts.readReceipt(wallet, receiptId)
  const signed = receipt && openReceipt(keys, receipt)
  return signed ? { ...signed, address: wallet, chain_id: receipt.chainId } : null
}
