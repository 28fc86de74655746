import { createProtectedResource, createTokenCheck, type ProtectedResourceOptions } from '@grantor/resource'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LittleIssuer, startLittleIssuer, wallet } from './little-issuer.ts'
import { bearer, refusal } from './refusal.ts'

const RESOURCE = 'https://api.example.com/mcp'
const METADATA = 'https://api.example.com/.well-known/oauth-protected-resource/mcp'

let issuer: LittleIssuer
beforeAll(async () => {
  issuer = await startLittleIssuer()
})
afterAll(() => issuer.close())

const resourceWith = (options: Partial<ProtectedResourceOptions> = {}) =>
  createProtectedResource({ issuer: issuer.url, resource: RESOURCE, now: () => issuer.clock.now, ...options })

const signed = (claims: Record<string, unknown> = {}) => issuer.sign({ aud: RESOURCE, ...claims })

test('The metadata document names the resource and its authorization server, and has no empty member (RFC 9728 §2, §3.2)', () => {
  expect(resourceWith().metadata).toEqual({
    resource: RESOURCE,
    authorization_servers: [issuer.url],
    bearer_methods_supported: ['header'],
  })
})

test('The metadata document has the scopes, the name and the documentation of the resource (RFC 9728 §2)', () => {
  const about = { scopesSupported: ['notes.read', 'notes.write'], name: 'Notes', documentation: 'https://example.com/docs' }
  expect(resourceWith(about).metadata).toMatchObject({
    scopes_supported: ['notes.read', 'notes.write'],
    resource_name: 'Notes',
    resource_documentation: 'https://example.com/docs',
  })
  expect(resourceWith({ scopes: ['notes.read'] }).metadata.scopes_supported).toEqual(['notes.read'])
})

test('The metadata document names the algorithms of DPoP proofs, and whether proofs are required (RFC 9728 §2)', () => {
  const algorithms = ['ES256', 'PS256', 'EdDSA']
  const origin = 'https://api.example.com'
  const optional = resourceWith({ dpop: { origin } }).metadata
  expect(optional).toMatchObject({ dpop_signing_alg_values_supported: algorithms, bearer_methods_supported: ['header'] })
  expect(optional).not.toHaveProperty('dpop_bound_access_tokens_required')
  expect(resourceWith({ dpop: { origin, required: true } }).metadata).toMatchObject({
    dpop_signing_alg_values_supported: algorithms,
    dpop_bound_access_tokens_required: true,
    bearer_methods_supported: [],
  })
})

test('A resource that reads a header of its own supports no method of RFC 6750 (RFC 9728 §2)', () => {
  expect(resourceWith({ header: 'x-access-token' }).metadata.bearer_methods_supported).toEqual([])
})

test.each([
  ['https://api.example.com', '/.well-known/oauth-protected-resource'],
  ['https://api.example.com/', '/.well-known/oauth-protected-resource'],
  ['https://api.example.com/mcp', '/.well-known/oauth-protected-resource/mcp'],
  ['https://api.example.com/a/b/', '/.well-known/oauth-protected-resource/a/b/'],
  ['http://127.0.0.1:4004/mcp', '/.well-known/oauth-protected-resource/mcp'],
])('The metadata of %s are at %s: the well-known path is inserted between host and path (RFC 9728 §3.1)', (resource, path) => {
  const made = resourceWith({ resource })
  expect([made.metadataPath, made.metadataUrl]).toEqual([path, `${new URL(resource).origin}${path}`])
  // §3.3: the document's `resource` is the identifier itself
  expect(made.metadata.resource).toBe(resource)
})

test.each([
  'http://api.example.com/mcp',
  'https://api.example.com/mcp#a',
  'https://api.example.com/mcp?a=b',
  'urn:example:api',
  'api',
])('%s is refused as the identifier of a resource that clients call (RFC 9728 §1.2)', (resource) => {
  expect(() => resourceWith({ resource })).toThrow(TypeError)
})

