// What `@grantor/resource` does with a token, on every runtime: Node, Bun, Deno and Workers run these cases as they are. The credentials are of a
// client with the grant type client_credentials, the scope cases.read and the audience as its resource, which is the resource server too.
import { createProtectedResource, createTokenCheck, ResourceError } from '@grantor/resource'
import '@grantor/resource/express'
import '@grantor/resource/fastify'
import '@grantor/resource/hono'
import '@grantor/resource/mcp'
import '@grantor/resource/next'
import { base64url, exportJWK, generateKeyPair, SignJWT } from 'jose'

function equal(value, expected) {
  const [is, should] = [value, expected].map((each) => JSON.stringify(each))
  if (is !== should) throw new Error(`${is}, not ${should}`)
}

async function refused(answer, status, reason) {
  const error = await answer.then(
    () => new Error('the call was accepted'),
    (thrown) => thrown,
  )
  if (!(error instanceof ResourceError)) throw error
  equal([error.status, error.reason], [status, reason])
}

const sha256 = async (text) =>
  base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))

/** Runs every case, and returns their names. The first case that fails throws an error with its name. */
export async function checkTokens(issuer, audience, { client_id: clientId, client_secret: clientSecret }) {
  const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`
  const post = (path, form, headers = {}) =>
    fetch(`${issuer}${path}`, { method: 'POST', headers: { authorization, ...headers }, body: new URLSearchParams(form) })
  const newToken = async (headers) => {
    const answer = await post(
      '/oauth/token',
      { grant_type: 'client_credentials', scope: 'cases.read', resource: audience },
      headers,
    )
    const { access_token: token, error } = await answer.json()
    if (!token) throw new Error(`no token: ${error}`)
    return token
  }
  const requestWith = (value, headers = {}) =>
    new Request(audience, { headers: { ...(value === null ? {} : { authorization: value }), ...headers } })
  const options = { issuer, audience, clientTokens: true }
  const introspection = { clientId, clientSecret }
  const bySignature = createTokenCheck(options)
  const byIntrospection = createTokenCheck({ ...options, introspection })
  const byProof = createTokenCheck({ ...options, dpop: { origin: new URL(audience).origin } })

  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = await exportJWK(publicKey)
  const proofFor = (htm, htu, claims = {}) =>
    new SignJWT({ htm, htu, jti: crypto.randomUUID(), iat: Math.floor(Date.now() / 1000), ...claims })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
      .sign(privateKey)

  const cases = {
    'a token is accepted by its signature': async () => {
      const { clientId: id, scopes } = await bySignature(requestWith(`Bearer ${await newToken()}`), { scopes: ['cases.read'] })
      equal([id, scopes], [clientId, ['cases.read']])
    },
    'a token is accepted by introspection': async () => {
      equal((await byIntrospection(requestWith(`Bearer ${await newToken()}`))).clientId, clientId)
    },
    'a call without a token is refused with 401': () => refused(bySignature(requestWith(null)), 401, 'no_credentials'),
    'a changed token is refused with 401': async () => {
      const token = await newToken()
      const changed = token.slice(0, -10) + (token.at(-10) === 'A' ? 'B' : 'A') + token.slice(-9)
      await refused(bySignature(requestWith(`Bearer ${changed}`)), 401, 'signature')
    },
    'a token for another API is refused with 401': async () => {
      const other = createTokenCheck({ ...options, audience: 'https://other.example/' })
      await refused(other(requestWith(`Bearer ${await newToken()}`)), 401, 'claim_aud')
    },
    'a token without a scope is refused with 403': async () => {
      await refused(bySignature(requestWith(`Bearer ${await newToken()}`), { scopes: ['cases.write'] }), 403, 'scope_missing')
    },
    'a revoked token is refused with 401 by introspection': async () => {
      const token = await newToken()
      equal((await post('/oauth/revoke', { token })).status, 200)
      await refused(byIntrospection(requestWith(`Bearer ${token}`)), 401, 'inactive')
    },
    'an issuer that does not answer is 503': async () => {
      const unreachable = createTokenCheck({ ...options, fetch: () => Promise.reject(new TypeError('no route')) })
      await refused(unreachable(requestWith(`Bearer ${await newToken()}`)), 503, 'issuer_unreachable')
    },
    'a token that is bound to a key needs a proof, which works once': async () => {
      const token = await newToken({ dpop: await proofFor('POST', `${issuer}/oauth/token`) })
      const dpop = await proofFor('GET', audience, { ath: await sha256(token) })
      await refused(byProof(requestWith(`DPoP ${token}`)), 401, 'proof_missing')
      equal((await byProof(requestWith(`DPoP ${token}`, { dpop }))).clientId, clientId)
      await refused(byProof(requestWith(`DPoP ${token}`, { dpop })), 401, 'proof_replayed')
    },
    'the metadata document names the issuer': async () => {
      const { metadata } = createProtectedResource({ issuer, resource: audience })
      equal([metadata.resource, metadata.authorization_servers], [audience, [issuer]])
    },
  }
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run()
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.message : error}`, { cause: error })
    }
  }
  return Object.keys(cases)
}
