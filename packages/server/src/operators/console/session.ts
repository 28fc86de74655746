/**
 * The session of the console: a sealed cookie that names the operator's grant. The grant, the list of operators and the scopes of the grant
 * are read for each page, so an ended grant or a removed operator has no access from the next request on. The cookie contains no token.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isOver } from '../../domain/model/ended-grants.ts'
import type { Grant } from '../../domain/model/records.ts'
import { CONSOLE_CLIENT_ID } from '../../domain/operators/console-client.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { type Cookie, readCookie, setCookie } from '../../http/cookies.ts'
import { type SealedFormat, sealedFormat } from '../../protocol/keys/sealed.ts'
import type { Admin } from '../api/admin.ts'
import type { Actor } from '../operations/service.ts'

/** Seconds. */
const IDLE_AT_MOST = 3600
const SESSION_AT_MOST = 8 * 3600
/** The cookie is set again at most this often. */
const SEEN_EVERY = 60

type ConsoleSession = { grantId: string; signedInAt: number; seenAt: number }
const SESSION: SealedFormat<ConsoleSession> = sealedFormat('consoleSession')

/** `not_an_operator`: signed in, but not or no longer in the list of operators. */
export type Visitor =
  | { kind: 'operator'; actor: Actor; grant: Grant }
  | { kind: 'none' }
  | { kind: 'not_an_operator'; grant: Grant }

export function startConsoleSession(admin: Admin, reply: FastifyReply, grantId: string): void {
  const at = admin.deps.now()
  const value = SESSION.seal(admin.deps.keys, { grantId, signedInAt: at, seenAt: at })
  setCookie(reply, consoleCookie(admin, 'session'), { value, seconds: SESSION_AT_MOST })
}

export function endConsoleSession(admin: Admin, reply: FastifyReply): void {
  setCookie(reply, consoleCookie(admin, 'session'), { value: '', seconds: 0 })
}

function readConsoleSession(admin: Admin, request: FastifyRequest): ConsoleSession | undefined {
  return openCookie({ admin, request, name: 'session' }, SESSION)
}

/** The grant of the session cookie, also if the session is over; null without a cookie of this service. */
export function grantIdOfCookie(admin: Admin, request: FastifyRequest): string | null {
  return readConsoleSession(admin, request)?.grantId ?? null
}

/** Reads the session of a request. If the cookie is older than a minute, a new one records the time of this use. */
export async function readVisitor(admin: Admin, request: FastifyRequest, reply: FastifyReply): Promise<Visitor> {
  const { deps, store } = admin
  const session = readConsoleSession(admin, request)
  const at = deps.now()
  if (!session || session.signedInAt + SESSION_AT_MOST <= at || session.seenAt + IDLE_AT_MOST <= at) return { kind: 'none' }
  const grant = await store.grants.readGrant(session.grantId)
  if (!grant || grant.clientId !== CONSOLE_CLIENT_ID || isOver(grant, at)) return { kind: 'none' }
  const operator = (await readOperators(store)).find(({ id }) => id === grant.wallet)
  if (!operator) return { kind: 'not_an_operator', grant }
  if (session.seenAt + SEEN_EVERY <= at) {
    const seconds = session.signedInAt + SESSION_AT_MOST - at
    setCookie(reply, consoleCookie(admin, 'session'), { value: SESSION.seal(deps.keys, { ...session, seenAt: at }), seconds })
  }
  return { kind: 'operator', actor: { kind: 'listed', id: operator.id, role: operator.role, scopes: grant.scopes }, grant }
}

/** In characters. The sealed values of the console are shorter. */
const VALUE_AT_MOST = 2000

type CookieName = 'session' | 'sign_in' | 'secret'

/** The answer to the sign-in comes from another site, and so may a link to a page. A GET changes nothing. */
export function consoleCookie({ adminUrl }: Admin, name: CookieName): Cookie {
  return { origin: adminUrl, name: `grantor_console_${name}` }
}

type Presented = { admin: Admin; request: FastifyRequest; name: CookieName }

/** Undefined for a value that this service did not seal. */
export function openCookie<Value>({ admin, request, name }: Presented, format: SealedFormat<Value>): Value | undefined {
  const value = readCookie(request, consoleCookie(admin, name)) ?? ''
  return value !== '' && value.length <= VALUE_AT_MOST ? format.open(admin.deps.keys, value) : undefined
}
