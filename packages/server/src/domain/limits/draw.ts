/**
 * An API draws from the limit that the wallet signed: one use, and an amount if the limit has one. The API names each use by a key. The same key with the
 * same amount is the same draw, however often the API asks, so an API repeats a request whose answer was lost.
 */
import { parseScope } from '@grantor/protocol/scope'
import { openAccessToken } from '../../protocol/keys/access-token.ts'
import type { AccessTokenClaims } from '../../protocol/keys/access-token-claims.ts'
import {
  amountWithoutLimit,
  drawAmountMissing,
  drawKeyUsed,
  limitExceeded,
  limitNotSigned,
  noLimit,
  notYours,
  type OAuthError,
  tokenInactive,
} from '../../protocol/oauth/oauth-error.ts'
import type { ReasonOf } from '../../protocol/oauth/reasons.ts'
import type { Deps } from '../model/deps.ts'
import type { Draw, DrawKey } from '../model/draw-store.ts'
import { placeOf } from '../model/limit-left.ts'
import type { Client } from '../model/records.ts'
import { readValidityOfToken } from '../tokens/grant-of-token.ts'

/** The HTTP layer has checked the grammar of each. */
export type DrawQuestion = { token: string; key: string; amount: number | null }

/** `isAgain`: the draw was made by an earlier request with the same key. */
export type DrawnNow = Draw & { isAgain: boolean }

/** @throws OAuthError for every refusal */
export async function draw(deps: Deps, api: Client, { token, key, amount }: DrawQuestion): Promise<DrawnNow> {
  const claims = openAccessToken(deps.keys, deps.settings.authUrl, token)
  if (!claims) throw tokenInactive('access_token_unknown')
  if (api.resourceServer === null || claims.aud !== api.resourceServer) throw notYours()
  const { grant_id: grantId } = claims
  if (grantId === undefined) throw tokenInactive('access_token_without_user')
  const drawKey = { grantId, clientId: api.id, key }
  const fault = await faultOfToken(deps, claims)
  if (fault !== null) return repeatedDraw(deps, drawKey, amount, fault)
  const outcome = await deps.store.draws.draw({
    ...drawKey,
    jti: claims.jti,
    exchangedFrom: claims.exchanged_from,
    ...placeOf(claims),
    amount,
    at: deps.now(),
  })
  switch (outcome.kind) {
    case 'drawn':
      return { ...outcome.draw, isAgain: outcome.isAgain }
    case 'key_used':
      throw drawKeyUsed()
    case 'inactive':
      throw tokenInactive('grant_ended')
    case 'no_limit':
      throw noSignedLimit(deps, claims)
    case 'amount_missing':
      throw drawAmountMissing()
    case 'amount_without_limit':
      throw amountWithoutLimit()
    default:
      throw limitExceeded(outcome.kind, outcome.limit.scope)
  }
}

function noSignedLimit({ resources }: Deps, { aud, scope }: AccessTokenClaims): OAuthError {
  const limited = (parseScope(scope) ?? []).find((each) => resources.limitOf(aud, each) !== undefined)
  return limited === undefined ? noLimit() : limitNotSigned(limited)
}

/** What the row of the grant does not show. The client of the grant of an exchanged token is only in the row. */
async function faultOfToken(deps: Deps, claims: AccessTokenClaims): Promise<ReasonOf<'token_inactive'> | null> {
  const { exp, client_id: clientId, grant_id: grantId, act } = claims
  if (exp <= deps.now()) return 'access_token_unknown'
  if (!(await deps.clients.isEnabled(clientId))) return 'client_unknown_or_disabled'
  const found = act && grantId !== undefined ? await readValidityOfToken(deps, claims, grantId) : null
  return typeof found === 'string' ? found : null
}

/** The API may have drawn with this token before, and lost the answer. */
async function repeatedDraw(
  { store }: Deps,
  key: DrawKey,
  amount: number | null,
  fault: ReasonOf<'token_inactive'>,
): Promise<DrawnNow> {
  const confirm = await store.startReading()
  const found = await store.draws.readDraw(key)
  if (!found) throw tokenInactive(fault)
  if (found.amount !== amount) throw drawKeyUsed()
  // The API acts on what was only read, so the draw must be durable.
  await confirm()
  return { ...found, isAgain: true }
}
