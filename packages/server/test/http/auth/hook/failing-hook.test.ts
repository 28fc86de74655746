/** A hook that hangs, breaks or answers rubbish: every request fails closed, with its reason in the log, and loses nothing. */
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMetrics } from '../../../../src/observability/metrics/metrics.ts'
import { type App, claimsOf, startApp, type Tokens } from '../../../support/app.ts'
import { RSA } from '../../../support/certificates.ts'
import { aClientHost } from '../../../support/client-host.ts'
import { freePorts } from '../../../support/free-ports.ts'
import { type AskedQuestion, answerWith, expectQuestions, HOOK_SECRET, startHook, type TestHook } from '../../../support/hook.ts'
import { createPostgresDatabase } from '../../../support/postgres.ts'
import { type Grantor, startGrantor } from '../../../support/start.ts'
import { type Answer, requestOf, Walk } from '../../../support/walk.ts'

type Respond = (question: AskedQuestion, response: ServerResponse) => void

const text =
  (body: string, type = 'application/json'): Respond =>
  (_, response) =>
    void response.writeHead(200, { 'content-type': type }).end(body)
const status =
  (code: number, headers = {}): Respond =>
  (_, response) =>
    void response.writeHead(code, { 'content-type': 'application/json', ...headers }).end('{"answer":"yes"}')
const YES = '{"answer":"yes"}'
/** An answer with claims for the resource of the question. */
const withClaims =
  (claims: unknown, more: object = {}): Respond =>
  ({ resources: [resource = ''] }, response) =>
    answerWith(response, { answer: 'yes', claims: { [resource]: claims }, ...more })

