/** What every adapter does, over a real socket: the same small API in each framework. */
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { type ApprovalRequest, createProtectedResource, type DrawRequest, type ProtectedResource } from '@grantor/resource'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addApprovals, CREDENTIALS, type LittleApprovals, problem } from './little-approvals.ts'
import { addDraws, GRANT, type LittleDraws } from './little-draws.ts'
import { type LittleIssuer, LOST, ok, startLittleIssuer, wallet } from './little-issuer.ts'

export type LittleApi = { url: string; close: () => Promise<unknown> }

const RESOURCE = 'https://api.example.com/api'
const METADATA = '/.well-known/oauth-protected-resource/api'

/** What the handler of `GET /api/pay` passes to `resource.approve`. */
export const PAYMENT: ApprovalRequest = { key: 'order-7', summary: 'Pay 20 USDC to Alice', action: { to: 'alice', amount: '20' } }

/** What the handler of `GET /api/enhance` passes to `resource.draw`. */
export const USE: DrawRequest = { key: 'picture-7', amount: 4000 }

/**
 * The API of each adapter: `GET /api/me` needs the scope `enhancement` and answers `{ wallet }`, `GET /api/transfer`
 * needs in its handler a sign-in of the last minute, `GET /api/pay` needs the scope `enhancement` and the signature of `PAYMENT` and answers with
 * the receipt, `GET /api/enhance` needs the scope `enhancement`, draws `USE` and answers with the draw, `GET /api/open` reads the token of a route that is not protected.
 */
