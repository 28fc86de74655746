/** A grant as its app knows it, from what the app was told. */
import type { Entry, Tokens } from './history.ts'
import type { AppClient } from './recorded-client.ts'

export type Held = { client: AppClient; code: string; access: string[]; refresh: string; earlier: string[] }

export const isTokens = (told: Entry['told']): told is Tokens => told.kind === 'tokens'

export function heldSince(client: AppClient, code: string, { access, refresh }: Tokens): Held {
  return { client, code, access: [access], refresh, earlier: [] }
}

/** After the answer to a refresh; one of many that were sent at once, perhaps. */
export function moveOn(held: Held, told: Entry['told']): void {
  if (!isTokens(told)) return
  held.access.push(told.access)
  if (told.refresh === held.refresh) return
  held.earlier.push(held.refresh)
  held.refresh = told.refresh
}
