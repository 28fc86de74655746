/** Checks the authorization response, and exchanges the code. */
import { readMetadata, send } from './metadata.ts'
import { SignInError } from './sign-in-error.ts'
import type { PendingSignIn } from './sign-in-request.ts'

export type SignedIn = {
  /** the address of the wallet, in EIP-55 spelling: the identity of the user */
  wallet: string
  accessToken: string
  /** seconds from the response on */
  expiresIn: number
  refreshToken: string | null
  /** what was granted, which may be less than was requested */
  scope: string
  /** the claims of the ID token */
  claims: Readonly<Record<string, unknown>>
}

type TokenResponse = {
  access_token?: string
  expires_in?: number
  refresh_token?: string
  id_token?: string
  scope?: string
  error?: string
  error_description?: string
}

export async function finishSignIn(pending: PendingSignIn, response: URLSearchParams): Promise<SignedIn> {
  if (response.get('state') !== pending.state) throw invalid('state is not that of the request')
  // RFC 9207: a response of another service, which could be given a code of this one
  if (response.get('iss') !== pending.issuer) throw invalid('iss is not the issuer')
  const error = response.get('error')
  if (error !== null) throw new SignInError('refused', response.get('error_description') ?? error, { error })
  const tokens = await redeem(pending, response.get('code') ?? '')
  const { access_token, expires_in = 0, refresh_token = null, id_token = '', scope = '' } = tokens
  if (access_token === undefined) throw invalid('the token response has no access_token')
  const claims = checkedClaims(id_token, pending)
  return {
    wallet: String(claims.sub),
    accessToken: access_token,
    expiresIn: expires_in,
    refreshToken: refresh_token,
    scope,
    claims,
  }
}

async function redeem({ issuer, clientId, redirectUri, resource, codeVerifier }: PendingSignIn, code: string) {
  const { token_endpoint } = await readMetadata(issuer)
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: redirectUri,
    code_verifier: codeVerifier,
    ...(resource !== null && { resource }),
  })
  const answer = await send(token_endpoint, body)
  const tokens = (await answer.json().catch(() => null)) as TokenResponse | null
  if (answer.ok && tokens !== null) return tokens
  const { error, error_description } = tokens ?? {}
  if (error === undefined) throw new SignInError('unavailable', `${token_endpoint} answered ${answer.status}`)
  throw new SignInError('refused', error_description ?? error, { error })
}

/**
 * OpenID Connect Core §3.1.3.7. The ID token came from the token endpoint over TLS, so the signature need not be checked (item 6): the
 * service that signed it is the service that sent it. `exp` is not compared with the clock of the user's machine, which may be wrong: the token
 * is as new as the response.
 */
function checkedClaims(idToken: string, { issuer, clientId, nonce }: PendingSignIn): Readonly<Record<string, unknown>> {
  const { iss, aud, exp, nonce: returned, sub, ...rest } = decode(idToken)
  if (iss !== issuer) throw invalid('iss of the ID token is not the issuer')
  if (![aud].flat().includes(clientId)) throw invalid('aud of the ID token is not this client')
  if (returned !== nonce) throw invalid('nonce of the ID token is not that of the request')
  if (typeof exp !== 'number') throw invalid('the ID token has no exp')
  if (typeof sub !== 'string') throw invalid('the ID token has no sub')
  return { iss, aud, exp, nonce, sub, ...rest }
}

function decode(jwt: string): Record<string, unknown> {
  const payload = (jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  try {
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>
  } catch {
    throw invalid('the token response has no ID token')
  }
}

function invalid(message: string): SignInError {
  return new SignInError('response_invalid', message)
}
