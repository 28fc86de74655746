/** The page's side of an approval: finding it, and storing the answer of the user. The first answer stays. */
import type { ApprovalRequest } from '../model/approval-request.ts'
import type { Approval, ApprovalKey } from '../model/approval-store.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { readApprovalId, writeApprovalId } from './approval-id.ts'
import { type ApprovalState, readState } from './state.ts'

/** Why an approval cannot be answered. */
export type ApprovalFault = 'approval_unknown' | `approval_${Exclude<ApprovalState, 'waiting'>}` | 'approval_client_unknown'

/** An approval that waits for an answer. */
export type OpenApproval = {
  request: ApprovalRequest
  api: Client
  /** the client that the user allowed, and then those that act for it */
  apps: [Client, ...Client[]]
  userCode: string
}

/** The approval in the address of the page. */
export async function openApproval(deps: Deps, wireId: string): Promise<OpenApproval | ApprovalFault> {
  const key = readApprovalId(wireId)
  const approval = key && (await deps.store.approvals.readApproval(key))
  return approval ? openStored(deps, approval) : 'approval_unknown'
}

/** As `openApproval`, for an approval that was read. */
export async function openStored(deps: Deps, approval: Approval): Promise<OpenApproval | ApprovalFault> {
  const state = await readState(deps, approval)
  if (state !== 'waiting') return `approval_${state}`
  const parties = await findParties(deps, approval)
  if (!parties) return 'approval_client_unknown'
  const { grantId, id, clientId: apiId, scope, summary, digest, wallet, expiresAt, userCode } = approval
  const { resource, api, apps } = parties
  const request = { grantId, id, appId: apps[0].id, apiId, resource, scope, summary, digest, wallet, expiresAt }
  return { request, api, apps, userCode }
}

/** Null if the API or one of the clients is disabled. */
export async function findParties(
  { clients }: Deps,
  { clientId, apps: ids }: Pick<Approval, 'clientId' | 'apps'>,
): Promise<{ api: Client; resource: string; apps: [Client, ...Client[]] } | null> {
  const found: Client[] = []
  for (const id of [clientId, ...ids]) {
    const client = await clients.findEnabled(id, null)
    if (!client) return null
    found.push(client)
  }
  const [api, app, ...actors] = found
  return api?.resourceServer && app ? { api, resource: api.resourceServer, apps: [app, ...actors] } : null
}

/** `isLast`: the user wants no more questions from this grant. Declining needs no signature: every holder of the link may do so. */
export type UserAnswer = { receiptId: string } | { receiptId: null; isLast: boolean }

/** Why the answer was not stored; null if it was. */
export async function answerApproval(
  deps: Deps,
  request: ApprovalKey & Pick<ApprovalRequest, 'apiId' | 'wallet'>,
  answer: UserAnswer,
): Promise<'answered_before' | 'too_late' | null> {
  const { grantId, id, apiId, wallet } = request
  const isLast = answer.receiptId === null && answer.isLast
  const outcome = await deps.store.approvals.answer({ grantId, id }, { receiptId: answer.receiptId, isLast, at: deps.now() })
  deps.approvalWaits.wake(request)
  if (outcome !== 'answered') return outcome === 'answered_before' ? outcome : 'too_late'
  const details = { approval_id: writeApprovalId(request), ...(isLast ? { no_more: 1 } : {}) }
  const line = { client_id: apiId, grant_id: grantId, wallet, details }
  if (answer.receiptId !== null) await deps.audit({ event: 'approval_signed', ...line })
  else deps.audit({ event: 'approval_declined', reason: 'user_declined', ...line })
  return null
}
