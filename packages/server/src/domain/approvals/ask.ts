/**
 * An API asks the user of an access token to sign one action. The API asks, and not the client. A client only shows a link or eight letters, so no client changes.
 *
 * The API names each action by a key. The same key with the same values is the same approval, however often the API asks.
 */
import { parseScope } from '@grantor/protocol/scope'
import { openLiveAccessToken } from '../../protocol/keys/access-token.ts'
import type { AccessTokenClaims, ActorClaim } from '../../protocol/keys/access-token-claims.ts'
import {
  approvalsDeclined,
  insufficientScope,
  keyUsed,
  notYours,
  tokenInactive,
  tooManyApprovals,
} from '../../protocol/oauth/oauth-error.ts'
import { newUserCode } from '../../protocol/oauth/user-code.ts'
import type { Approval, NewApproval } from '../model/approval-store.ts'
import { ASKED_WITHIN, decideAsk, WAITING_OF_WALLET_AT_MOST } from '../model/approvals.ts'
import type { Deps } from '../model/deps.ts'
import type { Client, Grant } from '../model/records.ts'
import { readGrantOfToken } from '../tokens/grant-of-token.ts'
import { approvalKeyOf, writeApprovalId } from './approval-id.ts'
import { ANSWERED_WITHIN, approvalUrl } from './state.ts'

/** What the API asks for. The HTTP layer has checked the grammar of each. */
export type Question = { token: string; scope: string; key: string; summary: string; digest: string }

/**
 * `isNew`: this request asked the user, so the client has no link yet.
 *
 * @throws OAuthError for every refusal
 */
export async function askApproval(deps: Deps, api: Client, question: Question): Promise<{ approval: Approval; isNew: boolean }> {
  const { claims, grant } = await readToken(deps, api, question.token)
  if (!parseScope(claims.scope)?.includes(question.scope)) throw insufficientScope('approval_scope_not_granted')
  const key = approvalKeyOf(grant.id, api.id, question.key)
  const present = await deps.store.approvals.readApproval(key)
  if (present) return { approval: requireSame(present, question), isNew: false }
  await requirePlace(deps, grant)
  const { scope, summary, digest } = question
  const values: NewApproval = {
    ...key,
    clientId: api.id,
    apps: appsOf(grant, claims),
    wallet: grant.wallet,
    scope,
    summary,
    digest,
    userCode: newUserCode(),
    expiresAt: deps.now() + ANSWERED_WITHIN,
  }
  const stored = await deps.store.approvals.ask(values, deps.now())
  if (!stored) throw tokenInactive('grant_ended')
  // Another request asked for the same action at the same moment.
  if (stored.userCode !== values.userCode) return { approval: requireSame(stored, question), isNew: false }
  const details = { approval_id: writeApprovalId(key), approval_uri: approvalUrl(deps.settings, key), app: values.apps.join(' ') }
  deps.audit({ event: 'approval_requested', client_id: api.id, grant_id: grant.id, wallet: grant.wallet, details })
  return { approval: stored, isNew: true }
}

/** One wording for every fault of a token of the API. For a token of another audience, the response is the same whatever its faults are. */
async function readToken(deps: Deps, api: Client, token: string): Promise<{ claims: AccessTokenClaims; grant: Grant }> {
  const claims = openLiveAccessToken(deps.keys, token, { issuer: deps.settings.authUrl, now: deps.now() })
  if (!claims) throw tokenInactive('access_token_unknown')
  if (api.resourceServer === null || claims.aud !== api.resourceServer) throw notYours()
  if (claims.grant_id === undefined) throw tokenInactive('access_token_without_user')
  if (!(await deps.clients.isEnabled(claims.client_id))) throw tokenInactive('client_unknown_or_disabled')
  const grant = await readGrantOfToken(deps, claims, claims.grant_id)
  if (typeof grant === 'string') throw tokenInactive(grant)
  return { claims, grant }
}

/** The client that the user allowed, and then the clients of an exchanged token in the order in which they acted (RFC 8693 §4.1). */
function appsOf(grant: Grant, { act }: AccessTokenClaims): string[] {
  const actors: string[] = []
  for (let actor: ActorClaim | undefined = act; actor; actor = actor.act) actors.unshift(actor.sub)
  return [grant.clientId, ...actors]
}

function requireSame(stored: Approval, { scope, summary, digest }: Question): Approval {
  if (stored.scope !== scope || stored.summary !== summary || stored.digest !== digest) throw keyUsed()
  return stored
}

/** The counts are read before the insert, so questions at the same moment can exceed a bound by their number. */
async function requirePlace({ store, now }: Deps, grant: Grant): Promise<void> {
  const at = now()
  const [before, waiting] = await Promise.all([
    store.approvals.readAskedBefore(grant.id, { since: at - ASKED_WITHIN, at }),
    store.approvals.listWaiting(grant.wallet, { at, limit: WAITING_OF_WALLET_AT_MOST }),
  ])
  const decision = decideAsk(before, { walletWaiting: waiting.length, at })
  if (decision === 'allowed') return
  if (decision.reason === 'last') throw approvalsDeclined()
  throw tooManyApprovals(decision.reason, decision.retryAfter ?? ASKED_WITHIN)
}
