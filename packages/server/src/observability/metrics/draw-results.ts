/** What came of a request to draw from a limit, or to give back. The refusals are the codes of the answers. */
export const DRAW_RESULTS = [
  'drawn',
  'repeated',
  'returned',
  'not_yours',
  'token_inactive',
  'no_limit',
  'limit_not_signed',
  'each_exceeded',
  'uses_exceeded',
  'amount_exceeded',
  'key_used',
  'unknown_draw',
  'above_draw',
  'already_returned',
  'invalid_request',
] as const
export type DrawResult = (typeof DRAW_RESULTS)[number]