export function adapterContract(name: string, start: (resource: ProtectedResource) => Promise<LittleApi>): void {
  let issuer: LittleIssuer
  let api: LittleApi
  let approvals: LittleApprovals
  let draws: LittleDraws
  const reasons: string[] = []
  beforeAll(async () => {
    issuer = await startLittleIssuer()
    approvals = addApprovals(issuer)
    draws = addDraws(issuer)
    const resource = createProtectedResource({
      issuer: issuer.url,
      resource: RESOURCE,
      check: 'local',
      introspection: CREDENTIALS,
      now: () => issuer.clock.now,
      onRefusal: ({ reason }) => reasons.push(reason),
    })
    api = await start(resource)
  })
  afterAll(async () => {
    await api.close()
    await issuer.close()
  })

  const call = async (path: string, claims?: Record<string, unknown>) => {
    const token = claims && (await issuer.sign({ aud: RESOURCE, ...claims }))
    return fetch(`${api.url}${path}`, token ? { headers: { authorization: `Bearer ${token}` } } : {})
  }

  test(`${name}: the metadata document is served at the path of RFC 9728 §3.1, to any origin`, async () => {
    const answer = await fetch(`${api.url}${METADATA}`)
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('access-control-allow-origin')]).toEqual([
      200,
      expect.stringMatching(/^application\/json\b/),
      '*',
    ])
    expect(await answer.json()).toMatchObject({ resource: RESOURCE, authorization_servers: [issuer.url] })
    const preflight = await fetch(`${api.url}${METADATA}`, { method: 'OPTIONS' })
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, '*'])
  })

  test(`${name}: a call without a token is answered with 401, the address of the metadata and the scope (RFC 9728 §5.1)`, async () => {
    const answer = await call('/api/me')
    expect([answer.status, answer.headers.get('www-authenticate'), answer.headers.get('cache-control')]).toEqual([
      401,
      `Bearer realm="${RESOURCE}", scope="enhancement", resource_metadata="https://api.example.com${METADATA}"`,
      'no-store',
    ])
    expect(await answer.json()).toEqual({ error_description: 'This call needs an access token.' })
  })

  test(`${name}: the handler of a protected route reads the checked token`, async () => {
    const answer = await call('/api/me', {})
    expect([answer.status, await answer.json()]).toEqual([200, { wallet }])
  })

  test(`${name}: a token without the scope is answered with 403 insufficient_scope (RFC 6750 §3.1)`, async () => {
    const answer = await call('/api/me', { scope: 'profile' })
    expect([answer.status, await answer.json()]).toMatchObject([403, { error: 'insufficient_scope' }])
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(reasons.at(-1)).toBe('scope_missing')
  })

  test(`${name}: a refusal that the handler throws is answered with its challenge (RFC 9470 §3)`, async () => {
    const answer = await call('/api/transfer', { auth_time: issuer.clock.now - 61 })
    expect([answer.status, await answer.json()]).toMatchObject([401, { error: 'insufficient_user_authentication' }])
    expect(answer.headers.get('www-authenticate')).toContain('max_age="60"')
    expect((await call('/api/transfer', { auth_time: issuer.clock.now - 60 })).status).toBe(200)
  })

  test(`${name}: an action without a signature is answered with 403 and a problem document with the link (RFC 9457), without a challenge`, async () => {
    const answer = await call('/api/pay', {})
    expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('www-authenticate')]).toEqual([
      403,
      'no-store',
      null,
    ])
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json\b/)
    expect(await answer.json()).toEqual({
      type: 'urn:grantor:problem:approval_required',
      title: 'The user must sign this action.',
      status: 403,
      detail: expect.stringMatching('not signed'),
      state: 'waiting',
      approval_uri: `${issuer.url}/approve/${approvals.byKey.get(PAYMENT.key)?.id}`,
      user_code: 'WDJB-MJHT',
      expires_in: 600,
      interval: 5,
    })
    expect(reasons.at(-1)).toBe('approval_waiting')
  })

  test(`${name}: an action that the user signed passes once`, async () => {
    approvals.byKey.clear()
    await call('/api/pay', {})
    approvals.settle(PAYMENT.key, 'signed')
    const answer = await call('/api/pay', {})
    expect([answer.status, await answer.json()]).toMatchObject([200, { address: wallet }])
    const again = await call('/api/pay', {})
    expect([again.status, await again.json()]).toMatchObject([403, { state: 'used' }])
  })

  test(`${name}: too many approvals are answered with 429 and Retry-After`, async () => {
    approvals.next.ask.push(problem(429, 'too_many_approvals', {}, { 'retry-after': '90' }))
    const answer = await call('/api/pay', {})
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '90'])
    expect(await answer.json()).toMatchObject({ type: 'urn:grantor:problem:too_many_approvals' })
  })

  test(`${name}: if the authorization server cannot be asked for the signature, the call is answered with 503 and Retry-After`, async () => {
    approvals.next.ask.push(LOST)
    const answer = await call('/api/pay', {})
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await answer.json()).toMatchObject({ type: 'urn:grantor:problem:temporarily_unavailable' })
  })

  test(`${name}: a call draws from the limit that the user signed, and gets what is left`, async () => {
    const answer = await call('/api/enhance', { grant_id: GRANT })
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { grantId: GRANT, draw: 1, left: { uses: 1, amount: 6000 }, until: draws.until },
    ])
  })

  test(`${name}: a call whose limit is used up is answered with 403 insufficient_scope and the scope of the limit (RFC 6750 §3.1)`, async () => {
    draws.next.draw.push(problem(403, 'uses_exceeded', { scope: 'enhancement' }))
    const answer = await call('/api/enhance', { grant_id: GRANT })
    expect([answer.status, answer.headers.get('cache-control'), await answer.json()]).toEqual([
      403,
      'no-store',
      { error: 'insufficient_scope', error_description: 'The user signed a limit for this scope, and no use is left.' },
    ])
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer realm="[^"]+", error="insufficient_scope", error_description="[^"]+", scope="enhancement", resource_metadata="/,
    )
    expect(reasons.at(-1)).toBe('uses_exceeded')
  })

  test(`${name}: a limit that is not set up is a fault of the API: 500, without a challenge, and the log gets the reason`, async () => {
    draws.next.draw.push(problem(403, 'no_limit'))
    const answer = await call('/api/enhance', { grant_id: GRANT })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([500, null])
    expect(await answer.json()).toEqual({
      error: 'server_error',
      error_description: 'This API cannot count its calls, because of a fault in its settings or its program.',
    })
    expect(reasons.at(-1)).toBe('draw_no_limit')
  })

  test(`${name}: if the authorization server cannot count a call, the call is answered with 503 and Retry-After`, async () => {
    draws.next.draw.push(LOST, LOST)
    const answer = await call('/api/enhance', { grant_id: GRANT })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await answer.json()).toMatchObject({ error: 'temporarily_unavailable' })
  })

  test(`${name}: an Authorization header that is sent twice does not reach the handler (RFC 6750 §2)`, async () => {
    const token = await issuer.sign({ aud: RESOURCE })
    const { status, body } = await sendTwice(`${api.url}/api/me`, `Bearer ${token}`)
    expect(status === 400 || status === 401).toBe(true)
    expect(body).not.toHaveProperty('wallet')
  })

  test(`${name}: a route that is not protected has no token, and fails instead of answering`, async () => {
    expect((await call('/api/open', {})).status).toBe(500)
  })

  test(`${name}: while the authorization server fails, calls are answered with 503 and Retry-After`, async () => {
    const other = await startLittleIssuer()
    const resource = createProtectedResource({ issuer: other.url, resource: RESOURCE, now: () => other.clock.now })
    const closed = await start(resource)
    other.answers.jwks = () => ({ ...ok({}), status: 500 })
    const headers = { authorization: `Bearer ${await other.sign({ aud: RESOURCE })}` }
    const answer = await fetch(`${closed.url}/api/me`, { headers })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(answer.headers.get('www-authenticate')).toBeNull()
    await closed.close()
    await other.close()
  })
}

function sendTwice(url: string, authorization: string): Promise<{ status: number | undefined; body: unknown }> {
  const headers = ['Host', 'api', 'Connection', 'close', 'Authorization', authorization, 'Authorization', authorization]
  return new Promise((resolve, reject) => {
    request(url, { headers }, (answer) => {
      json(answer).then((body) => resolve({ status: answer.statusCode, body }), reject)
    })
      .on('error', reject)
      .end()
  })
}
