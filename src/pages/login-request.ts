import type { ClientPlace } from '../oauth/redirect-uri.ts'
import type { Scope } from './parts.ts'
import { texts } from './texts.ts'
import { appTitle } from './words.ts'

/** The login request that the auth service describes. Times in epoch seconds. */
export type LoginRequest = ClientPlace & {
  purpose: Purpose
  /** Empty if the login is not for an app. */
  clientName: string
  scopes: Scope[]
  /** Whether the user may leave out some of the scopes. */
  mayChooseScopes: boolean
  resources: string[]
  /** The end of the permissions. */
  until: number
  chainIds: number[]
  /** The end of this login request. */
  expiresAt: number
  /** The URL with which another device continues a login for an app; null if that is not possible. */
  resumeUrl: string | null
  /** The account that the app expects; any other account is accepted too. */
  loginHint?: string | undefined
  /** The code that the device shows; only for purpose `device`. */
  userCode?: string | undefined
}

/** A login for an app, for an app on another device, for the account page, or to end everything. */
export type Purpose = 'app' | 'device' | 'account' | 'end_everything'

/** The name that the page's sentences use for the destination of the login. */
export function placeOf(request: LoginRequest): string {
  return texts.purpose[request.purpose].place || appTitle(request)
}

/** If there is one scope only, it cannot be left out: at least one must stay. */
export function hasChoice({ mayChooseScopes, scopes }: LoginRequest): boolean {
  return mayChooseScopes && scopes.length > 1 && scopes.some(({ required }) => !required)
}
