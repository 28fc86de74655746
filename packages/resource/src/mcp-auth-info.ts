import type { AccessToken } from './access-token.ts'
import { keepAccessToken } from './checked-tokens.ts'
import type { Draw } from './draw.ts'
import { headerValues, type PresentedRequest } from './presented-token.ts'
import type { ProtectedResource } from './protected-resource.ts'
import { ResourceError } from './resource-error.ts'

/** `AuthInfo` of the MCP SDK: what a tool reads about the caller. */
export interface AuthInfo {
  /** The token as it was sent, which a server can exchange for the token of an API behind it (RFC 8693). */
  token: string
  clientId: string
  scopes: string[]
  expiresAt: number
  resource: URL
  /** The wallet for which the client calls, the whole checked token, and what was drawn for the tools of this message (`tools` with `draw`), in their order. */
  extra: { wallet: string; accessToken: AccessToken; draws: readonly Draw[] }
}

export function authInfoOf(
  { metadata }: ProtectedResource,
  request: PresentedRequest,
  token: AccessToken,
  draws: readonly Draw[] = [],
): AuthInfo {
  const [authorization = ''] = headerValues(request, 'authorization')
  const { clientId, scopes, expiresAt, wallet } = token
  const authInfo: AuthInfo = {
    token: authorization.slice(authorization.indexOf(' ') + 1).trim(),
    clientId,
    scopes: [...scopes],
    expiresAt,
    resource: new URL(metadata.resource),
    extra: { wallet, accessToken: token, draws },
  }
  // For `resource.approve(authInfo, …)` and `resource.draw(authInfo, …)` in a tool.
  keepAccessToken(authInfo, token)
  return authInfo
}

/**
 * The verifier that the SDK's own `requireBearerAuth` takes. `requireBearerAuth` does not pass the request, so tokens
 * that are bound to a key are refused, and the challenge has fewer parameters than that of `requireToken`.
 *
 * @param reject makes the SDK's error: `({ description }) => new InvalidTokenError(description)` with 1.x, `({
 * description }) => new OAuthError(OAuthErrorCode.InvalidToken, description)` with 2.x. The SDK answers any other error
 * with 500, and so a token that could not be checked.
 */
export function createTokenVerifier(resource: ProtectedResource, reject: (error: ResourceError) => Error) {
  async function verifyAccessToken(token: string): Promise<AuthInfo> {
    const request = { headers: { authorization: `Bearer ${token}` } }
    try {
      return authInfoOf(resource, request, await resource.check(request))
    } catch (error) {
      resource.answerRefusal(error)
      throw error instanceof ResourceError && error.status !== 503 ? reject(error) : error
    }
  }
  return { verifyAccessToken }
}
