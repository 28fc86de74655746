/** The operations at the admin API: the status of each, and what the header fields of HTTP add. Their rules: packages/server/test/operators/operations. */
import { expect } from 'vitest'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

const CLIENT = { name: 'Notes', redirect_uris: ['https://notes.example.net/callback'] }
const RESOURCE = { resource: 'https://mcp.example.com/mcp', name: 'Notes', scopes: [{ name: 'notes', description: 'read' }] }
const [URL_OF_RESOURCE, OPERATOR] = [encodeURIComponent(RESOURCE.resource), '0x70997970C51812dc3A010C7d01b50e0d17dc79C8']

type Step = [method: string, path: string, body: object | undefined, status: number, answer: object]
/** `:id` is the id of the record that the first call created. `acts` are the lines of the trail, one for each change. */
const STEPS: [subject: string, idName: string, acts: string[], ...Step[]][] = [
  [
    'clients',
    'client_id',
    ['client_created', 'client_changed', 'client_secret_rotated', 'ending_of_grants_started'],
    ['POST', '', CLIENT, 201, { client: CLIENT, client_secret: expect.stringMatching(/^[\w-]{43}$/) }],
    ['GET', '/:id', undefined, 200, { client: CLIENT, unended_grants: 0 }],
    ['PATCH', '/:id', { name: 'Notes 2', disabled: true }, 200, { name: 'Notes 2', disabled: true }],
    ['PATCH', '/:id', { redirect_uris: ['http://evil.example.net/'] }, 422, { code: 'invalid_request' }],
    ['POST', '/:id/secrets', { overlap: 60 }, 201, { client: { secrets: [{}, {}] } }],
    ['POST', '/:id/end-grants', undefined, 202, { kind: 'end_grants_of_client', started_by: expect.any(String), done_at: null }],
    ['PATCH', '/:id', { type: 'public' }, 422, {}],
    ['GET', '/unknown', undefined, 404, { code: 'not_found' }],
  ],
  [
    'resources',
    'resource',
    ['resource_created', 'resource_changed', 'resource_deleted'],
    ['POST', '', RESOURCE, 201, RESOURCE],
    ['POST', '', RESOURCE, 200, RESOURCE],
    ['POST', '', { ...RESOURCE, name: 'Other' }, 409, { code: 'conflict' }],
    ['GET', `/${URL_OF_RESOURCE}`, undefined, 200, RESOURCE],
    ['PATCH', `/${URL_OF_RESOURCE}`, { name: 'Other' }, 200, { name: 'Other' }],
    ['DELETE', `/${URL_OF_RESOURCE}`, undefined, 204, {}],
    ['DELETE', `/${URL_OF_RESOURCE}`, undefined, 404, { code: 'not_found' }],
  ],
  [
    'webhooks',
    'webhook_id',
    [
      'webhook_created',
      'webhook_changed',
      'webhook_replayed',
      'webhook_paused_by_operator',
      'webhook_resumed',
      'webhook_deleted',
    ],
    ['POST', '', { url: 'https://siem.example.com/' }, 201, { secret: expect.stringMatching(/^whsec_/) }],
    ['GET', '/:id', undefined, 200, { url: 'https://siem.example.com/', events: [], paused_at: null }],
    ['PATCH', '/:id', { events: ['key_made'] }, 200, { events: ['key_made'] }],
    ['POST', '/:id/replay', { line: 1 }, 204, {}],
    ['POST', '/:id/replay', { line: 1_000_000 }, 422, { code: 'invalid_request' }],
    ['POST', '/:id/pause', undefined, 204, {}],
    ['POST', '/:id/resume', undefined, 204, {}],
    ['DELETE', '/:id', undefined, 204, {}],
    ['GET', '/:id', undefined, 404, { code: 'not_found' }],
  ],
  [
    'operators',
    'operator',
    ['operator_added', 'operator_changed', 'operator_removed'],
    ['PUT', `/${OPERATOR}`, { role: 'auditor' }, 201, { operator: OPERATOR, role: 'auditor' }],
    ['PUT', `/${OPERATOR}`, { role: 'operator' }, 200, { role: 'operator' }],
    ['PUT', '/unknown', { role: 'operator' }, 422, { code: 'invalid_request' }],
    ['DELETE', `/${OPERATOR}`, undefined, 204, {}],
    ['DELETE', `/${OPERATOR}`, undefined, 404, { code: 'not_found' }],
  ],
  [
    'keys',
    'key_id',
    ['key_made', 'key_retired'],
    ['POST', '', { kind: 'mac' }, 201, { kind: 'mac', state: 'announced' }],
    ['GET', '', undefined, 200, { items: expect.any(Array) }],
    ['DELETE', '/:id?at_once=true', undefined, 204, {}],
    ['DELETE', '/:id', undefined, 404, { code: 'not_found' }],
  ],
]

test.for(STEPS)(
  'The API performs the operations on %s, its status has the outcome, and the trail has each act with the operator',
  async ([subject, idName, acts, ...steps], { owner, grantor }) => {
    let id = ''
    const { length } = grantor.events
    for (const [method, path, body, status, answer] of steps) {
      const { body: text, ...got } = await owner.call(method, `/v1/${subject}${path.replace(':id', id)}`, body)
      expect([method, path, got.status, text === '' ? {} : JSON.parse(text)]).toMatchObject([method, path, status, answer])
      id ||= new RegExp(`"${idName}":"([^"]+)"`).exec(text)?.[1] ?? ''
    }
    const events = grantor.events.slice(length).filter(({ operator }) => operator === owner.client.id)
    expect(events.map(({ event }) => event)).toEqual(acts)
  },
)
