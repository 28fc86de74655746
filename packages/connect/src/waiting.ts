/**
 * How a page gets the response from a window or a frame that it opened: over a BroadcastChannel, which only scripts of the same origin can
 * use. `window.opener` and `popup.closed` cannot be used: the pages of the service have an opener policy, so the browser separates the two
 * windows, and `closed` is true as soon as the window shows the service.
 */
import { SignInError } from './sign-in-error.ts'

const CHANNEL = 'grantor-connect'

/** The callback page sends `response`. The page that waits for this `state` sends `received`. */
type Message = { kind: 'response'; state: string; response: string } | { kind: 'received'; state: string }

/** The callback page waits this long for the page that began the sign-in. */
const REPLY_TIME_MS = 2000

export type Waiting = { signal?: AbortSignal | undefined; timeoutMs: number }

/** Resolves with the parameters of the response that has this `state`. */
export async function awaitResponse(state: string, { signal, timeoutMs }: Waiting): Promise<URLSearchParams> {
  const channel = new BroadcastChannel(CHANNEL)
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>()
  const cancel = (): void => reject(new SignInError('cancelled', 'the app cancelled the sign-in'))
  const timer = setTimeout(() => reject(new SignInError('timed_out', `no response within ${timeoutMs} ms`)), timeoutMs)
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.kind !== 'response' || data.state !== state) return
    channel.postMessage({ kind: 'received', state } satisfies Message)
    resolve(new URLSearchParams(data.response))
  })
  signal?.addEventListener('abort', cancel)
  if (signal?.aborted) cancel()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
    channel.close()
  }
}

/** Sends the response to the waiting page. Resolves with whether there is such a page. */
export function sendResponse(response: URLSearchParams): Promise<boolean> {
  const state = response.get('state') ?? ''
  const channel = new BroadcastChannel(CHANNEL)
  return new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), REPLY_TIME_MS)
    channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      if (data.kind !== 'received' || data.state !== state) return
      clearTimeout(timer)
      resolve(true)
    })
    channel.postMessage({ kind: 'response', state, response: response.toString() } satisfies Message)
  }).finally(() => channel.close())
}
