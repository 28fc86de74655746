/**
 * The lifetimes of what a client gets, in seconds: the client's own, within the bounds of the operator, or those of the service. A client that
 * no operator registered has none of its own. The bounds also decide how long keys are kept and how long the feed of endings keeps entries, so the
 * functions of this file apply the bounds at each use, whatever is registered.
 */
import type { Lifetimes } from './deps.ts'
import type { Client } from './records.ts'

type Of<Member extends keyof Client> = Pick<Client, Member>

export function accessTokenLifetime(
  { accessToken, longest }: Lifetimes,
  { accessTokenLifetime: own }: Of<'accessTokenLifetime'>,
) {
  return own === null ? accessToken : Math.min(own, longest.accessToken)
}

/** FAPI 2.0 Security Profile §5.3.2.1: "shall issue authorization codes with a maximum lifetime of 60 seconds" */
const CODE_LIFETIME_FAPI2 = 60

/** An operator cannot lengthen codes for one client: a code is used at once. */
export function codeLifetime({ code }: Lifetimes, { codeLifetime: own, profile }: Of<'codeLifetime' | 'profile'>): number {
  const lifetime = own === null ? code : Math.min(own, code)
  return profile === 'fapi2' ? Math.min(lifetime, CODE_LIFETIME_FAPI2) : lifetime
}

/** The store lets no refresh token outlive its grant. */
export function refreshIdleLifetime(
  { refreshIdle, longest }: Lifetimes,
  { refreshIdleLifetime: own }: Of<'refreshIdleLifetime'>,
) {
  return own === null ? refreshIdle : Math.min(own, longest.refreshIdle)
}

export function grantLifetime({ grant, longest }: Lifetimes, { grantLifetime: own }: Of<'grantLifetime'>): number {
  return own === null ? grant : Math.min(own, longest.grant)
}

/** One line for each lifetime that is longer than the operator allows. */
export function lifetimeWarnings({ code, longest }: Lifetimes, client: Client): string[] {
  const bounds: readonly (readonly [own: number | null, most: number, words: string])[] = [
    [client.codeLifetime, code, 'codes'],
    [client.accessTokenLifetime, longest.accessToken, 'access tokens'],
    [client.refreshIdleLifetime, longest.refreshIdle, 'unused refresh tokens'],
    [client.grantLifetime, longest.grant, 'grants'],
  ]
  return bounds
    .filter(([own, most]) => own !== null && own > most)
    .map(
      ([own, most, words]) =>
        `The service lets ${words} live for at most ${most} seconds, so the ${own} of this client have no effect.`,
    )
}
