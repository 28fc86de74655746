/** Counts a call in the limit that a user signed, through the authorization server. */
import { isActionName } from '@grantor/protocol/approval'
import { isAmount } from '@grantor/protocol/limit'
import { type IssuerAnswer, readAnswer, sendAgainIfLost } from './ask-issuer.ts'
import { isExceeded, refuseDraw } from './draw-refusals.ts'
import { basicCredentials, type IntrospectionCredentials } from './introspection.ts'
import { isOneScope, isRest, isWhole, type LimitLeft, readLeft } from './limit.ts'
import { ResourceError, refuse } from './resource-error.ts'

/** One use of a limit. */
export interface DrawRequest {
  /**
   * The API's name of this use, such as the number of an order: 1 to 64 characters of `[A-Za-z0-9._-]`. A repeated draw with the same key draws
   * nothing, and returns the values of the first one.
   */
  key: string
  /** The amount in the smallest step of the unit, 1 to 999,999,999,999,999; required if the limit has an amount, and absent otherwise. */
  amount?: number
}

/** A use that was counted. */
export interface Draw {
  /** The grant of the token, for `giveBack`. */
  grantId: string
  /** The number of the draw in the grant; the first has 1. */
  draw: number
  /** What was left after the draw. `amount` is in the smallest step of the unit, and absent if the limit has no amount. */
  left: { uses: number; amount?: number }
  /** Epoch seconds: the end of the period of the draw; absent if the limit has no period. */
  until?: number
}

/** What the API gives back of a draw, once. */
export interface GiveBackRequest {
  /** `grantId` of the draw. */
  grantId: string
  /** `key` of the draw. */
  key: string
  /** The amount in the smallest step of the unit, up to that of the draw; absent if the limit has no amount. The use returns only with the whole amount. */
  amount?: number
}

/** What was given back. */
export interface GivenBack {
  /** The number of the draw in the grant. */
  draw: number
  /** The amount in the smallest step of the unit; 0 if the limit has no amount. */
  returned: number
}

/**
 * Counts a call in the limit that the user signed, exactly once for each key. Call `draw` before the work, with the most that the call may cost, and
 * give back the rest.
 *
 * A repeated draw with the same key succeeds and counts nothing, so store the result of the work by the key, and look there first: otherwise a
 * caller that repeats a key gets the work again.
 *
 * @param call the request that an adapter checked (Hono: the context; MCP: `authInfo`), or the access token
 * @throws ResourceError 403 `insufficient_scope` with a challenge if the limit is used up; 401 if the token has ended; 409 if the key was used for
 * another amount; 500 if the API or its registration has a fault; 503 if the authorization server gives no usable answer. In none of these cases
 * the call may go on.
 * @throws TypeError for an unusable `key` or `amount`, without credentials of the API, and for a call that this resource did not check
 */
export type DrawFromLimit = (call: object | undefined, request: DrawRequest) => Promise<Draw>

/**
 * Gives back a part of a draw, or all of it, once. No token is needed, so the API can give back after the end of the call. A repeat with the same
 * amount returns the same values.
 *
 * @throws ResourceError 500 if the draw is unknown, was given back with another amount, or was smaller; 503 if the authorization server gives no
 * usable answer: repeat the call later
 * @throws TypeError for an unusable `grantId`, `key` or `amount`, and without credentials of the API
 */
export type GiveBack = (request: GiveBackRequest) => Promise<GivenBack>

/** @throws TypeError that names the unusable member */
export function checkDrawRequest({ key, amount }: DrawRequest): void {
  // A program in JavaScript may pass undefined, which a regular expression reads as a text.
  if (typeof key !== 'string' || !isActionName(key))
    throw new TypeError('key must be 1 to 64 letters, digits, and characters of ._-')
  if (amount !== undefined && !isAmount(amount))
    throw new TypeError('amount must be a whole number of the smallest step of the unit, 1 to 999999999999999')
}

/** @throws TypeError that names the unusable member */
export function checkGiveBackRequest(request: GiveBackRequest): void {
  if (typeof request.grantId !== 'string' || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(request.grantId))
    throw new TypeError('grantId must be the grantId of a draw')
  checkDrawRequest(request)
}

type DrawnToken = { text: string; grantId: unknown }

/** What the endpoint answered: the draw, or the refusal. `scope` has the limit that is used up. */
type DrawAnswer = { kind: 'drawn'; draw: Draw } | { kind: 'refused'; refusal: ResourceError; scope?: string }

