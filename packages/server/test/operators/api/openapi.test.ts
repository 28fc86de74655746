/** The OpenAPI document: the one of the documents, and whether responses are as the document says. */

import { Compile } from 'typebox/compile'
import { expect } from 'vitest'
import { openapiDocument } from '../../../../../scripts/docs/openapi-page.ts'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { parseAnswer, rawExchange, send } from '../../support/send.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

type Operation = { responses: Record<string, { content?: Record<string, { schema: object }> }>; security: unknown[] }
type Document = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, object> } }

test('The OpenAPI document of the documentation is the document that the admin server serves', async ({ grantor }) => {
  const text = (await send(grantor.adminUrl, { path: '/openapi.json' })).body
  const general = text
    .replaceAll(grantor.adminUrl, 'https://admin.example.com')
    .replaceAll(grantor.authUrl, 'https://auth.example.com')
  expect(await openapiDocument()).toEqual(JSON.parse(general))
})

test('Every operation needs a scope, and names it', async ({ grantor }) => {
  const document = (await send(grantor.adminUrl, { path: '/openapi.json' })).json() as unknown as Document
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  expect(operations.length).toBeGreaterThan(20)
  for (const { security } of operations) expect(security).toEqual([{ oauth: [expect.stringMatching(/^admin\./)] }])
})

test('The body of every kind of response is as the document says, also that of a refusal', async ({ grantor, owner }) => {
  const document = (await send(grantor.adminUrl, { path: '/openapi.json' })).json() as unknown as Document
  const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  const resource = {
    resource: 'https://notes.example.net/',
    name: 'Notes',
    scopes: [{ name: 'notes', description: 'read notes' }],
  }
  const uri = encodeURIComponent(resource.resource)
  const created = await owner.call('POST', '/v1/clients', { name: 'New', redirect_uris: ['https://new.example.net/callback'] })
  const { client_id: id } = created.json().client as { client_id: string }
  const calls: [string, string, unknown?][] = [
    ['GET', '/v1/clients?limit=1'],
    ['POST', '/v1/clients', {}],
    ['GET', `/v1/clients/${id}`],
    ['PATCH', `/v1/clients/${id}`, { name: 'Newer' }],
    ['POST', `/v1/clients/${id}/secrets`, { overlap: 0 }],
    ['POST', `/v1/clients/${id}/end-grants`],
    ['DELETE', `/v1/clients/${id}`],
    ['GET', '/v1/clients/unknown'],
    ['GET', '/v1/jobs'],
    ['POST', '/v1/resources', resource],
    ['POST', '/v1/resources', resource],
    ['POST', '/v1/resources', { ...resource, name: 'Other' }],
    ['GET', `/v1/resources/${uri}`],
    ['PATCH', `/v1/resources/${uri}`, { name: 'Newer' }],
    ['GET', '/v1/resources'],
    ['DELETE', `/v1/resources/${uri}`],
    ['DELETE', `/v1/resources/${uri}`],
    ['PUT', `/v1/operators/${wallet}`, { role: 'auditor' }],
    ['PUT', `/v1/operators/${wallet}`, { role: 'operator' }],
    ['GET', '/v1/operators'],
    ['DELETE', `/v1/operators/${wallet}`],
    ['DELETE', `/v1/operators/${owner.client.id}`],
    ['GET', `/v1/grants?wallet=${wallet}&active=true`],
    ['POST', '/v1/grants/end', { wallet }],
    ['GET', '/v1/grants/unknown'],
    ['GET', `/v1/sessions?wallet=${wallet}`],
    ['DELETE', '/v1/sessions/unknown'],
    ['GET', '/v1/audit?limit=5'],
    ['GET', '/v1/keys'],
    ['POST', '/v1/keys', { kind: 'mac' }],
    ['DELETE', '/v1/keys/unknown?at_once=false'],
  ]
  for (const [method, path, body] of calls) {
    const answer = await owner.call(method, path, body)
    const { responses } = operationOf(document, method, path)
    const described = responses[answer.status]
    expect(described, `${method} ${path} answered ${answer.status}: ${answer.body}`).toBeDefined()
    const [type = ''] = (answer.headers['content-type'] ?? '').split(';')
    const schema = withoutReferences(document, described?.content?.[type]?.schema)
    if (answer.body === '') expect(described?.content).toBeUndefined()
    else expect(Compile((schema ?? { not: {} }) as never).Errors(answer.json()), `${method} ${path}`).toEqual([])
  }
})

test('A request that is not JSON, too large, or for an unknown path or method gets a problem document', async ({
  grantor,
  owner,
}) => {
  const text = { 'content-type': 'text/plain' }
  const cases: [number, Promise<Awaited<ReturnType<typeof owner.call>>>][] = [
    [400, owner.call('POST', '/v1/clients', '{')],
    [415, owner.call('POST', '/v1/clients', 'name=x', text)],
    [413, owner.call('POST', '/v1/clients', { name: 'x'.repeat(70_000) })],
    [404, owner.call('GET', '/v1/unknown')],
    [405, owner.call('PATCH', '/v1/keys', {})],
    [404, send(grantor.adminUrl, { path: '/' })],
  ]
  for (const [status, answering] of cases) {
    const answer = await answering
    expect(answer.status).toBe(status)
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect(answer.json()).toMatchObject({ status, request_id: answer.headers['x-request-id'] })
  }
  expect((await owner.call('PATCH', '/v1/keys', {})).headers.allow).toBe('GET, POST')
})

test('A request that the HTTP parser refuses gets a problem document, as any other refusal (RFC 9457, RFC 6585 §5)', async ({
  grantor,
}) => {
  const cases: [status: number, code: string, request: string][] = [
    [431, 'headers_too_large', `GET /v1/clients HTTP/1.1\r\nHost: a\r\nCookie: ${'x'.repeat(17_000)}\r\n\r\n`],
    [431, 'headers_too_large', `GET /v1/clients?q=${'x'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    [400, 'malformed_request', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n'],
    [405, 'method_not_allowed', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
    [417, 'expectation_failed', 'GET /v1/clients HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n\r\n'],
  ]
  for (const [status, code, request] of cases) {
    const answer = parseAnswer(await rawExchange(grantor.adminUrl, request))
    expect(answer.json()).toEqual({
      type: 'about:blank',
      title: expect.any(String) as string,
      status,
      code,
      detail: expect.stringMatching(/\.$/) as string,
      request_id: answer.headers['x-request-id'],
    })
    expect(answer.status).toBe(status)
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
  }
})

/** The operation whose path has the same segments, apart from parameters. */
function operationOf(document: Document, method: string, path: string): Operation {
  const segments = (path.split('?')[0] ?? '').split('/')
  const fits = (pattern: string) => {
    const each = pattern.split('/')
    return each.length === segments.length && each.every((part, i) => part.startsWith('{') || part === segments[i])
  }
  const [, operations] = Object.entries(document.paths).find(([pattern, of]) => fits(pattern) && method.toLowerCase() in of) ?? []
  const operation = operations?.[method.toLowerCase()]
  if (!operation) throw new Error(`the document has no ${method} ${path}`)
  return operation
}

/** The schema with each reference replaced by the schema that it names. */
function withoutReferences(document: Document, schema: object | undefined): object | undefined {
  const text = JSON.stringify(schema, (_name, value: unknown) => {
    const [, name = ''] = /^#\/components\/schemas\/(.+)$/.exec(String((value as { $ref?: string } | null)?.$ref)) ?? []
    return document.components.schemas[name] ?? value
  })
  return text === undefined ? undefined : (JSON.parse(text) as object)
}
