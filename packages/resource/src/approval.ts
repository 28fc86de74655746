/** Asks the wallet of a user to sign one action, through the authorization server. */
import { isActionName, isSummary } from '@grantor/protocol/approval'
import { digestOfAction } from '@grantor/protocol/canonical-json'
import { type ApprovalState, isApprovalState, type OpenApproval, refuseApproval } from './approval-error.ts'
import { type IssuerAnswer, readAnswer, sendAgainIfLost } from './ask-issuer.ts'
import { basicCredentials, type IntrospectionCredentials } from './introspection.ts'
import { type IssuerMetadata, isSecureUrl } from './issuer-metadata.ts'
import { ResourceError, refuse } from './resource-error.ts'

/** One action that the user must sign. */
export interface ApprovalRequest {
  /**
   * The API's name of this action, such as the number of an order: 1 to 64 characters of `[A-Za-z0-9._-]`. Calls with the same key are about the
   * same approval, and an approval lets one call pass.
   */
  key: string
  /**
   * What the user reads in the wallet, such as `Pay 20 USDC to Alice`: 1 to 120 letters, digits, single spaces and characters of
   * `-._~:/?#[]@!$&()*+,;=`, without a space at either end.
   */
  summary: string
  /** The whole action, as JSON. The user signs its digest: SHA-256 of the canonical form (RFC 8785). */
  action: unknown
  /** The scope that the action needs. Default: the scope that the call needed, if that was exactly one. */
  scope?: string
  /** Seconds to wait for the answer of the user, 0 to 30; default 0. Meanwhile the call is not answered. The first call is answered at once, because the user needs the link. */
  waitSeconds?: number
}

/** An approval that this call used, and no other call can use. */
export interface Approval {
  /** 43 characters. Also in the audit trail and in the user's list of receipts. */
  approvalId: string
  receipt: ApprovalReceipt
}

/** What the user signed, for the API's records. */
export interface ApprovalReceipt {
  /** The signed text (ERC-4361). */
  message: string
  /** The signature as hex with `0x`: ERC-191, or ERC-1271 of a contract wallet. */
  signature: string
  /** The wallet of the access token, in EIP-55 form. */
  address: string
  /** The chain id in the signed text. */
  chainId: number
}

/**
 * Lets a call pass only if the user of the token has signed this one action, and uses the signature. The first call with a key asks the user; the
 * caller shows the link of the refusal to the user and repeats the call.
 *
 * Call `approve` last, directly before the action: the approval is used even if the action fails afterwards. The action then needs a new key and a new
 * signature. The same holds if the answer of the authorization server was lost twice (503).
 *
 * @param call the request that an adapter checked (Hono: the context; MCP: `authInfo`), or the access token
 * @throws ApprovalError 403 with a `state` if the user has not signed; 409 if the key was used for other values; 429; 503
 * @throws ResourceError 401 or 403 if the token does not allow the action
 * @throws TypeError for an unusable `key`, `summary`, `action`, `scope` or `waitSeconds`, without credentials of the API, and for a call that this
 * resource did not check
 */
export type Approve = (call: object | undefined, request: ApprovalRequest) => Promise<Approval>

/** A request whose members were checked. `digest` is base64url. */
export interface CheckedRequest {
  key: string
  summary: string
  digest: string
  waitSeconds: number
}

/** @throws TypeError that names the unusable member */
export function checkApprovalRequest({ key, summary, action, waitSeconds = 0 }: ApprovalRequest): CheckedRequest {
  // A program in JavaScript may pass undefined, which a regular expression reads as a text.
  if (typeof key !== 'string' || !isActionName(key))
    throw new TypeError('key must be 1 to 64 letters, digits, and characters of ._-')
  if (typeof summary !== 'string' || !isSummary(summary))
    throw new TypeError('summary must be 1 to 120 letters, digits, single spaces, and characters of -._~:/?#[]@!$&()*+,;=')
  if (!Number.isInteger(waitSeconds) || waitSeconds < 0 || waitSeconds > 30)
    throw new TypeError('waitSeconds must be whole seconds, 0 to 30')
  return { key, summary, digest: digestOfAction(action), waitSeconds }
}

/** The token of a checked call, and the wallet. */
type Caller = { token: string; wallet: string; scope: string }

