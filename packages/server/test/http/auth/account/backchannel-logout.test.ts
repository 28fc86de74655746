/** Logout tokens to clients when a session ends (OpenID Connect Back-Channel Logout §2). */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { losingAnswers } from '../../../support/lost-answers.ts'
import { openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { newPostgresDatabase } from '../../../support/postgres.ts'
import { endEverything } from '../../../support/signed-app.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { noticeOf, requestOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  client = await openIdClient(grantor)
})
beforeEach(async () => {
  walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
})
afterAll(() => grantor.close())

const tokensOf = (of = client, by = walk) => openIdTokens(by, of)

describe('Back-channel logout', () => {
  let receiver: Server
  let uri: string
  let received: { path: string; type: string; body: URLSearchParams }[]
  /** the statuses of the next responses; all later ones are 200 */
  let answers: number[]

  beforeEach(async () => {
    received = []
    answers = []
    receiver = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        received.push({
          path: request.url ?? '',
          type: request.headers['content-type'] ?? '',
          body: new URLSearchParams(Buffer.concat(chunks).toString()),
        })
        response.writeHead(answers.shift() ?? 200).end()
      })
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/logout?app=one`
  })
  afterEach(() => new Promise((resolve) => receiver.close(resolve)))

  /** Waits until the log has this many notices, delivered or lost, after the first `before` ones. */
  async function awaitNotices(count: number, before: number): Promise<string[]> {
    const events = () => grantor.events.filter(({ event }) => event.startsWith('logout_notice_')).slice(before)
    await expect.poll(() => events().length).toBe(count)
    return events().map(({ event }) => event)
  }
  const countNotices = (): number => grantor.events.filter(({ event }) => event.startsWith('logout_notice_')).length

  test('When a session ends, a client with a grant from the session gets one signed logout token (Back-Channel Logout §2.4, §2.5)', async () => {
    const before = countNotices()
    const listening = await openIdClient(grantor, { backchannelLogoutUri: uri, idTokenAlgorithm: 'RS256' })
    const { id_token } = await tokensOf(listening)
    await tokensOf(listening)
    await walk.browse({ path: `/oauth/logout?id_token_hint=${id_token}` })
    expect(await awaitNotices(1, before)).toEqual(['logout_notice_delivered'])
    expect(received).toHaveLength(1)
    expect([received[0]?.path, received[0]?.type, [...(received[0]?.body.keys() ?? [])]]).toEqual([
      '/logout?app=one',
      'application/x-www-form-urlencoded',
      ['logout_token'],
    ])
    const { payload, protectedHeader } = await jwtVerify(
      received[0]?.body.get('logout_token') ?? '',
      createRemoteJWKSet(new URL(`${grantor.authUrl}/oauth/jwks`)),
      { issuer: grantor.authUrl, audience: listening.id, typ: 'logout+jwt', currentDate: new Date(grantor.clock.now() * 1000) },
    )
    expect(protectedHeader.alg).toBe('RS256')
    expect(payload).toEqual({
      iss: grantor.authUrl,
      sub: walk.wallet.address,
      aud: listening.id,
      iat: grantor.clock.now(),
      exp: grantor.clock.now() + 120,
      jti: expect.any(String),
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      sid: (JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString()) as { sid: string }).sid,
    })
    expect(JSON.stringify([grantor.events, grantor.logLines]), 'no log contains the logout token').not.toContain(
      received[0]?.body.get('logout_token'),
    )
  })

  test.each<[string, () => Promise<unknown>]>([
    ['a sign-out on the account page', () => walk.postForm('/account/sign-out', {})],
    [
      'the ending of all other sessions',
      async () => {
        const other = new Walk(grantor)
        await other.signIn(requestOf(client))
        return other.postForm('/account/sessions/end-others', {})
      },
    ],
    ['the ending of everything by one signature', () => endEverything(new Walk(grantor))],
    ['two sign-outs at once', () => Promise.all([walk, walk].map((by) => by.postForm('/account/sign-out', {})))],
  ])(
    'The client with a grant from the session gets exactly one logout token after %s (Back-Channel Logout §2.5)',
    async (_, end) => {
      const before = countNotices()
      await tokensOf(await openIdClient(grantor, { backchannelLogoutUri: uri }))
      await end()
      expect(await awaitNotices(1, before)).toEqual(['logout_notice_delivered'])
      expect(received).toHaveLength(1)
    },
  )

  test('A client without a grant from the ended session, or whose grant ended before, gets no logout token', async () => {
    const before = countNotices()
    const [revoked, elsewhere, listening] = await Promise.all(
      [1, 2, 3].map(() => openIdClient(grantor, { backchannelLogoutUri: uri })),
    )
    const revokedTokens = await tokensOf(revoked)
    await walk.revoke(revoked as TestClient, revokedTokens.refresh_token)
    const other = new Walk(grantor)
    await other.signIn(requestOf(client))
    await tokensOf(elsewhere, other)
    await tokensOf(listening)
    grantor.clock.advance(60)
    await walk.postForm('/account/sign-out', {})
    await awaitNotices(1, before)
    expect(grantor.events.findLast(({ event }) => event === 'logout_notice_delivered')?.client_id).toBe(listening?.id)
  })

  test('A failed delivery of a logout token is retried with the same token; after a refusal or three attempts it is logged as lost', async () => {
    const before = countNotices()
    const listening = await openIdClient(grantor, { backchannelLogoutUri: uri })
    await tokensOf(listening)
    answers = [503, 500]
    await walk.postForm('/account/sign-out', {})
    expect(await awaitNotices(1, before)).toEqual(['logout_notice_delivered'])
    expect(new Set(received.map(({ body }) => body.get('logout_token'))).size).toBe(1)
    expect(received).toHaveLength(3)

    for (const [statuses, tries, reason] of [
      [[400], 1, 'status_400'],
      [[302], 3, 'redirect'],
      [[503, 503, 503], 3, 'status_503'],
    ] as const) {
      const again = new Walk(grantor)
      await again.signIn(requestOf(client))
      await tokensOf(listening, again)
      received = []
      answers = reason === 'redirect' ? [302, 302, 302] : [...statuses]
      const now = countNotices()
      await again.postForm('/account/sign-out', {})
      expect(await awaitNotices(1, now)).toEqual(['logout_notice_lost'])
      expect(grantor.events.findLast(({ event }) => event === 'logout_notice_lost')).toMatchObject({
        reason,
        client_id: listening.id,
      })
      expect(received).toHaveLength(tries)
    }
  })

  test('A sign-out whose result from the database was lost still sends each client exactly one logout token', async () => {
    const database = await newPostgresDatabase()
    const way = await losingAnswers(database)
    const onPostgres = await startGrantor({ postgres: way.address })
    try {
      const listening = await openIdClient(onPostgres, { backchannelLogoutUri: uri })
      const browser = new Walk(onPostgres)
      await browser.signIn(requestOf(listening))
      await openIdTokens(browser, listening)
      const { sessions } = onPostgres.store
      const endSession = sessions.endSession.bind(sessions)
      sessions.endSession = (hash, ...rest) => {
        way.loseNext(hash, 'SELECT 1 FROM sessions WHERE ended_at IS NOT NULL')
        return endSession(hash, ...rest)
      }
      expect(noticeOf(await browser.postForm('/account/sign-out', {}))).toBe('signed_out')
      expect(way.lost()).toBe(1)
      await expect.poll(() => received.length).toBe(1)
      expect(
        onPostgres.events.filter(({ event }) => event.startsWith('logout_notice_')).map(({ client_id }) => client_id),
      ).toEqual([listening.id])
    } finally {
      await onPostgres.close()
    }
  })

  test('A client that does not respond to a logout token does not delay the sign-out', async () => {
    const before = countNotices()
    receiver.removeAllListeners('request')
    let requests = 0
    receiver.on('request', () => void requests++)
    await tokensOf(await openIdClient(grantor, { backchannelLogoutUri: uri }))
    const page = await walk.postForm('/account/sign-out', {})
    expect(noticeOf(page)).toBe('signed_out')
    expect(countNotices(), 'the page came before the notice was delivered or lost').toBe(before)
    await expect.poll(() => requests).toBe(1)
    receiver.closeAllConnections()
  })
})
