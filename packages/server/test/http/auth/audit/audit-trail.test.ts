/** Which requests are lines of the audit trail, and when their responses are sent. */
import { test as base, expect } from 'vitest'
import { fieldsOf } from '../../../../src/domain/audit/verify.ts'
import { StoreUnavailable } from '../../../../src/domain/model/store-errors.ts'
import { type App, startApp } from '../../../support/app.ts'
import { started } from '../../../support/fixtures.ts'
import { requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const test = base.extend(
  'app',
  started(startApp, (app) => app.close()),
)

async function linesOf(app: App, after = 0) {
  const lines = await app.grantor.store.audit.readLines({ after, limit: 1000 })
  return lines.map(({ line }) => fieldsOf(line))
}

async function lastSeq(app: App): Promise<number> {
  return (await app.grantor.store.audit.readHead()).seq
}

test('A sign-in is a line with the client, the shortened wallet, the request id and the first part of the caller’s address', async ({
  app,
}) => {
  const wallet = testWallet(0).address
  const lines = await linesOf(app)
  expect(lines.map((line) => line?.event)).toEqual([...Array<string>(6).fill('key_made'), 'wallet_proved', 'session_started'])
  expect(lines.slice(-2)).toEqual(
    ['wallet_proved', 'session_started'].map((event) =>
      expect.objectContaining({
        event,
        at: app.grantor.clock.at,
        result: 'done',
        reason: 'signature',
        client_id: app.client.id,
        wallet: `${wallet.slice(0, 6)}…${wallet.slice(-4)}`,
        request_id: expect.any(String),
        network: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      }),
    ),
  )
  expect(await app.grantor.store.audit.searchLines({ wallet: wallet as `0x${string}` }, { limit: 9 })).toHaveLength(2)
  const [line] = lines.slice(-1)
  const logged = app.grantor.events.find(({ audit_id: id }) => id === line?.id)
  expect(logged, 'the log names the line').toMatchObject({ event: 'session_started', wallet: line?.wallet })
})

test('Requests for tokens, refusals and declined logins are no lines; revocations, replays and declined confirmations are', async ({
  app,
}) => {
  const before = await lastSeq(app)
  const tokens = await app.freshTokens()
  const refreshed = (await app.walk.refresh(app.client, tokens.refresh_token)).json() as { refresh_token: string }
  await app.walk.refresh(app.client, 'nonsense')
  await app.walk.token({ ...app.client, secret: 'wrong' }, { grant_type: 'client_credentials' })
  await app.walk.exchange(app.client, 'nonsense')
  await app.walk.introspect(app.client, tokens.access_token)
  const other = new Walk(app.grantor, testWallet(1))
  await other.complete(await other.reject(await other.challenge(requestOf(app.client))))
  expect(await lastSeq(app)).toBe(before)

  await app.walk.revoke(app.client, refreshed.refresh_token)
  const replayed = await app.freshTokens()
  app.grantor.clock.advance(1)
  const second = (await app.walk.refresh(app.client, replayed.refresh_token)).json() as { refresh_token: string }
  await app.walk.refresh(app.client, second.refresh_token)
  await app.walk.refresh(app.client, replayed.refresh_token)
  const code = await app.freshCode()
  await app.walk.exchange(app.client, code)
  await app.walk.exchange(app.client, code)
  const lines = await linesOf(app, before)
  expect(lines.map((line) => [line?.event, line?.reason])).toEqual([
    ['grant_ended', 'revoked'],
    ['grant_ended', 'refresh_replayed'],
    ['grant_ended', 'code_replayed'],
  ])
})

test('No line contains a full address, a secret, a code or a token', async ({ app }) => {
  const code = await app.freshCode()
  const { access_token: access, refresh_token: refresh } = (await app.walk.exchange(app.client, code)).json() as Record<
    string,
    string
  >
  await app.walk.revoke(app.client, access ?? '')
  await app.walk.revoke(app.client, refresh ?? '')
  const texts = (await app.grantor.store.audit.readLines({ after: 0, limit: 100 })).map(({ line }) => line).join('\n')
  for (const secret of [testWallet(0).address, app.client.secret, code, access, refresh])
    expect(texts.toLowerCase()).not.toContain(secret?.toLowerCase())
  expect(texts).not.toMatch(/0x[0-9a-fA-F]{40}/)
})

/** No line is committed until the returned function is called. */
function holdLines({ grantor: { store } }: App): () => void {
  const { append } = store.audit
  const { promise: allowed, resolve: allow } = Promise.withResolvers<void>()
  store.audit.append = async (...lines) => {
    await allowed
    return append(...lines)
  }
  return allow
}

type Caused = { of: string; event: string; status: number; prepare: (app: App) => Promise<() => Promise<{ status: number }>> }

const CAUSED: Caused[] = [
  {
    of: 'to a user who ends the access of an app',
    event: 'app_ended',
    status: 303,
    prepare: async ({ walk, client }) => {
      return () => walk.postForm('/account/apps/end', { client_id: client.id })
    },
  },
  {
    of: 'to a user who confirms the request of an app',
    event: 'consent_confirmed',
    status: 200,
    prepare: async ({ walk, client }) => {
      const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
      return () => walk.confirm(page, 'allow')
    },
  },
  {
    of: 'that refuses a replayed code, whose grant ends,',
    event: 'grant_ended',
    status: 400,
    prepare: async ({ walk, client, freshCode }) => {
      const code = await freshCode()
      await walk.exchange(client, code)
      return () => walk.exchange(client, code)
    },
  },
]

test.for(CAUSED)('The response $of is sent when the line is committed', async ({ event, status, prepare }, { app }) => {
  const send = await prepare(app)
  const allow = holdLines(app)
  let isAnswered = false
  const answer = send().finally(() => (isAnswered = true))
  await expect.poll(() => app.grantor.events.at(-1)?.event).toBe(event)
  await app.walk.introspect(app.client, 'another request does not wait')
  expect(isAnswered).toBe(false)
  allow()
  expect((await answer).status).toBe(status)
  expect((await linesOf(app)).at(-1)).toMatchObject({ event, client_id: app.client.id })
})

test('If the line cannot be stored, the change stays, an alarm is logged, the response is sent after two seconds, and the line is stored later', async ({
  app,
}) => {
  const tokens = await app.freshTokens()
  const { audit } = app.grantor.store
  const { append } = audit
  audit.append = () => Promise.reject(new StoreUnavailable('away'))
  const began = performance.now()
  expect((await app.walk.postForm('/account/apps/end', { client_id: app.client.id })).status).toBe(303)
  expect(performance.now() - began).toBeGreaterThan(1900)
  expect(app.grantor.events.at(-1)).toMatchObject({ event: 'audit_trail_behind', alarm: true })
  expect(await app.isActive(tokens.access_token)).toBe(false)
  audit.append = append
  await expect.poll(async () => (await linesOf(app)).at(-1)).toMatchObject({ event: 'app_ended' })
  await expect.poll(() => app.grantor.events.at(-1)?.event).toBe('audit_trail_caught_up')
})

test('The response to a client that revokes a token does not wait for the line', async ({ app }) => {
  const { refresh_token: token } = await app.freshTokens()
  const allow = holdLines(app)
  expect((await app.walk.revoke(app.client, token)).status).toBe(200)
  allow()
  await expect.poll(async () => (await linesOf(app)).at(-1)).toMatchObject({ event: 'grant_ended', reason: 'revoked' })
})
