/**
 * The session of the console: a sealed cookie that names the operator's grant. The grant, the list of operators and the scopes of the grant
 * are read for each page, so an ended grant or a removed operator has no access from the next request on. The cookie contains no token.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Admin } from '../admin/admin.ts'
import type { Grant } from '../domain/model/records.ts'
import { CONSOLE_CLIENT_ID } from '../domain/operators/console-client.ts'
import { readOperators } from '../domain/operators/operators.ts'
import { type SealedFormat, sealedFormat } from '../keys/sealed.ts'
import type { Actor } from '../operations/service.ts'

/** Seconds. */
const IDLE_AT_MOST = 3600
const SESSION_AT_MOST = 8 * 3600
/** The cookie is set again at most this often. */
const SEEN_EVERY = 60

type Session = { grantId: string; signedInAt: number; seenAt: number }
const SESSION: SealedFormat<Session> = sealedFormat('consoleSession')

/** `not_an_operator`: signed in, but not or no longer in the list of operators. */
export type Visitor =
  | { kind: 'operator'; actor: Actor; grant: Grant }
  | { kind: 'none' }
  | { kind: 'not_an_operator'; grant: Grant }

export function startSession(admin: Admin, reply: FastifyReply, grantId: string): void {
  const at = admin.deps.now()
  setCookie(admin, reply, 'session', {
    value: SESSION.seal(admin.deps.keys, { grantId, signedInAt: at, seenAt: at }),
    seconds: SESSION_AT_MOST,
  })
}

export function endSession(admin: Admin, reply: FastifyReply): void {
  setCookie(admin, reply, 'session', { value: '', seconds: 0 })
}

/** The grant of the session cookie, also if the session is over; null without a cookie of this service. */
export function grantIdOfCookie(admin: Admin, request: FastifyRequest): string | null {
  const cookie = readCookie(admin, request, 'session')
  return (cookie === null ? undefined : SESSION.open(admin.deps.keys, cookie))?.grantId ?? null
}

/** Reads the session of a request. If the cookie is older than a minute, a new one records the time of this use. */
export async function readVisitor(admin: Admin, request: FastifyRequest, reply: FastifyReply): Promise<Visitor> {
  const { deps, store } = admin
  const cookie = readCookie(admin, request, 'session')
  const session = cookie === null ? undefined : SESSION.open(deps.keys, cookie)
  const at = deps.now()
  if (!session || session.signedInAt + SESSION_AT_MOST <= at || session.seenAt + IDLE_AT_MOST <= at) return { kind: 'none' }
  const grant = await store.grants.readGrant(session.grantId)
  if (!grant || grant.clientId !== CONSOLE_CLIENT_ID || grant.endedAt !== null || grant.expiresAt <= at) return { kind: 'none' }
  const operator = (await readOperators(store)).find(({ id }) => id === grant.wallet)
  if (!operator) return { kind: 'not_an_operator', grant }
  if (session.seenAt + SEEN_EVERY <= at) {
    const seconds = session.signedInAt + SESSION_AT_MOST - at
    setCookie(admin, reply, 'session', { value: SESSION.seal(deps.keys, { ...session, seenAt: at }), seconds })
  }
  return { kind: 'operator', actor: { kind: 'listed', id: operator.id, role: operator.role, scopes: grant.scopes }, grant }
}

type CookieName = 'session' | 'sign_in'
/** In characters. The sealed values of the console are shorter. */
const VALUE_AT_MOST = 2000
const COOKIES_AT_MOST = 200

/** The prefix `__Host-` needs https; plain http exists on loopback only. */
const nameOf = ({ adminUrl }: Admin, name: CookieName): string =>
  `${adminUrl.startsWith('https:') ? '__Host-' : ''}grantor_console_${name}`

/**
 * SameSite=Lax: the answer to the sign-in comes from another site, and so may a link to a page. A GET changes nothing, and browsers never
 * send the cookie with a form post of another site.
 */
export function setCookie(admin: Admin, reply: FastifyReply, name: CookieName, cookie: { value: string; seconds: number }): void {
  const secure = admin.adminUrl.startsWith('https:') ? '; Secure' : ''
  const { value, seconds } = cookie
  void reply.header('set-cookie', `${nameOf(admin, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`)
}

/** The first cookie of that name: browsers send the most specific cookie first. */
export function readCookie(admin: Admin, { headers }: FastifyRequest, name: CookieName): string | null {
  for (const pair of (headers.cookie ?? '').split(';', COOKIES_AT_MOST)) {
    const [key, value = ''] = pair.trim().split('=', 2)
    if (key === nameOf(admin, name)) return value !== '' && value.length <= VALUE_AT_MOST ? value : null
  }
  return null
}