/** Makes the function that asks the authorization server. It throws a ResourceError. */
export function createApprovals(
  credentials: IntrospectionCredentials,
  ask: typeof fetch,
  metadata: () => Promise<IssuerMetadata>,
) {
  const headers = { authorization: basicCredentials(credentials), accept: 'application/json' }

  return async function approve(caller: Caller, request: CheckedRequest): Promise<Approval> {
    try {
      const { approvalsEndpoint } = await metadata()
      const asked = await askForApproval(approvalsEndpoint, caller, request)
      if (asked.state !== 'signed') throw refuseApproval.notSigned(asked.state, asked)
      return await useApproval(new URL(`${approvalsEndpoint.href}/use`), asked, caller)
    } catch (error) {
      throw error instanceof ResourceError && error.status === 503 ? refuseApproval.unavailable(error) : error
    }
  }

  async function askForApproval(endpoint: URL, { token, scope }: Caller, request: CheckedRequest): Promise<AskedApproval> {
    const { key, summary, digest, waitSeconds } = request
    const body = new URLSearchParams({ token, scope, key, summary, digest })
    if (waitSeconds > 0) body.set('wait', String(waitSeconds))
    const sent = { method: 'POST', headers, body, heldBackMs: waitSeconds * 1_000 }
    const answer = await readAnswer(ask, endpoint, sent, [200, 403, 409, 429])
    if (answer.status !== 200) throw refusalOf(answer)
    return readAskedApproval(answer.json)
  }

  async function useApproval(endpoint: URL, asked: AskedApproval, { wallet }: Caller): Promise<Approval> {
    const body = new URLSearchParams({ approval_id: asked.approvalId, attempt: crypto.randomUUID() })
    // The approval may be used already. The same attempt gets the same answer, and no second call can pass.
    const answer = await sendAgainIfLost(() => readAnswer(ask, endpoint, { method: 'POST', headers, body }, [200, 403, 409]))
    if (answer.status !== 200) throw refusalOfUse(answer, asked)
    return readUsedApproval(answer.json, asked.approvalId, wallet)
  }
}

type AskedApproval = OpenApproval & { approvalId: string; state: ApprovalState | 'signed' }

/** The endpoint has a 409 and a 429 for one reason each. Any other refusal is a fault between the API and the authorization server. */
function refusalOf({ status, json, retryAfter }: IssuerAnswer): ResourceError {
  switch (json.error) {
    case 'token_inactive':
      return refuse.invalidToken('inactive')
    case 'insufficient_scope':
      return refuse.insufficientScope()
    case 'key_used':
      return refuseApproval.keyUsed()
    case 'approvals_declined':
      return refuseApproval.declinedForGood()
    case 'too_many_approvals':
      return refuseApproval.tooMany(retryAfter)
    case 'not_yours':
      return refuse.unavailable('approval_not_yours')
    default:
      return refuse.unavailable(`issuer_answered_${status}`, retryAfter === undefined ? {} : { retryAfter })
  }
}

function refusalOfUse({ status, json }: IssuerAnswer, asked: AskedApproval): ResourceError {
  if (json.error === 'already_used') return refuseApproval.notSigned('used', asked)
  if (json.error === 'not_approved' && isApprovalState(json.state)) return refuseApproval.notSigned(json.state, asked)
  return refuse.unavailable(`issuer_answered_${status}`)
}

function readAskedApproval(json: Record<string, unknown>): AskedApproval {
  const { approval_id: approvalId, approval_uri: approvalUri, user_code: userCode, state, expires_in: expiresIn, interval } = json
  const isRead =
    typeof approvalId === 'string' &&
    typeof approvalUri === 'string' &&
    // The caller shows this link to the user.
    isSecureUrl(approvalUri) &&
    typeof userCode === 'string' &&
    typeof expiresIn === 'number' &&
    typeof interval === 'number' &&
    (state === 'signed' || isApprovalState(state))
  if (!isRead) throw refuse.unavailable('approval_malformed')
  return { approvalId, approvalUri, userCode, expiresIn, interval, state }
}

/** The answer must be about the approval that was asked for, and the receipt that of the token's wallet. */
function readUsedApproval(json: Record<string, unknown>, approvalId: string, wallet: string): Approval {
  const { message, signature, address, chain_id: chainId } = (json.receipt ?? {}) as Record<string, unknown>
  const isRead =
    json.approval_id === approvalId &&
    json.state === 'used' &&
    typeof message === 'string' &&
    typeof signature === 'string' &&
    address === wallet &&
    typeof chainId === 'number'
  if (!isRead) throw refuse.unavailable('approval_malformed')
  return { approvalId, receipt: { message, signature, address: wallet, chainId } }
}
