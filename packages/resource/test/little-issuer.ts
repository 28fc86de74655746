import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

type Algorithm = 'ES256' | 'EdDSA' | 'RS256'
export type Answer = { status: number; headers?: Record<string, string>; json: unknown }
/** A request whose connection breaks before the response. */
export const LOST = 'lost'
type Asked = { form: URLSearchParams; authorization: string | undefined }
type AnswerLater = (asked: Asked) => Promise<Answer | typeof LOST>
export interface LittleIssuer {
  url: string
  /** The time in seconds since the epoch. Tests can change the time. */
  clock: { now: number }
  /** The response of each endpoint. Tests can replace each function. */
  answers: { metadata: () => Answer; jwks: () => Answer; introspect: (token: string) => Answer }
  /** The responses of `/oauth/approvals` and `/oauth/approvals/use`; 404 if absent. */
  approvals?: { ask: AnswerLater; use: AnswerLater }
  /** The responses of `/oauth/draw` and `/oauth/draw/return`; 404 if absent. */
  draws?: { draw: AnswerLater; giveBack: AnswerLater }
  /** The response of `/oauth/token`; 404 if absent. */
  answerToken?: AnswerLater
  /** Writes the response of `/oauth/endings`. If set, the metadata name this endpoint. */
  answerEndings?: (request: IncomingMessage, response: ServerResponse) => void
  /** The requests so far, in their order. */
  requests: { path: string; authorization: string | undefined; contentType: string | undefined; body: string }[]
  sign(
    claims?: Record<string, unknown>,
    header?: { typ?: string | undefined; kid?: string },
    algorithm?: Algorithm,
  ): Promise<string>
  /** Signs exactly these claims. */
  signClaims(
    claims: Record<string, unknown>,
    header?: { typ?: string | undefined; kid?: string },
    algorithm?: Algorithm,
  ): Promise<string>
  /** The introspection response for an active token, with all nine members. */
  active(token: string): Record<string, unknown>
  close(): Promise<void>
}

export const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
export const clientId = '6f1c2d9e-3b57-4f0a-9a4e-1c2b3d4e5f60'
export const audience = 'https://api.example.com/'

/** A small authorization server on a real socket, with real keys, a JWK Set and introspection. `path` is the path of the issuer. */
export async function startLittleIssuer(path = ''): Promise<LittleIssuer> {
  const keys = {
    ES256: await generateKeyPair('ES256'),
    EdDSA: await generateKeyPair('EdDSA'),
    RS256: await generateKeyPair('RS256'),
  }
  const jwks = await Promise.all(
    Object.entries(keys).map(async ([alg, { publicKey }]) =>
      Object.assign(await exportJWK(publicKey), { alg, kid: alg, use: 'sig' }),
    ),
  )
  const server = createServer((request, response) => void reply(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}${path}`

  const issuer: LittleIssuer = {
    url,
    clock: { now: 1_800_000_000 },
    requests: [],
    answers: {
      metadata: () =>
        ok({
          issuer: url,
          jwks_uri: `${url}/oauth/jwks`,
          introspection_endpoint: `${url}/oauth/introspect`,
          ...(issuer.answerEndings ? { endings_endpoint: `${url}/oauth/endings` } : {}),
        }),
      jwks: () => ok({ keys: jwks }),
      introspect: (token) => ok(issuer.active(token)),
    },
    async sign(claims = {}, header = {}, algorithm = 'ES256') {
      const now = issuer.clock.now
      const usual = {
        iss: url,
        sub: wallet,
        aud: audience,
        client_id: clientId,
        exp: now + 600,
        iat: now,
        jti: 'jti-1',
        scope: 'enhancement',
      }
      return await issuer.signClaims({ ...usual, ...claims }, header, algorithm)
    },
    async signClaims(claims, header = {}, algorithm = 'ES256') {
      return await new SignJWT(claims)
        .setProtectedHeader(Object.assign({ typ: 'at+jwt', alg: algorithm, kid: algorithm }, header))
        .sign(keys[algorithm].privateKey)
    },
    active(token) {
      const { sub, client_id, exp, iat, iss, jti, scope } = claimsOf(token)
      return { active: true, client_id, exp, iat, iss, jti, scope, sub, token_type: 'Bearer' }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const target = request.url ?? ''
    const { authorization, 'content-type': contentType } = request.headers
    issuer.requests.push({ path: target, authorization, contentType, body })
    if (target.split('?')[0] === `${path}/oauth/endings` && issuer.answerEndings) return issuer.answerEndings(request, response)
    const answer = await answerTo(target, body, authorization)
    if (answer === LOST) return void response.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(typeof answer.json === 'string' ? answer.json : JSON.stringify(answer.json))
  }

  async function answerTo(target: string, body: string, authorization: string | undefined): Promise<Answer | typeof LOST> {
    if (target === `/.well-known/oauth-authorization-server${path}`) return issuer.answers.metadata()
    if (target === `${path}/oauth/jwks`) return issuer.answers.jwks()
    if (target === `${path}/oauth/introspect`) return issuer.answers.introspect(new URLSearchParams(body).get('token') ?? '')
    const asked = { form: new URLSearchParams(body), authorization }
    if (target === `${path}/oauth/approvals` && issuer.approvals) return issuer.approvals.ask(asked)
    if (target === `${path}/oauth/approvals/use` && issuer.approvals) return issuer.approvals.use(asked)
    if (target === `${path}/oauth/token` && issuer.answerToken) return issuer.answerToken(asked)
    if (target === `${path}/oauth/draw` && issuer.draws) return issuer.draws.draw(asked)
    if (target === `${path}/oauth/draw/return` && issuer.draws) return issuer.draws.giveBack(asked)
    return { status: 404, json: {} }
  }

  return issuer
}

export function ok(json: unknown): Answer {
  return { status: 200, json }
}

export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
}
