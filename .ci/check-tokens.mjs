// Usage: node check-tokens.mjs ISSUER AUDIENCE CREDENTIALS. Gets a token of its own and checks it with each entry point's core, as an API does.
import { strict as assert } from 'node:assert'
import { createTokenCheck, ResourceError } from '@grantor/resource'

const [issuer, audience, credentials] = process.argv.slice(2)
const { client_id: clientId, client_secret: clientSecret } = JSON.parse(credentials)
for (const adapter of ['express', 'fastify', 'hono', 'next', 'mcp']) await import(`@grantor/resource/${adapter}`)

const response = await fetch(`${issuer}/oauth/token`, {
  method: 'POST',
  headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
  body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience }),
})
const { access_token: token } = await response.json()
const options = { issuer, audience, clientTokens: true }
const requestWith = (text) => new Request(audience, { headers: { authorization: `Bearer ${text}` } })
for (const introspection of [undefined, { clientId, clientSecret }]) {
  const check = createTokenCheck({ ...options, ...(introspection && { introspection }) })
  assert.equal((await check(requestWith(token))).clientId, clientId)
  await assert.rejects(check(requestWith(`${token}x`)), (error) => error instanceof ResourceError && error.status === 401)
}
console.log(`@grantor/resource checks tokens on Node ${process.version}`)