/** Makes the functions that ask the authorization server. They throw a ResourceError. */
export function createDraws(issuer: string, credentials: IntrospectionCredentials, ask: typeof fetch) {
  const headers = { authorization: basicCredentials(credentials), accept: 'application/json' }
  const endpoint = new URL(`${issuer}/oauth/draw`)
  const endpointOfReturns = new URL(`${issuer}/oauth/draw/return`)

  async function draw({ text: token, grantId }: DrawnToken, { key, amount }: DrawRequest): Promise<DrawAnswer> {
    const answer = await post(endpoint, { token, key, ...amountOf(amount) })
    if (answer.status !== 200) return { kind: 'refused', ...readRefusal(answer) }
    return { kind: 'drawn', draw: readDraw(answer.json, grantId, amount) }
  }

  async function giveBack({ grantId, key, amount }: GiveBackRequest): Promise<GivenBack> {
    const answer = await post(endpointOfReturns, { grant_id: grantId, key, ...amountOf(amount) })
    if (answer.status !== 200) throw refusalOfReturn(answer)
    return readGivenBack(answer.json, amount)
  }

  /** The key makes the repeat safe: nothing is drawn twice if the first request was served. */
  async function post(url: URL, form: Record<string, string>): Promise<IssuerAnswer> {
    const body = new URLSearchParams(form)
    return sendAgainIfLost(() => readAnswer(ask, url, { method: 'POST', headers, body }, [200, 400, 403, 409]))
  }

  return { draw: notCounted(draw), giveBack: notCounted(giveBack) }
}

/** The caller reads that the call was not counted, instead of that the token was not checked. */
function notCounted<Given extends unknown[], Result>(ask: (...given: Given) => Promise<Result>) {
  return async (...given: Given): Promise<Result> => {
    try {
      return await ask(...given)
    } catch (error) {
      throw error instanceof ResourceError && error.status === 503 ? refuseDraw.unavailable(error) : error
    }
  }
}

function amountOf(amount: number | undefined): { amount?: string } {
  return amount === undefined ? {} : { amount: String(amount) }
}

/** A refusal that no case names is a fault between the API and the authorization server. */
function readRefusal({ status, json, retryAfter }: IssuerAnswer): { refusal: ResourceError; scope?: string } {
  const { error, scope } = json
  if (isExceeded(error)) {
    if (!isOneScope(scope)) throw refuse.unavailable('draw_malformed')
    return { refusal: refuseDraw.exceeded(error), scope }
  }
  if (error === 'token_inactive') return { refusal: refuse.invalidToken('inactive') }
  if (error === 'key_used') return { refusal: refuseDraw.keyUsed() }
  if (error === 'not_yours') return { refusal: refuseDraw.fault('draw_not_yours') }
  if (error === 'no_limit') return { refusal: refuseDraw.fault('draw_no_limit') }
  // The rest of the request was checked before.
  if (error === 'invalid_request') return { refusal: refuseDraw.fault('draw_amount_unfit') }
  throw refuse.unavailable(`issuer_answered_${status}`, retryAfter === undefined ? {} : { retryAfter })
}

function refusalOfReturn({ status, json, retryAfter }: IssuerAnswer): ResourceError {
  switch (json.error) {
    case 'unknown_draw':
      return refuseDraw.fault('return_unknown')
    case 'above_draw':
      return refuseDraw.fault('return_above_draw')
    case 'already_returned':
      return refuseDraw.fault('return_differs')
    case 'invalid_request':
      return refuseDraw.fault('draw_amount_unfit')
    default:
      return refuse.unavailable(`issuer_answered_${status}`, retryAfter === undefined ? {} : { retryAfter })
  }
}

/** The answer has an amount exactly if the request has one. */
function readDraw({ draw, left, until }: Record<string, unknown>, grantId: unknown, amount: number | undefined): Draw {
  const rest: LimitLeft | undefined = readLeft(left)
  const isRead =
    typeof grantId === 'string' &&
    isWhole(draw) &&
    draw > 0 &&
    rest !== undefined &&
    (rest.amount === undefined) === (amount === undefined) &&
    (until === undefined || isWhole(until))
  if (!isRead) throw refuse.unavailable('draw_malformed')
  const { until: _, ...rested } = rest
  return { grantId, draw, left: rested, ...(until === undefined ? {} : { until }) }
}

function readGivenBack({ draw, returned }: Record<string, unknown>, amount = 0): GivenBack {
  if (!isWhole(draw) || draw === 0 || !isRest(returned) || returned !== amount) throw refuse.unavailable('draw_malformed')
  return { draw, returned }
}
