/** `resource.approve`: what a checked call needs before the authorization server is asked. */
import type { AccessToken } from './access-token.ts'
import { type Approve, checkApprovalRequest, createApprovals } from './approval.ts'
import { ApprovalError } from './approval-error.ts'
import type { RefusedCall } from './challenges.ts'
import { findAccessToken } from './checked-tokens.ts'
import type { IntrospectionCredentials } from './introspection.ts'
import { createIssuerMetadata } from './issuer-metadata.ts'
import { globalFetch } from './life-check.ts'
import { requireOfToken } from './requirements.ts'
import { refuse } from './resource-error.ts'

/** A call that passed the check: the text of its token, and every scope that the API has required of it. */
export type CheckedCall = { text: string; required: Set<string> }

type Options = { issuer: string; introspection?: IntrospectionCredentials; fetch?: typeof fetch }

/** `challenged` adds the challenge to a refusal of the token. */
export function createApprove(
  { issuer, introspection, fetch: ask = globalFetch }: Options,
  calls: WeakMap<AccessToken, CheckedCall>,
  challenged: (error: unknown, call: RefusedCall) => unknown,
): Approve {
  const askUser = introspection && createApprovals(introspection, ask, createIssuerMetadata(issuer, ask))

  return async function approve(call, request) {
    const token = findAccessToken(call) ?? (call as AccessToken | undefined)
    const checked = token && calls.get(token)
    if (!checked) throw new TypeError('approve needs a request that this resource checked, or its access token')
    if (!askUser) throw new TypeError('introspection must have the credentials of this API, which approvals need')
    const action = checkApprovalRequest(request)
    const scope = request.scope ?? onlyScope(checked)
    try {
      if (token.wallet === '') throw refuse.invalidToken('no_wallet')
      requireOfToken(token, { scopes: [scope] }, 0)
      return await askUser({ token: checked.text, wallet: token.wallet, scope }, action)
    } catch (error) {
      // No challenge: the action lacks a signature, and another token would not change that.
      if (error instanceof ApprovalError) throw error
      throw challenged(error, { scheme: schemeOf(token), scopes: [...checked.required, scope] })
    }
  }
}

/** One scope of several would be a guess, and the user could sign for less than the action needs. */
function onlyScope({ required }: CheckedCall): string {
  const [scope, ...others] = required
  if (scope === undefined || others.length > 0)
    throw new TypeError(`scope must name the scope of the approval: this call needs ${required.size} scopes`)
  return scope
}

export function schemeOf({ keyThumbprint }: AccessToken): 'Bearer' | 'DPoP' {
  return keyThumbprint === undefined ? 'Bearer' : 'DPoP'
}
