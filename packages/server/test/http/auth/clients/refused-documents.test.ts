/** The page for a metadata document that cannot be used: one true sentence for each reason, with the address and the cause in the log. */
import type { ServerResponse } from 'node:http'
import { expect, onTestFinished } from 'vitest'
import { type ClientHost, startClientHost } from '../../../support/client-host.ts'
import { test as base, FILE, started } from '../../../support/fixtures.ts'
import { startGrantor } from '../../../support/start.ts'
import { noticeOf, PKCE, Walk } from '../../../support/walk.ts'

const test = base.extend('options', { clientMetadata: true }).extend(
  'host',
  FILE,
  started(
    () => startClientHost(() => undefined),
    (host: ClientHost) => host.close(),
  ),
)

const requestOf = (clientId: string) => ({
  client_id: clientId,
  redirect_uri: 'http://localhost/callback',
  response_type: 'code',
  ...PKCE,
})

function publish(host: ClientHost, more: Record<string, unknown>): void {
  host.answer = ({ url }, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ client_id: `${host.origin}${url}`, redirect_uris: ['http://localhost/callback'], ...more }))
  }
}

/** The sentence of the page that gives the cause. */
const causeOn = (body: string): string => /<p id="cause"[^>]*>([^<]*)<\/p>/.exec(body)?.[1] ?? ''

const answered =
  (status: number, type = 'application/json') =>
  (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': type }).end('{}')

type Case = [
  reason: string,
  answer: ((response: ServerResponse) => void) | Record<string, unknown>,
  sentence: string,
  cause: string,
]

test.for<Case>([
  [
    'metadata_unavailable',
    (response) => void response.destroy(),
    'The document could not be fetched from its address.',
    'unreachable',
  ],
  ['metadata_status', answered(404), 'The server of the document did not respond with status 200.', 'status_404'],
  [
    'metadata_type',
    answered(200, 'text/html'),
    'The server of the document did not respond with a JSON media type.',
    'status_200',
  ],
  [
    'metadata_client_id_differs',
    { client_id: 'https://elsewhere.example/' },
    'The client_id in the document is not the address of the document.',
    'status_200',
  ],
  [
    'metadata_auth_method',
    { token_endpoint_auth_method: 'client_secret_basic' },
    'The document names no method of authentication that this service supports for such an app.',
    'status_200',
  ],
  [
    'metadata_name',
    { client_name: 'bank.example' },
    'The client_name in the document is too long, or can deceive.',
    'status_200',
  ],
  [
    'metadata_redirect_uris',
    { redirect_uris: [] },
    'The redirect_uris in the document are missing, or one of them is not allowed.',
    'status_200',
  ],
])(
  'A document that is refused with %s leads to a page with the reason as a sentence, and the log has its address and the cause',
  async ([reason, answer, sentence, cause], { grantor, host }) => {
    if (typeof answer === 'function') host.answer = (_, response) => answer(response)
    else publish(host, answer)
    const clientId = `${host.origin}/${reason}.json`
    const page = await new Walk(grantor).authorize(requestOf(clientId))
    expect([page.status, noticeOf(page)]).toEqual([400, 'client_document'])
    expect(causeOn(page.body)).toBe(sentence)
    expect(page.body).not.toContain('names no enabled client')
    expect(grantor.events.at(-1)).toMatchObject({ event: 'authorize_refused', reason, client_id: clientId, cause })
  },
)

test('A client id that no document can have leads to a page with that reason', async ({ grantor }) => {
  const page = await new Walk(grantor).authorize(requestOf('https://agent.example:8443/client.json'))
  expect(causeOn(page.body)).toBe('Its client_id is a URL that cannot be the address of such a document.')
})

test('Beyond its budget of fetches a network gets a page with status 429, the reason and the waiting time, and the log names the client', async ({
  host,
}) => {
  const limited = await startGrantor({ clientMetadata: true, limits: { client_fetches: 0 } })
  onTestFinished(() => limited.close())
  const clientId = `${host.origin}/limited.json`
  const page = await new Walk(limited).authorize(requestOf(clientId))
  expect([page.status, noticeOf(page), page.headers['retry-after']]).toEqual([429, 'client_unavailable', '60'])
  expect(causeOn(page.body)).toBe('Your network has named too many new apps within one minute.')
  expect(limited.events.at(-1)).toMatchObject({ event: 'refused', reason: 'client_fetches', client_id: clientId })
})

test('A redirect URI that is not in the document leads to a page that does not name the operator’s list of clients', async ({
  grantor,
  host,
}) => {
  publish(host, {})
  const query = { ...requestOf(`${host.origin}/other.json`), redirect_uri: 'https://elsewhere.example/callback' }
  const page = await new Walk(grantor).authorize(query)
  expect([page.status, noticeOf(page)]).toEqual([400, 'redirect_uri_mismatch'])
  expect(page.body).toContain('redirect_uris of its metadata document')
})
