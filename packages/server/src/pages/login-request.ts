import type { Limit } from '@grantor/protocol/limit'
import type { ClientPlace } from '../protocol/oauth/redirect-uri.ts'
import type { UiLocale } from '../protocol/oauth/ui-locales.ts'
import type { Texts } from './catalogue.ts'
import type { Scope } from './parts.ts'
import { appTitle } from './words.ts'

/** The login request that the auth service describes. Times in epoch seconds. */
export type LoginRequest = ClientPlace & {
  purpose: LoginPurpose
  /** Empty if the login is not for an app. */
  clientName: string
  /** The address of the logo that an operator uploaded for the app. */
  clientLogo?: string | undefined
  scopes: Scope[]
  /** Whether the user may leave out some of the scopes. */
  mayChooseScopes: boolean
  resources: string[]
  /** The limit of one of the scopes, which the user can lower; absent if no scope has a limit. */
  limit?: (Limit & { scope: string }) | undefined
  /** The end of the permissions. */
  until: number
  chainIds: number[]
  /** The chain on which contract wallets sign in, if there is one. */
  homeChainId?: number | undefined
  /** The end of this login request. */
  expiresAt: number
  /** The URL with which another device continues a login for an app; null if that is not possible. */
  resumeUrl: string | null
  /** The account that the app expects; any other account is accepted too. */
  loginHint?: string | undefined
  /** The language that the app requests. */
  uiLocale?: UiLocale | undefined
  /** The code that the device or the other browser shows; only for the purposes `device` and `cross_device`. */
  userCode?: string | undefined
  /** The one action to sign, and the host of the API that asks; only for the purpose `approval`. */
  approval?: { summary: string; api: string } | undefined
  /** How a wallet on another device signs in this browser; absent if not offered. */
  crossDevice?: CrossDevice | undefined
}

export type CrossDevice = {
  /** The page for the other device. */
  url: string
  /** The letters that the user compares. */
  code: string
  /** Where this browser continues after the other device has signed. */
  continueUrl: string
  signed: boolean
}

/**
 * A login for an app, for an app on another device, for an app in the browser on another device, to sign one action, for the account page, or to end
 * everything.
 */
export type LoginPurpose = 'app' | 'device' | 'cross_device' | 'approval' | 'account' | 'end_everything'

/** The name that the page's sentences use for the destination of the login. */
export function requestPlace(request: LoginRequest, texts: Texts): string {
  return texts.purpose[request.purpose].place || appTitle(request, texts)
}

/** If there is one scope only, it cannot be left out: at least one must stay. */
export function hasChoice({ mayChooseScopes, scopes }: LoginRequest): boolean {
  return mayChooseScopes && scopes.length > 1 && scopes.some(({ required }) => !required)
}
