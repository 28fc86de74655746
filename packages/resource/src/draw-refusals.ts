import { ResourceError } from './resource-error.ts'
import type { ResourceReasonOf } from './resource-reasons.ts'

/** What the caller reads if the limit is used up, or was never signed. */
const EXCEEDED = {
  limit_not_signed: 'The user has not signed a limit for this scope yet.',
  uses_exceeded: 'The user signed a limit for this scope, and no use is left.',
  amount_exceeded: 'The user signed a limit for this scope, and less is left than this call costs.',
  each_exceeded: 'The user signed a limit for this scope, and this call costs more than one use may cost.',
} as const

export type Exceeded = keyof typeof EXCEEDED

/** What the log of the API reads if its settings or its program are wrong. */
const FAULTS: Record<ResourceReasonOf<'server_error'>, string> = {
  draw_not_yours:
    'draw: register the client of this API as the resource server of the audience of its tokens (`grantor clients update --resource-server`)',
  draw_no_limit:
    'draw: no scope of the token has a limit at this API. Give the scope a limit at the authorization server, and require this scope of the call before `draw`',
  draw_amount_unfit: 'draw: the limit has an amount and the draw has none, or the limit has none and the draw has one',
  return_unknown: 'giveBack: this client has no draw with this grant and this key',
  return_above_draw: 'giveBack: the amount is larger than the amount of the draw',
  return_differs: 'giveBack: this draw was given back before, with another amount',
}

export function isExceeded(error: unknown): error is Exceeded {
  return typeof error === 'string' && Object.hasOwn(EXCEEDED, error)
}

export const refuseDraw = {
  // RFC 6750 §3.1: a client that receives this error asks the user again, and so the wallet signs a new limit.
  exceeded: (reason: Exceeded) =>
    new ResourceError({ status: 403, error: 'insufficient_scope', description: EXCEEDED[reason], reason }),

  // 409 and not 500: many APIs take the key from the call, and the caller can choose another.
  keyUsed: () =>
    new ResourceError({
      status: 409,
      error: 'draw_key_used',
      description: 'The key of this call was used for another amount. Choose another key.',
      reason: 'draw_key_used',
    }),

  /** A fault of the API. The caller cannot change it, and the log has the words. */
  fault: (reason: ResourceReasonOf<'server_error'>) =>
    new ResourceError({
      status: 500,
      error: 'server_error',
      description: 'This API cannot count its calls, because of a fault in its settings or its program.',
      reason,
      cause: new Error(FAULTS[reason]),
    }),

  /** The same refusal about a draw instead of a token. */
  unavailable: ({ reason, retryAfter, cause }: ResourceError) =>
    new ResourceError({
      status: 503,
      error: 'temporarily_unavailable',
      description: 'It is not known whether this call was counted. Try again shortly.',
      reason,
      retryAfter,
      cause,
    }),
}
