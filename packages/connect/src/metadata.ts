/** The endpoints of the service, by OpenID Connect Discovery. */
import { SignInError } from './sign-in-error.ts'

export type Metadata = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  revocation_endpoint: string
}

/** An endpoint that does not respond within this time is unavailable. */
const RESPONSE_TIME_MS = 15_000

const known = new Map<string, Promise<Metadata>>()

/** Requests the metadata once for each issuer. A failure is not remembered. */
export function readMetadata(issuer: string): Promise<Metadata> {
  const earlier = known.get(issuer)
  if (earlier) return earlier
  const reading = requestMetadata(issuer)
  known.set(issuer, reading)
  reading.catch(() => known.delete(issuer))
  return reading
}

async function requestMetadata(issuer: string): Promise<Metadata> {
  const url = `${issuer}/.well-known/openid-configuration`
  const answer = await request(url)
  const metadata = (await answer.json().catch(() => null)) as Metadata | null
  // OpenID Connect Discovery §4.3
  if (metadata?.issuer !== issuer) throw new SignInError('unavailable', `${url} has no metadata of ${issuer}`)
  return metadata
}

/** Throws `unavailable` unless the status is 200. */
async function request(url: string): Promise<Response> {
  const answer = await send(url)
  if (!answer.ok) throw new SignInError('unavailable', `${url} answered ${answer.status}`)
  return answer
}

/** `body` is sent as a form. Throws `unavailable` if there is no response. */
export async function send(url: string, body?: URLSearchParams): Promise<Response> {
  const signal = AbortSignal.timeout(RESPONSE_TIME_MS)
  try {
    return await fetch(url, body ? { method: 'POST', body, signal } : { signal })
  } catch (cause) {
    throw new SignInError('unavailable', `${url} did not answer`, { cause })
  }
}