const FAILURES: [reason: string, what: string, respond: Respond][] = [
  ['hook_status', 'a status 500', status(500)],
  ['hook_status', 'a status 204', (_, response) => void response.writeHead(204).end()],
  ['hook_status', 'a status 201', status(201)],
  ['hook_redirect', 'a redirect', status(307, { location: '/other' })],
  ['hook_content_type', 'a yes as text', text(YES, 'text/plain')],
  ['hook_content_type', 'a yes of a similar type', text(YES, 'application/json-seq')],
  ['hook_answer_malformed', 'no JSON', text('yes')],
  ['hook_answer_malformed', 'an empty body', text('')],
  ['hook_answer_malformed', 'a list', text(`[${YES}]`)],
  ['hook_answer_malformed', 'an unknown answer', text('{"answer":"maybe"}')],
  ['hook_answer_malformed', 'true in place of yes', text('{"answer":true}')],
  ['hook_answer_malformed', 'no answer', text('{}')],
  ['hook_answer_malformed', 'two answers', text('{"answer":"no","answer":"yes"}')],
  ['hook_answer_malformed', 'a yes that names scopes', text('{"answer":"yes","scopes":["profile"]}')],
  ['hook_answer_malformed', 'fewer without scopes', text('{"answer":"fewer"}')],
  ['hook_answer_malformed', 'scopes as text', text('{"answer":"fewer","scopes":"profile"}')],
  ['hook_answer_malformed', 'a time that is no number', text('{"answer":"yes","valid_for":"60"}')],
  ['hook_answer_malformed', 'a negative time', text('{"answer":"yes","valid_for":-1}')],
  [
    'hook_answer_malformed',
    'compressed bytes',
    (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(YES),
  ],
  ['hook_scope_not_asked', 'more scopes than asked', text('{"answer":"fewer","scopes":["profile","admin"]}')],
  [
    'hook_claims_refused',
    'a claim for a resource that was not asked about',
    withClaims({}, { claims: { 'https://b.example/': {} } }),
  ],
  ['hook_claims_refused', 'a claim with a registered name', withClaims({ sub: '0x00' })],
  ['hook_claims_refused', 'a claim with a name of introspection', withClaims({ active: true })],
  ['hook_claims_refused', 'a claim with a short name', withClaims({ roles: ['admin'] })],
  ['hook_claims_refused', 'a claim whose name has a space', withClaims({ 'https://example.com/a b': 1 })],
  ['hook_claims_refused', 'more than 1,024 bytes of claims', withClaims({ 'https://example.com/a': 'é'.repeat(500) })],
  ['hook_claims_refused', 'claims of a resource as a list', withClaims(['https://example.com/a'])],
  ['hook_claims_refused', 'claims as text', withClaims({}, { claims: 'plan' })],
  ['hook_answer_malformed', 'a no with claims', withClaims({ 'https://example.com/a': 1 }, { answer: 'no' })],
  ['hook_answer_too_long', 'a long answer', text(`{"answer":"yes","reason":"${'x'.repeat(8200)}"}`)],
  ['hook_unreachable', 'a connection that breaks', (_, response) => void response.destroy()],
]

describe.each(['SQLite', 'PostgreSQL'])('On %s', (engine) => {
  let hook: TestHook
  let app: App
  let tokens: Tokens
  let drop: () => Promise<void> = async () => undefined
  const metrics = createMetrics()

  beforeAll(async () => {
    hook = await startHook()
    const database = engine === 'PostgreSQL' ? await createPostgresDatabase() : undefined
    if (database) drop = database.drop
    app = await startApp({ environment: hook.environment, metrics, ...(database && { postgres: database.address }) })
  })
  afterAll(async () => {
    await app.close()
    await hook.close()
    await drop()
  })
  beforeEach(async () => {
    // A later time also ends a pause of the hook.
    app.grantor.clock.advance(61)
    hook.answer = { answer: 'yes' }
    tokens = await app.freshTokens()
    app.grantor.logLines.length = 0
    app.grantor.events.length = 0
  })

  const refresh = (): Promise<Answer> => app.walk.refresh(app.client, tokens.refresh_token)
  const grant = () => app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)

  test.each(FAILURES)(
    '%s: %s is 503 at a refresh and at a code, changes nothing, and the same refresh token works later',
    async (reason, _, respond) => {
      hook.answer = respond
      const before = await grant()
      const answer = await refresh()
      expect([answer.status, answer.json().error, answer.headers['retry-after']]).toEqual([503, 'temporarily_unavailable', '5'])
      expect((await app.walk.authorize(requestOf(app.client))).status).toBe(503)
      expect(await grant()).toEqual(before)
      expect(reasonsOf(app.grantor)).toEqual([reason, reason])
      expect(app.grantor.logLines.join('')).not.toContain('"stack"')
      // The line of the trail follows within a minute, and counts what happened.
      await app.grantor.keepTrail()
      expect(app.grantor.events.filter(({ event }) => event === 'hook_failed')).toMatchObject([
        { reason, client_id: app.client.id, events: '2', audit_id: expect.any(String) },
      ])
      hook.answer = { answer: 'yes' }
      expect((await refresh()).status).toBe(200)
      expect(hook.questions, 'no question is repeated').toHaveLength(hook.host.requests.length)
    },
  )

  test('The questions are counted by occasion and outcome, and each call is measured', async () => {
    hook.answer = { answer: 'no' }
    await refresh()
    const page = await metrics.render()
    expect(page).toMatch(/grantor_hook_questions_total\{occasion="code",outcome="yes"\} \d+/)
    expect(page).toMatch(/grantor_hook_questions_total\{occasion="refresh",outcome="no"\} 1/)
    expect(page).toMatch(/grantor_hook_questions_total\{occasion="refresh",outcome="hook_redirect"\} 1/)
    expect(page).toMatch(/grantor_hook_call_duration_seconds_count \d+/)
  })

  test('After five calls without a response the hook is not called for five seconds; then one call tries again', async () => {
    hook.answer = (_, response) => void response.destroy()
    for (let count = 0; count < 5; count++) await refresh()
    const called = hook.questions.length
    const paused = await refresh()
    expect([paused.status, paused.headers['retry-after']]).toEqual([503, '5'])
    expect(hook.questions).toHaveLength(called)
    app.grantor.clock.advance(3)
    expect((await refresh()).headers['retry-after']).toBe('2')
    app.grantor.clock.advance(2)
    const held: ServerResponse[] = []
    hook.answer = (_, response) => void held.push(response)
    const trying = refresh()
    await expectQuestions(hook, called + 1)
    const other = await app.walk.authorize(requestOf(app.client))
    expect([other.status, other.headers['retry-after']]).toEqual([503, '1'])
    for (const response of held) answerWith(response, { answer: 'yes' })
    expect((await trying).status).toBe(200)
    hook.answer = { answer: 'yes' }
    expect((await app.walk.authorize(requestOf(app.client))).status).toBe(302)
  })

  test('One wallet has eight questions under way at most; a further request is 503, and wallets that wait get their answers', async () => {
    const grants = [tokens]
    while (grants.length < 9) grants.push(await app.freshTokens())
    const held: ServerResponse[] = []
    hook.answer = (_, response) => void held.push(response)
    const asked = hook.questions.length
    const waiting = grants.slice(0, 8).map((each) => app.walk.refresh(app.client, each.refresh_token))
    await expectQuestions(hook, asked + 8)
    const ninth = await app.walk.refresh(app.client, grants[8]?.refresh_token ?? '')
    expect([ninth.status, ninth.headers['retry-after']]).toEqual([503, '1'])
    for (const response of held) answerWith(response, { answer: 'yes' })
    expect((await Promise.all(waiting)).map((answer) => answer.status)).toEqual(Array(8).fill(200))
    hook.answer = { answer: 'yes' }
    expect((await app.walk.refresh(app.client, grants[8]?.refresh_token ?? '')).status).toBe(200)
  })
})

