/**
 * Signing in to the console: the authorization code flow with PKCE (RFC 6749 §4.1, RFC 7636), as in every app. The state and the code
 * verifier are in a sealed cookie. So an authorization response is accepted once, and only in the browser that began the sign-in. The code is redeemed inside of the
 * process, and the tokens are discarded.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { adminResourceOf } from '../../domain/operators/authorize-operator.ts'
import { CONSOLE_CLIENT_ID, consoleCallbackOf } from '../../domain/operators/console-client.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { ADMIN_SCOPES } from '../../domain/operators/roles.ts'
import { exchangeCode } from '../../domain/tokens/exchange-code.ts'
import { setCookie } from '../../http/cookies.ts'
import { openAccessToken } from '../../protocol/keys/access-token.ts'
import { type SealedFormat, sealedFormat } from '../../protocol/keys/sealed.ts'
import { OAuthError } from '../../protocol/oauth/oauth-error.ts'
import { isSameSecret } from '../../protocol/oauth/same-secret.ts'
import type { Admin } from '../api/admin.ts'
import { requirePost } from './form.ts'
import { redirectTo, sendPage } from './replies.ts'
import { consoleCookie, endConsoleSession, grantIdOfCookie, openCookie, readVisitor, startConsoleSession } from './session.ts'
import { signInPage } from './sign-in-page.ts'

/** Seconds in which the operator signs. */
const SIGN_IN_AT_MOST = 900

type SignIn = { state: string; codeVerifier: string; to: string; expiresAt: number }
const SIGN_IN: SealedFormat<SignIn> = sealedFormat('consoleSignIn')

export function signInRoutes(server: FastifyInstance, admin: Admin): void {
  server.get('/console/sign-in', async (request, reply) => beginSignIn(admin, request, reply))
  server.get('/console/callback', async (request, reply) => finishSignIn(admin, request, reply))
  server.post('/console/sign-out', async (request, reply) => {
    const visitor = await readVisitor(admin, request, reply)
    if (visitor.kind !== 'none') {
      requirePost(admin, request, { grantId: visitor.grant.id, path: '/console/sign-out' })
      await endOwnGrant(admin, visitor.grant.id)
    }
    endConsoleSession(admin, reply)
    return redirectTo(reply, '/console')
  })
}

function beginSignIn(admin: Admin, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { deps, adminUrl } = admin
  // An image or a prefetch on another page must not replace a sign-in that is under way.
  const { 'sec-fetch-dest': destination, 'sec-purpose': purpose } = request.headers
  if ((destination !== undefined && destination !== 'document') || purpose !== undefined)
    return sendPage(reply.code(403), signInPage({ why: 'signed_out', to: '/console' }))
  const { to } = request.query as { to?: unknown }
  const codeVerifier = randomBytes(32).toString('base64url')
  const state = randomBytes(32).toString('base64url')
  const expiresAt = deps.now() + SIGN_IN_AT_MOST
  const value = SIGN_IN.seal(deps.keys, { state, codeVerifier, to: ownPath(to), expiresAt })
  setCookie(reply, consoleCookie(admin, 'sign_in'), { value, seconds: SIGN_IN_AT_MOST })
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: CONSOLE_CLIENT_ID,
    redirect_uri: consoleCallbackOf(adminUrl),
    scope: ADMIN_SCOPES.join(' '),
    resource: adminResourceOf(adminUrl),
    state,
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
    // The operator signs each time, even if the browser has a session.
    prompt: 'login',
  })
  return redirectTo(reply, `${deps.settings.authUrl}/oauth/authorize?${query.toString()}`)
}

async function finishSignIn(admin: Admin, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { deps, store, adminUrl } = admin
  const begun = openCookie({ admin, request, name: 'sign_in' }, SIGN_IN)
  const { state, code, iss } = request.query as Record<string, unknown>
  if (!begun || begun.expiresAt <= deps.now() || typeof state !== 'string' || !isSameSecret(state, begun.state))
    return sendPage(reply.code(400), signInPage({ why: 'unexpected_answer', to: '/console' }))
  setCookie(reply, consoleCookie(admin, 'sign_in'), { value: '', seconds: 0 })
  // RFC 9207 §2.4
  if (typeof code !== 'string' || iss !== deps.settings.authUrl)
    return sendPage(reply, signInPage({ why: 'cancelled', to: begun.to }))
  const granted = await redeemSignIn(admin, code, begun.codeVerifier)
  if (granted === null) return sendPage(reply.code(400), signInPage({ why: 'unexpected_answer', to: begun.to }))
  const operator = (await readOperators(store)).find(({ id }) => id === granted.wallet)
  if (!operator) {
    await endOwnGrant(admin, granted.grantId)
    deps.audit({ event: 'refused', reason: 'not_an_operator', request_id: request.id })
    return sendPage(reply.code(403), signInPage({ why: 'not_an_operator', wallet: granted.wallet, to: begun.to }))
  }
  const before = grantIdOfCookie(admin, request)
  if (before !== null) await endOwnGrant(admin, before)
  startConsoleSession(admin, reply, granted.grantId)
  return redirectTo(reply, `${adminUrl}${begun.to}`)
}

/** The grant of a code and its wallet; null if the code is refused. */
async function redeemSignIn({ deps, adminUrl }: Admin, code: string, codeVerifier: string) {
  const client = await deps.clients.findRegistered(CONSOLE_CLIENT_ID)
  if (!client) throw new Error('the client of the console is missing')
  try {
    const redirectUri = consoleCallbackOf(adminUrl)
    const tokens = await exchangeCode(deps, client, { code, redirectUri, codeVerifier, resources: [], proof: null })
    const claims = openAccessToken(deps.keys, deps.settings.authUrl, tokens.access_token)
    if (claims?.grant_id === undefined) throw new Error('the access token has no grant')
    return { grantId: claims.grant_id, wallet: claims.sub }
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    deps.audit({ event: 'refused', reason: error.reason, client_id: CONSOLE_CLIENT_ID })
    return null
  }
}

async function endOwnGrant({ deps, store }: Admin, grantId: string): Promise<void> {
  const grant = await store.grants.readGrant(grantId)
  if (!grant || (await store.grants.endGrant(grantId, 'user', deps.now())) !== 'ended') return
  const { wallet, clientId: client_id } = grant
  await deps.audit({ event: 'grant_ended', reason: 'user', client_id, grant_id: grantId, wallet })
}

/** A page of the console to return to. Any other address is replaced, so a link cannot lead to another site. */
function ownPath(to: unknown): string {
  return typeof to === 'string' && to.length <= 500 && /^\/console(?:[/?][\w\-./?=&%:~+]*)?$/.test(to) ? to : '/console'
}
