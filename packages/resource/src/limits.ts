/** `resource.draw` and `resource.giveBack`: what a call needs before the authorization server is asked. */
import type { AccessToken } from './access-token.ts'
import type { RefusedCall } from './challenges.ts'
import { type CheckedCall, findCheckedCall, schemeOf } from './checked-call.ts'
import { checkDrawRequest, checkGiveBackRequest, createDraws, type DrawFromLimit, type GiveBack } from './draw.ts'
import type { IntrospectionCredentials } from './introspection.ts'
import { globalFetch } from './life-check.ts'
import { refuse } from './resource-error.ts'

type Options = { issuer: string; introspection?: IntrospectionCredentials; fetch?: typeof fetch }

/** `challenged` adds the challenge to a refusal of the token. */
export function createLimits(
  { issuer, introspection, fetch: ask = globalFetch }: Options,
  calls: WeakMap<AccessToken, CheckedCall>,
  challenged: (error: unknown, call: RefusedCall) => unknown,
): { draw: DrawFromLimit; giveBack: GiveBack } {
  const draws = introspection && createDraws(issuer, introspection, ask)

  function requireDraws() {
    if (!draws) throw new TypeError('introspection must have the credentials of this API, which limits need')
    return draws
  }

  return {
    async draw(call, request) {
      const { token, text, required } = findCheckedCall(calls, call, 'draw')
      const { draw } = requireDraws()
      checkDrawRequest(request)
      const refused = { scheme: schemeOf(token), scopes: [...required] }
      // A client itself has no limit: only a user signs one.
      if (token.wallet === '') throw challenged(refuse.invalidToken('no_wallet'), refused)
      const answer = await draw({ text, grantId: token.claims.grant_id }, request)
      if (answer.kind === 'drawn') return answer.draw
      const scopes = answer.scope === undefined ? refused.scopes : [...refused.scopes, answer.scope]
      throw challenged(answer.refusal, { ...refused, scopes })
    },

    async giveBack(request) {
      const { giveBack } = requireDraws()
      checkGiveBackRequest(request)
      return giveBack(request)
    },
  }
}
