/**
 * The notices about an ended session (OpenID Connect Back-Channel Logout §2.5). A client gets a logout token if the client registered a
 * logout URI and had a valid grant from that session when the session ended.
 */
import { randomUUID } from 'node:crypto'
import { signJwt } from '../../protocol/keys/signed-jwt.ts'
import type { UnawaitedEvent } from '../model/audit-events.ts'
import type { Deps, EndedSessions } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { sidOf } from '../tokens/id-token.ts'
import { signingKeyOf } from '../tokens/signing-key.ts'

/** §2.5: a POST of the form parameter `logout_token`. */
export type LogoutNotice = { clientId: string; url: string; form: { logout_token: string } }

/** Seconds until a logout token expires. §4 recommends at most two minutes. */
const LOGOUT_TOKEN_LIFETIME = 120

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }

export async function logoutNotices(
  deps: Pick<Deps, 'clients' | 'settings' | 'now' | 'keys'>,
  { wallet, clients }: EndedSessions,
): Promise<LogoutNotice[]> {
  const notices: LogoutNotice[] = []
  for (const { clientId, sessionHash } of clients) {
    const client = await deps.clients.findRegistered(clientId)
    if (!client || client.backchannelLogoutUri === null) continue
    const logoutToken = makeLogoutToken(deps, client, wallet, sessionHash)
    notices.push({ clientId, url: client.backchannelLogoutUri, form: { logout_token: logoutToken } })
  }
  return notices
}

/** §2.4: no `nonce` and a special `typ`, so that the token cannot be used as an ID token. Signed like the client's ID tokens (§2.6). */
function makeLogoutToken(
  deps: Pick<Deps, 'settings' | 'now' | 'keys'>,
  client: Client,
  wallet: string,
  sessionHash: string,
): string {
  const key = signingKeyOf(deps, client.idTokenAlgorithm)
  const at = deps.now()
  return signJwt(key, 'logout+jwt', {
    iss: deps.settings.authUrl,
    sub: wallet,
    aud: client.id,
    iat: at,
    exp: at + LOGOUT_TOKEN_LIFETIME,
    jti: randomUUID(),
    events: EVENTS,
    sid: sidOf(sessionHash, client.id),
  })
}

/** The audit event for a notice that was delivered or lost. */
export function logoutEvent({
  delivered,
  clientId,
  why,
}: {
  delivered: boolean
  clientId?: string
  why?: string
}): UnawaitedEvent {
  return {
    event: delivered ? 'logout_notice_delivered' : 'logout_notice_lost',
    ...(why === undefined ? {} : { reason: why }),
    ...(clientId === undefined ? {} : { client_id: clientId }),
  }
}
