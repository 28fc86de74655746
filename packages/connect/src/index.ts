/**
 * Signs users in from a page, with a public client and the standard code flow.
 * @module @grantor/connect
 */
import { readMetadata, send } from './metadata.ts'
import { SignInError } from './sign-in-error.ts'
import { beginSignIn, type Connection, type PendingSignIn, requestUrl } from './sign-in-request.ts'
import { finishSignIn, type SignedIn } from './sign-in-response.ts'
import { awaitResponse, sendResponse } from './waiting.ts'

export { SignInError, type SignInErrorReason } from './sign-in-error.ts'
export type { Connection } from './sign-in-request.ts'
export type { SignedIn } from './sign-in-response.ts'

export type WaitOptions = {
  /** cancels the sign-in */
  signal?: AbortSignal | undefined
  /** milliseconds; ten minutes for a window, ten seconds for a silent sign-in, unless given */
  timeoutMs?: number | undefined
}

const POPUP_TIME_MS = 10 * 60_000
const SILENT_TIME_MS = 10_000
const POPUP_FEATURES = 'popup,width=480,height=760'
const STORAGE_PREFIX = 'grantor-connect:'

let current: AbortController | undefined

/**
 * Signs the user in in a window of its own. Call the function in the handler of a click, before any `await`: otherwise browsers block the
 * window. A second call cancels the first one, because a page cannot find out that the user closed the window.
 */
export async function signInWithPopup(connection: Connection, { signal, timeoutMs }: WaitOptions = {}): Promise<SignedIn> {
  const pending = beginSignIn(connection)
  current?.abort()
  // The window must open before the URL is known: computing the URL takes longer than the click lasts.
  const popup = window.open('about:blank', '_blank', POPUP_FEATURES)
  if (!popup) throw new SignInError('popup_blocked', 'the browser opened no window')
  const own = new AbortController()
  current = own
  const waiting = { signal: AbortSignal.any([own.signal, ...(signal ? [signal] : [])]), timeoutMs: timeoutMs ?? POPUP_TIME_MS }
  try {
    const url = await requestUrl(pending, connection.scope)
    popup.location.replace(url)
    return await finishSignIn(pending, await awaitResponse(pending.state, waiting))
  } catch (error) {
    // Closes the window if it still shows `about:blank`. Afterwards, this page no longer has access to the window.
    popup.close()
    throw error
  } finally {
    if (current === own) current = undefined
  }
}

/** The errors of a request with `prompt=none` that mean: the user must take part (OpenID Connect Core §3.1.2.6). */
const USER_NEEDED = ['login_required', 'consent_required', 'interaction_required', 'account_selection_required']

/**
 * Signs the user in without a window, if the browser has a session at the service and the user has consented before. Resolves with null if
 * the user must take part. Browsers that block cookies of other sites have no session in a frame, unless app and service are on one site.
 */
export async function signInSilently(connection: Connection, { signal, timeoutMs }: WaitOptions = {}): Promise<SignedIn | null> {
  const pending = beginSignIn(connection)
  const frame = document.createElement('iframe')
  frame.hidden = true
  frame.src = await requestUrl(pending, connection.scope, 'none')
  const answered = awaitResponse(pending.state, { signal, timeoutMs: timeoutMs ?? SILENT_TIME_MS })
  document.body.append(frame)
  try {
    return await finishSignIn(pending, await answered)
  } catch (error) {
    if (error instanceof SignInError && error.error !== null && USER_NEEDED.includes(error.error)) return null
    throw error
  } finally {
    frame.remove()
  }
}

/** Leaves this page for the service: for browsers that open no windows, such as those inside wallets. The callback page continues. */
export async function signInWithRedirect(connection: Connection): Promise<void> {
  const pending = beginSignIn(connection)
  const url = await requestUrl(pending, connection.scope)
  sessionStorage.setItem(STORAGE_PREFIX + pending.state, JSON.stringify(pending))
  location.assign(url)
}

/**
 * - `signed_in`: a redirect of `signInWithRedirect` has ended here.
 * - `sent`: the page that began the sign-in has the response. This window closes. If the browser keeps the window open, the user closes it.
 * - `no_page_waits`: the page that began the sign-in is gone. The user must begin again.
 */
export type CallbackOutcome = { kind: 'signed_in'; signedIn: SignedIn } | { kind: 'sent' } | { kind: 'no_page_waits' }

/** Call this function in the page of the redirect URI, for every kind of sign-in. */
export async function handleCallback(): Promise<CallbackOutcome> {
  const response = new URLSearchParams(location.search)
  // The code must not stay in the address and in the history.
  history.replaceState(null, '', location.pathname)
  const key = STORAGE_PREFIX + (response.get('state') ?? '')
  const stored = sessionStorage.getItem(key)
  if (stored !== null) {
    sessionStorage.removeItem(key)
    return { kind: 'signed_in', signedIn: await finishSignIn(JSON.parse(stored) as PendingSignIn, response) }
  }
  if (!(await sendResponse(response))) return { kind: 'no_page_waits' }
  if (window.top === window) window.close()
  return { kind: 'sent' }
}

/** Revokes what the user signed in for (RFC 7009). The session at the service stays, so the next sign-in may need no signature. */
export async function signOut({ issuer, clientId }: Connection, { refreshToken, accessToken }: SignedIn): Promise<void> {
  const { revocation_endpoint } = await readMetadata(issuer)
  const answer = await send(revocation_endpoint, new URLSearchParams({ client_id: clientId, token: refreshToken ?? accessToken }))
  if (!answer.ok) throw new SignInError('unavailable', `${revocation_endpoint} answered ${answer.status}`)
}
