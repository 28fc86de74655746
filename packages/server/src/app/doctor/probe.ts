/** Sends the probe of `packages/server/src/http/probe.ts` through the public URL of a server. */
import { LONG_ANSWER, PROBE_PATH, type ProbeAnswer, probedHeaders, probeFor } from '../../http/probe.ts'
import { call, jsonOfCall, reasonOf } from './call.ts'
import type { Probable, Probed, Site } from './check.ts'

/** An address that no client has (RFC 5737). A proxy must replace this address, or add the real one after it. */
export const FORGED_ADDRESS = '192.0.2.1'
/** In characters: as long as an authorization request with a signed request object may be. */
const LONG_QUERY = 6_000

export async function sendProbe(site: Pick<Site, 'settings' | 'now'>, server: Probable): Promise<Probed> {
  const probed = await sendOne(site, server, { [LONG_ANSWER]: '1' })
  if (!('problem' in probed) || !probed.mayBeTooLong) return probed
  // A proxy that does not accept long headers of an answer responds with 502 itself.
  const shorter = await sendOne(site, server, {})
  return 'problem' in shorter ? shorter : { ...shorter, acceptsLongAnswers: false }
}

async function sendOne(
  { settings, now }: Pick<Site, 'settings' | 'now'>,
  server: Probable,
  more: Record<string, string>,
): Promise<Probed> {
  const origin = { auth: settings.authUrl, login: settings.loginUrl, admin: settings.adminUrl ?? '' }[server]
  const probe = probeFor(settings.loginSecret, origin, now())
  const headers = { ...probedHeaders(origin), ...more, 'grantor-probe': probe, 'x-forwarded-for': FORGED_ADDRESS }
  const [sentAt, began] = [now(), performance.now()]
  try {
    const answer = await call(`${origin}${PROBE_PATH}?long=${'x'.repeat(LONG_QUERY)}`, headers)
    const body = jsonOfCall(answer) as ProbeAnswer | null
    if (answer.status !== 200 || body?.service !== server || body.probe !== probe)
      return { problem: probeProblem(answer.status), mayBeTooLong: answer.status >= 500 }
    const { localPort } = answer
    const takenMs = performance.now() - began
    return { answer: body, headers: answer.headers, localPort, sentAt, takenMs, acceptsLongAnswers: true }
  } catch (error) {
    return { problem: reasonOf(error), mayBeTooLong: false }
  }
}

function probeProblem(status: number): string {
  if (status === 404)
    return 'the server does not accept the probe: it has another GRANTOR_LOGIN_SECRET or URL, or is of an earlier version'
  if (status === 414 || status === 431) return `status ${status}: the proxy does not accept a query of ${LONG_QUERY} characters`
  return `status ${status}`
}
