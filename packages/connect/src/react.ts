/**
 * A button, and a hook over `signInWithPopup`.
 * @module @grantor/connect/react
 */

'use client'

import { type CSSProperties, createElement, type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { type Connection, type SignedIn, type SignInError, signInSilently, signInWithPopup, signOut } from './index.ts'
import { requireIssuer } from './issuer.ts'
import { MARK } from './mark.ts'

export type SignInStatus = 'signed_out' | 'checking' | 'waiting' | 'signed_in' | 'failed'

export type SignIn = {
  status: SignInStatus
  /** null unless the user is signed in */
  user: SignedIn | null
  /** null unless the last sign-in failed */
  error: SignInError | null
  /** Opens the window. Call `signIn` in the handler of a click. */
  signIn: () => void
  cancel: () => void
  /** Revokes the tokens. The user is signed out of the app even if the revocation fails. */
  signOut: () => void
}

type State = Pick<SignIn, 'status' | 'user' | 'error'>

const SIGNED_OUT: State = { status: 'signed_out', user: null, error: null }

/** With `silent`, the hook first tries to sign the user in without a window. `connection` is read at each sign-in. */
export function useSignIn(connection: Connection, { silent = false }: { silent?: boolean } = {}): SignIn {
  requireIssuer(connection.issuer)
  const [state, setState] = useState<State>(silent ? { ...SIGNED_OUT, status: 'checking' } : SIGNED_OUT)
  const running = useRef<AbortController>(undefined)
  const latest = useRef(connection)
  useEffect(() => {
    latest.current = connection
  })

  /** The outcome of a sign-in that was replaced or cancelled is ignored. */
  const run = useCallback((status: SignInStatus, start: (signal: AbortSignal) => Promise<SignedIn | null>) => {
    running.current?.abort()
    const own = new AbortController()
    running.current = own
    const show = (next: State): void => {
      if (running.current === own) setState(next)
    }
    show({ ...SIGNED_OUT, status })
    start(own.signal).then(
      (user) => show(user ? { status: 'signed_in', user, error: null } : SIGNED_OUT),
      (error: SignInError) => show(error.reason === 'cancelled' ? SIGNED_OUT : { status: 'failed', user: null, error }),
    )
  }, [])

  useEffect(() => {
    // A silent sign-in, which no user began, shows no error if it fails. The user can click the button.
    if (silent) run('checking', (signal) => signInSilently(latest.current, { signal }).catch(() => null))
    return () => running.current?.abort()
  }, [silent, run])

  const end = (): void => {
    running.current?.abort()
    running.current = undefined
    setState(SIGNED_OUT)
  }
  return {
    ...state,
    signIn: () => run('waiting', (signal) => signInWithPopup(latest.current, { signal })),
    cancel: end,
    signOut: () => {
      if (state.user) signOut(latest.current, state.user).catch(() => undefined)
      end()
    },
  }
}

export type SignInButtonProps = {
  /** the value of `useSignIn` */
  signIn?: SignIn
  /** in place of `signIn`: the address at which the server of the app begins the sign-in */
  href?: string
  /** in place of `signIn`: what begins the sign-in, such as `signIn` of NextAuth.js */
  onClick?: () => void
  /** the texts in place of the English ones */
  labels?: Partial<Record<SignInStatus, string>>
  /** `light` and `dark` are fixed; otherwise the `color-scheme` of the page counts */
  theme?: 'light' | 'dark'
  /** replaces all styles */
  className?: string
}

const LABELS: Record<SignInStatus, string> = {
  signed_out: 'Sign in with your wallet',
  checking: 'One moment',
  waiting: 'Waiting for your wallet',
  signed_in: 'Sign out',
  failed: 'Try again',
}

/**
 * A button with the mark and the state of the sign-in. The button works while the user is expected in the other window: a user who closed the
 * window opens it again.
 */
export function SignInButton({ signIn, href, onClick: begin, labels, theme, className }: SignInButtonProps): ReactNode {
  const status = signIn?.status ?? 'signed_out'
  const label = labels?.[status] ?? LABELS[status]
  const wallet = signIn?.user ? ` ${shortenAddress(signIn.user.wallet)}` : ''
  const look = className === undefined ? { style: styleOf(status, theme) } : { className }
  const content = [mark(), createElement('span', { key: 'label' }, label + wallet)]
  if (href !== undefined) return createElement('a', { ...look, href }, content)
  const isBusy = status === 'waiting' || status === 'checking'
  const onClick = begin ?? (status === 'signed_in' ? signIn?.signOut : signIn?.signIn)
  const behaviour = {
    type: 'button',
    onClick,
    disabled: status === 'checking',
    'aria-busy': isBusy,
    'data-status': status,
  } as const
  return createElement('button', { ...look, ...behaviour }, content)
}

function mark(): ReactNode {
  const line = {
    d: MARK,
    fill: 'none',
    stroke: 'currentColor',
    strokeWidth: 3.2,
    strokeLinecap: 'round',
    strokeLinejoin: 'round',
  }
  const picture = { key: 'mark', viewBox: '4 4 24 24', width: 20, height: 20, 'aria-hidden': true, style: { flex: 'none' } }
  return createElement('svg', picture, createElement('path', line as Record<string, unknown>))
}

/** The colours of the pages of the service. */
function styleOf(status: SignInStatus, theme: SignInButtonProps['theme']): CSSProperties {
  const accent = 'light-dark(#0f6a52, #5fd0a8)'
  return {
    ...(theme && { colorScheme: theme }),
    display: 'inline-flex',
    alignItems: 'center',
    justifyContent: 'center',
    gap: '0.6rem',
    boxSizing: 'border-box',
    maxWidth: '100%',
    minHeight: '2.75rem',
    padding: '0.55rem 1.1rem',
    border: 0,
    borderRadius: '0.7rem',
    ...(status === 'signed_in'
      ? { background: 'transparent', color: accent, boxShadow: 'inset 0 0 0 1.5px currentColor' }
      : { background: accent, color: 'light-dark(#ffffff, #06231a)' }),
    opacity: status === 'checking' ? 0.65 : 1,
    textAlign: 'start',
    font: '600 1rem/1.25 system-ui, sans-serif',
    textDecoration: 'none',
    cursor: status === 'checking' ? 'default' : 'pointer',
  }
}

function shortenAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`
}
