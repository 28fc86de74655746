/** Response modes: how an authorization response reaches the app (OAuth 2.0 Form Post Response Mode §2, JARM §2.3). */

/** The first one is the default of response type `code` (OpenID Connect Core §3.1.2.5). */
export const RESPONSE_MODES = ['query', 'form_post', 'query.jwt', 'form_post.jwt'] as const
export type ResponseMode = (typeof RESPONSE_MODES)[number]

/** The mode that a request names, or null if the mode is not offered. The fragment modes are for responses with tokens. */
export function parseResponseMode(sent: string | null): ResponseMode | null {
  if (sent === null) return 'query'
  // JARM §2.3.4: for response type `code`, `jwt` is short for `query.jwt`.
  if (sent === 'jwt') return 'query.jwt'
  return RESPONSE_MODES.find((mode) => mode === sent) ?? null
}

/** Whether the response is one signed JWT (JARM §2). */
export function isSignedMode(mode: ResponseMode): boolean {
  return mode === 'query.jwt' || mode === 'form_post.jwt'
}

/**
 * Whether the browser posts the response as a form (OAuth 2.0 Form Post Response Mode §2, JARM §2.3.3). The other modes
 * use the query (JARM §2.3.1).
 */
export function isFormPost(mode: ResponseMode): boolean {
  return mode === 'form_post' || mode === 'form_post.jwt'
}
