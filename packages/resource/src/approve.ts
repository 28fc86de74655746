/** `resource.approve`: what a checked call needs before the authorization server is asked. */
import type { AccessToken } from './access-token.ts'
import { type Approve, checkApprovalRequest, createApprovals } from './approval.ts'
import { ApprovalError } from './approval-error.ts'
import type { RefusedCall } from './challenges.ts'
import { type CheckedCall, findCheckedCall, schemeOf } from './checked-call.ts'
import type { IntrospectionCredentials } from './introspection.ts'
import { createIssuerMetadata } from './issuer-metadata.ts'
import { globalFetch } from './life-check.ts'
import { requireOfToken } from './requirements.ts'
import { refuse } from './resource-error.ts'

type Options = { issuer: string; introspection?: IntrospectionCredentials; fetch?: typeof fetch }

/** `challenged` adds the challenge to a refusal of the token. */
export function createApprove(
  { issuer, introspection, fetch: ask = globalFetch }: Options,
  calls: WeakMap<AccessToken, CheckedCall>,
  challenged: (error: unknown, call: RefusedCall) => unknown,
): Approve {
  const askUser = introspection && createApprovals(introspection, ask, createIssuerMetadata(issuer, ask))

  return async function approve(call, request) {
    const { token, ...checked } = findCheckedCall(calls, call, 'approve')
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
function onlyScope({ required }: Pick<CheckedCall, 'required'>): string {
  const [scope, ...others] = required
  if (scope === undefined || others.length > 0)
    throw new TypeError(`scope must name the scope of the approval: this call needs ${required.size} scopes`)
  return scope
}