test('The metadata document is JSON, is returned for GET and HEAD at its own path only, and any origin may read it (RFC 9728 §3.2)', () => {
  const { answerMetadata, metadata } = resourceWith()
  const found = answerMetadata({ method: 'GET', url: `${METADATA}?a=b` })
  expect(found).toMatchObject({
    status: 200,
    headers: { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' },
  })
  expect(JSON.parse(found?.body ?? '')).toEqual(metadata)
  expect(answerMetadata({ method: 'HEAD', url: '/.well-known/oauth-protected-resource/mcp' })).toMatchObject({
    status: 200,
    body: '',
  })
  expect(answerMetadata({ method: 'POST', url: METADATA })?.status).toBe(405)
  expect(answerMetadata({ method: 'GET', url: '/.well-known/oauth-protected-resource' })).toBeUndefined()
  expect(answerMetadata({ method: 'GET', url: '/.well-known/oauth-protected-resource/mcp/' })).toBeUndefined()
})

test('A call without credentials is answered with the address of the metadata and the scopes, and no error (RFC 9728 §5.1, RFC 6750 §3, §3.1)', async () => {
  const error = await refusal(resourceWith({ scopes: ['notes.read'] }).check({ headers: {} }, { scopes: ['notes.write'] }))
  expect(error.wwwAuthenticate).toBe(
    `Bearer realm="${RESOURCE}", scope="notes.read notes.write", resource_metadata="${METADATA}"`,
  )
  expect([error.status, error.scope]).toEqual([401, 'notes.read notes.write'])
})

test('A token of another resource is refused with the address of the metadata (RFC 9728 §5.1, RFC 8707 §3)', async () => {
  const error = await refusal(resourceWith().check(bearer(await issuer.sign({ aud: 'https://api.example.com/other' }))))
  expect([error.status, error.reason]).toEqual([401, 'claim_aud'])
  expect(error.wwwAuthenticate).toMatch(
    /^Bearer realm="[^"]+", error="invalid_token", error_description="[^"]+", resource_metadata="[^"]+"$/,
  )
})

test('A token without a scope is refused with exactly the scopes that the call needs, for the step-up (RFC 6750 §3.1)', async () => {
  const call = bearer(await signed({ scope: 'notes.read profile' }))
  const error = await refusal(resourceWith({ scopes: ['notes.read'] }).check(call, { scopes: ['notes.write', 'notes.read'] }))
  expect([error.status, error.error, error.scope]).toEqual([403, 'insufficient_scope', 'notes.read notes.write'])
  expect(error.wwwAuthenticate).toContain(`scope="notes.read notes.write", resource_metadata="${METADATA}"`)
})

test('Both challenges of an API that accepts bound tokens have the address of the metadata (RFC 9728 §5.1, RFC 9449 §7.2)', async () => {
  const both = resourceWith({ dpop: { origin: 'https://api.example.com' } })
  expect((await refusal(both.check({ headers: {} }, { scopes: ['a'] }))).wwwAuthenticate).toBe(
    `Bearer realm="${RESOURCE}", scope="a", resource_metadata="${METADATA}", ` +
      `DPoP scope="a", resource_metadata="${METADATA}", algs="ES256 PS256 EdDSA"`,
  )
})

test('Without metadata the challenges have no resource_metadata', async () => {
  const check = createTokenCheck({ issuer: issuer.url, audience: RESOURCE })
  expect((await refusal(check({ headers: {} }))).wwwAuthenticate).toBe(`Bearer realm="${RESOURCE}"`)
})

test('A refusal has the error as JSON, and only the log gets the reason', async () => {
  const reasons: string[] = []
  const resource = resourceWith({ onRefusal: ({ reason }) => reasons.push(reason) })
  const admission = await resource.admit(bearer(await signed({ exp: 1 })))
  if (admission.kind !== 'refused') throw new Error('the call was let in')
  expect(admission.answer).toMatchObject({
    status: 401,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
  })
  expect(JSON.parse(admission.answer.body)).toEqual({
    error: 'invalid_token',
    error_description: 'The access token is expired, revoked, malformed or not meant for this API.',
  })
  expect(reasons).toEqual(['expired'])
})

test('An error that is not a refusal is thrown again: it must not look like a refusal', async () => {
  const failing = resourceWith({
    fetch: () => {
      throw new Error('the network of the test')
    },
  })
  const admission = await failing.admit(bearer(await signed()))
  expect(admission).toMatchObject({ kind: 'refused', answer: { status: 503 } })
  expect(() => failing.answerRefusal(new RangeError('a bug'))).toThrow(RangeError)
})

test('A valid token of the resource is admitted', async () => {
  await expect(resourceWith().admit(bearer(await signed()))).resolves.toMatchObject({ kind: 'admitted', token: { wallet } })
})
