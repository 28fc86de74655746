/** What the reader takes from the machine. */
import { randomBytes } from 'node:crypto'

/** Milliseconds of a clock that is never set. */
export function monotonic(): number {
  return performance.now()
}

/**
 * By how many milliseconds the machine's clock is ahead of the monotonic clock. The difference grows if the clock is set forward, and while the
 * machine is suspended: the monotonic clock may not run meanwhile, and the feed would seem fresh.
 */
export function clockAhead(): number {
  // oxlint-disable-next-line eslint/no-restricted-properties -- the machine itself: this module runs in the resource API's process
  return Date.now() - performance.now()
}

/** Waits without keeping the process alive. Ends early when the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = startTimer(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}

/** A timer that does not keep the process alive. */
export function startTimer(call: () => void, milliseconds: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(call, milliseconds)
  // In other runtimes than Node.js, a timer may be a number.
  ;(timer as { unref?: () => void }).unref?.()
  return timer
}

/** Spreads the readers that were disconnected at the same moment. */
export function anyUpTo(milliseconds: number): number {
  // oxlint-disable-next-line eslint/no-restricted-properties -- no secret: a time to wait
  return Math.random() * milliseconds
}

/** 16 bytes in base64url. */
export function newNonce(): string {
  return randomBytes(16).toString('base64url')
}

/** The part of a message of `undici:client:sendHeaders` that is used here. */
type Sent = { request?: { origin?: unknown; path?: unknown }; socket?: { unref?: () => void } }

/**
 * In Node.js, lets the process end although the connection of this request is open: `fetch` has no option for that, but reports each connection
 * that it uses. Returns a function that stops the search for the connection. Elsewhere, and in Node.js before 20.16, nothing happens.
 */
export function unrefConnection({ origin, pathname, search }: URL): () => void {
  const channels = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')
  if (!channels) return () => {}
  const found = (message: unknown) => {
    const { request, socket } = message as Sent
    if (String(request?.origin) === origin && request?.path === `${pathname}${search}`) socket?.unref?.()
  }
  const name = 'undici:client:sendHeaders'
  channels.subscribe(name, found)
  return () => void channels.unsubscribe(name, found)
}