/** Signs in at a service with another hook. Returns the reason for which the sign-in is refused; empty if it is not. */
async function reasonWith(environment: Record<string, string>): Promise<string> {
  const grantor = await startGrantor({ environment: { GRANTOR_HOOK_SECRET: HOOK_SECRET, ...environment } })
  const walk = new Walk(grantor)
  const client = await grantor.createClient()
  const answer = await walk.complete(await walk.prove(await walk.challenge(requestOf(client))))
  await grantor.close()
  return answer.status === 200 ? '' : (reasonsOf(grantor)[0] ?? 'no reason')
}

function reasonsOf({ logLines }: Grantor): string[] {
  return logLines.map((line) => (JSON.parse(line) as { msg: string }).msg).filter((message) => message.startsWith('hook_'))
}

test('A hook that hangs, or whose answer drips, ends with the timeout of the operator', async () => {
  const drip = (_: AskedQuestion, response: ServerResponse) => void response.writeHead(200).write('{')
  for (const answer of [() => undefined, drip]) {
    const hook = await startHook(answer)
    expect(await reasonWith({ ...hook.environment, GRANTOR_HOOK_TIMEOUT_MS: '60' })).toBe('hook_timed_out')
    await hook.close()
  }
})

test('A hook on this machine may use plain http, a hook with TLS needs a valid certificate, and a closed port is 503', async () => {
  const yes = (_: unknown, response: ServerResponse) => answerWith(response, { answer: 'yes' })
  const secure = await aClientHost(yes, { tls: true })
  const plain = await aClientHost(yes)
  for (const url of [secure.origin, plain.origin, `http://127.0.0.1:${plain.port}`])
    expect([url, await reasonWith({ GRANTOR_HOOK_URL: url })]).toEqual([url, ''])
  const untrusted = await aClientHost(yes, { tls: RSA })
  expect(await reasonWith({ GRANTOR_HOOK_URL: untrusted.origin })).toBe('hook_certificate')
  expect(untrusted.requests).toEqual([])
  const [dead] = await freePorts(1)
  expect(await reasonWith({ GRANTOR_HOOK_URL: `http://localhost:${dead}` })).toBe('hook_unreachable')
})
