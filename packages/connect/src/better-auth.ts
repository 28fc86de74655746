/**
 * The configuration for the plugin `genericOAuth` of Better Auth.
 * @module @grantor/connect/better-auth
 */
import { requireIssuer } from './issuer.ts'

export type BetterAuthOptions = {
  /** the URL of the service */
  issuer: string
  clientId: string
  clientSecret: string
  /** `openid` and `wallet` unless given */
  scopes?: string[]
}

/**
 * An entry of `genericOAuth({ config: [grantor({ … })] })`. The redirect URI is `{your app}/api/auth/callback/grantor`.
 *
 * Better Auth needs an email address for each user, and a wallet has none. Each new user gets a random one under `.invalid`, a domain that never
 * exists (RFC 2606). If the address could be computed, as `0x….invalid` can, another person could register it first.
 */
export function grantor({ issuer, clientId, clientSecret, scopes = ['openid', 'wallet'] }: BetterAuthOptions) {
  return {
    providerId: 'grantor' as const,
    name: 'Wallet',
    discoveryUrl: `${requireIssuer(issuer)}/.well-known/openid-configuration`,
    requireIdTokenVerification: true,
    clientId,
    clientSecret,
    authentication: 'basic' as const,
    scopes,
    pkce: true,
    mapProfileToUser: ({ sub }: { sub?: string | number | null | undefined }) => ({
      name: String(sub),
      email: `${crypto.randomUUID()}@wallet.invalid`,
      emailVerified: false,
    }),
  }
}
