/** A grant as an app keeps it: the code and the tokens that the app has received. */
import type { Entry, Numbers, Tokens } from './history.ts'
import type { AppClient } from './recorded-client.ts'

export type HeldGrant = {
  client: AppClient
  wallet: string
  code: string
  id: string
  /** null if no scope of the grant has a limit */
  limit: Numbers | null
  access: string[]
  refresh: string
  earlierRefreshTokens: string[]
}

export const isTokens = (response: Entry['response']): response is Tokens => response.kind === 'tokens'

export function newHeldGrant(
  client: AppClient,
  code: string,
  { sub, grantId, access, refresh }: Tokens,
  limit: Numbers | null,
): HeldGrant {
  return { client, wallet: sub, code, id: grantId, limit, access: [access], refresh, earlierRefreshTokens: [] }
}

/** Stores the tokens of the response to a refresh. Responses to simultaneous refreshes may have the same refresh token. */
export function storeTokens(held: HeldGrant, response: Entry['response']): void {
  if (!isTokens(response)) return
  held.access.push(response.access)
  if (response.refresh === held.refresh) return
  held.earlierRefreshTokens.push(held.refresh)
  held.refresh = response.refresh
}
