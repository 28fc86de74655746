import { DPOP_ALGORITHMS } from '@grantor/protocol/dpop'
import { ResourceError } from './resource-error.ts'

/** What is the same in each challenge of one API. */
export interface ChallengeOptions {
  /** the API's name */
  realm: string
  /** the schemes in which the API accepts a token */
  takes: { bearer: boolean; dpop: boolean }
  /** the address of the API's metadata document (RFC 9728 §5.1) */
  metadataUrl: string | undefined
}

/** The call that was refused. */
export interface RefusedCall {
  /** the scheme of the token; absent if the call has no token */
  scheme?: 'Bearer' | 'DPoP' | undefined
  /** every scope that the call needs */
  scopes: readonly string[]
}

type Parameters = Record<string, string | undefined>

/** Returns a function that adds `WWW-Authenticate` to a refusal (RFC 6750 §3, RFC 9449 §7.1, RFC 9470 §3, RFC 9728 §5.1). */
export function createChallenges({ realm, takes, metadataUrl }: ChallengeOptions) {
  const algs = DPOP_ALGORITHMS.join(' ')

  return function withChallenge(refusal: ResourceError, call: RefusedCall): ResourceError {
    // Another token would not change these.
    if (refusal.status === 409 || refusal.status >= 500) return refusal
    // RFC 6750 §3: the scope describes "the required scope of the access token". A malformed request needs no other token.
    const scope = refusal.status === 400 || call.scopes.length === 0 ? undefined : [...new Set(call.scopes)].join(' ')
    // `ResourceError` has getters and methods on its prototype only, so each member is named.
    const { status, error, description, reason, maxAge, acrValues, cause } = refusal
    const wwwAuthenticate = write(refusal, call.scheme, scope)
    return new ResourceError({ status, error, description, reason, scope, maxAge, acrValues, wwwAuthenticate, cause })
  }

  function write(
    { status, error, description, maxAge, acrValues }: ResourceError,
    scheme: RefusedCall['scheme'],
    scope?: string,
  ) {
    const found: Parameters = {
      error,
      // §3.1: no error information for a call without credentials
      error_description: error && description,
      scope,
      max_age: maxAge?.toString(),
      acr_values: acrValues,
      resource_metadata: metadataUrl,
    }
    if (scheme === 'DPoP' || !takes.bearer) return challenge('DPoP', { realm, ...found, algs })
    const bearer = challenge('Bearer', { realm, ...found })
    // RFC 9449 §7.2: a caller without a token, or with a bound token and no proof, receives both challenges. A caller
    // whose token only lacks something uses the same scheme as before.
    const isStepUp = status === 403 || error === 'insufficient_user_authentication'
    return takes.dpop && !isStepUp ? `${bearer}, ${challenge('DPoP', { scope, resource_metadata: metadataUrl, algs })}` : bearer
  }
}

function challenge(scheme: 'Bearer' | 'DPoP', parameters: Parameters): string {
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  )
  return `${scheme} ${written.join(', ')}`
}

/** Only characters that a quoted-string of RFC 6750 §3 may contain, so that a value cannot break out of the header. */
function quotable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '')
}
