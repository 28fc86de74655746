import type { ClientPlace } from '../oauth/redirect-uri.ts'
import type { Scope } from './parts.ts'
import { texts } from './texts.ts'
import { appTitle } from './words.ts'

/** What a login is about, as the auth service tells it. Times in epoch seconds. */
export type LoginRequest = ClientPlace & {
  purpose: Purpose
  /** Empty where the login is for no app. */
  clientName: string
  scopes: Scope[]
  /** Whether the person may leave some of the scopes out. */
  mayChooseScopes: boolean
  resources: string[]
  /** End of what is allowed. */
  until: number
  chainIds: number[]
  /** When this request closes. */
  expiresAt: number
  /** Where another device takes up a login for an app; null where there is no such way. */
  resumeUrl: string | null
  /** The account that the app expects; any other will do as well. */
  loginHint?: string | undefined
}

/** An app asks; or the person wants to see the account page; or to end everything. */
export type Purpose = 'app' | 'account' | 'end_everything'

/** What the page's sentences call the place that the login leads to. */
export function placeOf(request: LoginRequest): string {
  return texts.purpose[request.purpose].place || appTitle(request)
}

/** A single scope cannot be left out: one must stay. */
export function hasChoice({ mayChooseScopes, scopes }: LoginRequest): boolean {
  return mayChooseScopes && scopes.length > 1 && scopes.some(({ required }) => !required)
}
