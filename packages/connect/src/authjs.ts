/**
 * The provider for Auth.js 5 and for NextAuth.js 4.
 * @module @grantor/connect/authjs
 */
import { requireIssuer } from './issuer.ts'

export type AuthjsOptions = {
  /** the URL of the service */
  issuer: string | undefined
  clientId: string | undefined
  clientSecret: string | undefined
  /** names with a space between them; `openid wallet` unless given */
  scope?: string
  /** on the button of the sign-in page; "Wallet" unless given */
  name?: string
}

/** For `next-auth` 5, `@auth/sveltekit`, `@auth/express` and all else that is built on `@auth/core`. */
export function grantor(options: AuthjsOptions) {
  return {
    ...common(options),
    type: 'oidc' as const,
    issuer: options.issuer && requireIssuer(options.issuer),
    checks: CHECKS,
  }
}

/** For `next-auth` 4. */
export function grantorV4({
  idTokenAlgorithm = 'ES256',
  ...options
}: AuthjsOptions & {
  /** that of the registration of the client; `ES256` unless given */
  idTokenAlgorithm?: 'ES256' | 'RS256' | 'EdDSA'
}) {
  return {
    ...common(options),
    type: 'oauth' as const,
    wellKnown: `${options.issuer && requireIssuer(options.issuer)}/.well-known/openid-configuration`,
    idToken: true,
    // openid-client 5, which NextAuth.js 4 uses, accepts RS256 only unless another algorithm is named.
    client: { id_token_signed_response_alg: idTokenAlgorithm },
    checks: CHECKS,
  }
}

const CHECKS: ('pkce' | 'state' | 'nonce')[] = ['pkce', 'state', 'nonce']

function common({ clientId, clientSecret, scope = 'openid wallet', name = 'Wallet' }: AuthjsOptions) {
  return {
    id: 'grantor' as const,
    name,
    // Without this check, NextAuth.js 4 would send `undefined` in a request, which the service refuses without the reason.
    clientId: requireOption(clientId, 'clientId'),
    clientSecret: requireOption(clientSecret, 'clientSecret'),
    authorization: { params: { scope } },
    profile: ({ sub }: { sub?: string | null }) => ({ id: String(sub), name: String(sub) }),
  }
}

function requireOption(value: string | undefined, name: string): string {
  if (!value) throw new TypeError(`grantor: ${name} is empty`)
  return value
}

type SignInOf<Token> = { token: Token; account?: { provider: string } | null; profile?: { sub?: string | null } | undefined }

/**
 * Copies the address of the wallet to `session.user.wallet`. `token.sub` is a value of Auth.js and not always the address. If the app has
 * other providers too, their `sub` is no address.
 */
export const callbacks = {
  jwt: <Token extends object>({ token, account, profile }: SignInOf<Token>) =>
    account?.provider === 'grantor' && profile?.sub ? { ...token, wallet: profile.sub } : token,
  session: <Session extends { user?: object | undefined }>({ session, token }: { session: Session; token: object }) => ({
    ...session,
    user: { ...session.user, wallet: (token as { wallet?: string }).wallet },
  }),
}
