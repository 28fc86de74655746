/** The session of a browser: its id, its lifetimes and its cookies. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { pack, unpack } from '../../../../src/store/packed.ts'
import { test } from '../../../support/fixtures.ts'
import { storedBytes } from '../../../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, fieldOf, PKCE, requestOf, Walk } from '../../../support/walk.ts'

type SessionRow = { hash: Uint8Array; last_seen_at: number; auth_time: number; expires_at: number }

const HOUR = 3600
const DAY = 86_400

const hashOf = (walk: Walk) =>
  createHash('sha256')
    .update(walk.cookies.get('grantor_session') ?? '')
    .digest('base64url')
const rowOf = async (grantor: Grantor, walk: Walk) =>
  ((await grantor.rows()).sessions as SessionRow[]).find(({ hash }) => unpack(hash) === hashOf(walk))

async function startSession(grantor: Grantor, client: TestClient): Promise<Walk> {
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  return walk
}

/** Whether the session is still valid, so that an authorization request gets a code at once. */
async function isSignedIn(client: TestClient, walk: Walk): Promise<boolean> {
  const { status, location } = await walk.authorize(requestOf(client))
  expect(status).toBe(302)
  return location.startsWith(`${client.redirectUris[0]}?code=`)
}

describe('The session id', () => {
  test('A session id has 256 bits, and is new at every login, also in the same browser and for the same wallet', async ({
    grantor,
    client,
  }) => {
    const walk = await startSession(grantor, client)
    const ids = new Set([walk.cookies.get('grantor_session')])
    for (let time = 0; time < 3; time += 1) {
      await walk.signIn(requestOf(client, { prompt: 'login' }))
      ids.add(walk.cookies.get('grantor_session'))
    }
    expect(ids.size).toBe(4)
    for (const id of ids) expect(Buffer.from(id ?? '', 'base64url')).toHaveLength(32)
  })

  test('A session id that was planted before the login is not used (session fixation)', async ({ grantor, client }) => {
    const planted = Buffer.alloc(32, 7).toString('base64url')
    const walk = new Walk(grantor)
    walk.cookies.set('grantor_session', planted)
    await walk.signIn(requestOf(client))
    expect(walk.cookies.get('grantor_session')).not.toBe(planted)
    const attacker = new Walk(grantor)
    attacker.cookies.set('grantor_session', planted)
    expect(await isSignedIn(client, attacker)).toBe(false)
  })

  test('The store keeps only a hash of the session id, and no cookie value', async ({ grantor, client }) => {
    const walk = await startSession(grantor, client)
    expect(await rowOf(grantor, walk)).toBeDefined()
    const bytes = storedBytes(grantor.databasePath)
    expect(bytes).toContain(Buffer.from(pack(hashOf(walk))).toString('latin1'))
    for (const value of walk.cookies.values()) {
      expect(bytes).not.toContain(value)
      expect(bytes).not.toContain(Buffer.from(value, 'base64url').toString('latin1'))
    }
  })
})

describe('The lifetimes of a session', () => {
  test('A session ends after twelve hours without a request', async ({ grantor, client }) => {
    const walk = await startSession(grantor, client)
    const idle = await startSession(grantor, client)
    grantor.clock.advance(12 * HOUR - 1)
    expect(await isSignedIn(client, walk)).toBe(true)
    grantor.clock.advance(1)
    expect(await isSignedIn(client, idle)).toBe(false)
    expect(await isSignedIn(client, walk)).toBe(true)
  })

  test('Each request extends a session by twelve hours, up to fourteen days after the login', async ({ grantor, client }) => {
    const walk = await startSession(grantor, client)
    const until = grantor.clock.now() + 14 * DAY
    while (grantor.clock.now() + 11 * HOUR < until) {
      grantor.clock.advance(11 * HOUR)
      expect(await isSignedIn(client, walk)).toBe(true)
    }
    grantor.clock.advance(until - 1 - grantor.clock.now())
    expect(await isSignedIn(client, walk)).toBe(true)
    grantor.clock.advance(1)
    expect(await isSignedIn(client, walk)).toBe(false)
  })

  test('The time of the last request of a session is written at most every ten minutes', async ({ grantor, client }) => {
    const walk = await startSession(grantor, client)
    const start = grantor.clock.now()
    expect((await rowOf(grantor, walk))?.last_seen_at).toBe(start)
    grantor.clock.advance(599)
    await isSignedIn(client, walk)
    expect((await rowOf(grantor, walk))?.last_seen_at).toBe(start)
    grantor.clock.advance(1)
    await isSignedIn(client, walk)
    expect((await rowOf(grantor, walk))?.last_seen_at).toBe(start + 600)
    expect((await rowOf(grantor, walk))?.auth_time).toBe(start)
  })

  test('A clock that is set back neither ends a session nor changes its row', async ({ grantor, client }) => {
    const walk = await startSession(grantor, client)
    const row = await rowOf(grantor, walk)
    grantor.clock.advance(-1000)
    expect(await isSignedIn(client, walk)).toBe(true)
    expect(await rowOf(grantor, walk)).toEqual(row)
    grantor.clock.advance(1000)
  })

  test('The lifetimes of a session can be set', async () => {
    const short = await startGrantor({ lifetimes: { sessionIdle: 60, session: 100 } })
    try {
      const own = await short.createClient()
      const walk = new Walk(short)
      const { answer } = await walk.signIn(requestOf(own))
      expect(answer.headers['set-cookie']?.[0]).toContain('Max-Age=100')
      short.clock.advance(60)
      expect((await walk.authorize(requestOf(own))).location).toContain('login_challenge=')
    } finally {
      await short.close()
    }
  })
})

const attributesOf = (answer: Answer) => (answer.headers['set-cookie']?.[0] ?? '').split('; ')

describe('The session cookie (RFC 6265bis)', () => {
  test('On loopback with http, the session cookie is HttpOnly, SameSite=Lax and Path=/, without Secure, Domain and prefix', async ({
    grantor,
    client,
  }) => {
    const { answer } = await new Walk(grantor).signIn(requestOf(client))
    const [pair, ...attributes] = attributesOf(answer)
    expect(pair).toMatch(/^grantor_session=[A-Za-z0-9_-]{43}$/)
    expect(attributes.toSorted()).toEqual(['HttpOnly', `Max-Age=${14 * DAY}`, 'Path=/', 'SameSite=Lax'])
  })

  test('On loopback with http, the cookie with the browser key is HttpOnly, SameSite=Lax and Path=/', async ({
    grantor,
    client,
  }) => {
    const answer = await new Walk(grantor).authorize(requestOf(client))
    const [pair, ...attributes] = attributesOf(answer)
    expect(pair).toMatch(/^grantor_browser=[A-Za-z0-9_-]{43}$/)
    expect(attributes.toSorted()).toEqual(['HttpOnly', `Max-Age=${30 * DAY}`, 'Path=/', 'SameSite=Lax'])
  })

  test('Of two session cookies the first counts, because browsers send the more specific one first', async ({
    grantor,
    client,
  }) => {
    const walk = await startSession(grantor, client)
    const id = walk.cookies.get('grantor_session')
    const other = new Walk(grantor)
    const query = new URLSearchParams(requestOf(client) as Record<string, string>)
    const authorizeWith = (cookie: string) => other.browse({ path: `/oauth/authorize?${query}`, headers: { cookie } })
    expect((await authorizeWith(`a=b; grantor_session=${id}; grantor_session=x`)).location).toContain('?code=')
    expect((await authorizeWith(`grantor_session=x; grantor_session=${id}`)).location).toContain('login_challenge=')
    expect(
      (await authorizeWith(`grantor_sessio=${id}; xgrantor_session=${id}; __Host-grantor_session=${id}`)).location,
    ).toContain('login_challenge=')
  })
})

describe('Cookies and URLs with https', () => {
  let secure: Grantor
  let own: TestClient
  beforeAll(async () => {
    secure = await startGrantor({ settings: { authUrl: 'https://auth.example.com', loginUrl: 'https://login.example.com' } })
    own = await secure.createClient()
  })
  afterAll(() => secure.close())

  test('With https, both cookies have the prefix __Host-, Secure and Path=/, and no Domain (RFC 6265bis §4.1.3.2)', async () => {
    const walk = new Walk(secure)
    const browserCookie = attributesOf(await walk.authorize(requestOf(own)))
    const sessionCookie = attributesOf((await walk.signIn(requestOf(own))).answer)
    expect(browserCookie[0]).toMatch(/^__Host-grantor_browser=[A-Za-z0-9_-]{43}$/)
    expect(sessionCookie[0]).toMatch(/^__Host-grantor_session=[A-Za-z0-9_-]{43}$/)
    for (const [, ...attributes] of [browserCookie, sessionCookie]) {
      expect(attributes.filter((each) => !each.startsWith('Max-Age=')).toSorted()).toEqual([
        'HttpOnly',
        'Path=/',
        'SameSite=Lax',
        'Secure',
      ])
    }
  })

  test('With https, a cookie without the prefix, which a sibling host could have planted, is ignored', async () => {
    const walk = new Walk(secure)
    await walk.signIn(requestOf(own))
    const stripped = new Walk(secure)
    for (const [name, value] of walk.cookies) stripped.cookies.set(name.replace('__Host-', ''), value)
    expect((await stripped.authorize(requestOf(own))).location).toContain('login_challenge=')
  })

  test('With https, the login URL comes from the configuration, and forms are accepted from the configured origin only', async () => {
    const walk = new Walk(secure)
    expect((await walk.authorize(requestOf(own))).location).toMatch(/^https:\/\/login\.example\.com\/login\?login_challenge=/)
    const accepted = await walk.prove(await walk.challenge(requestOf(own)))
    await walk.complete(accepted)
    const page = await walk.authorize(requestOf(own, { ...PKCE, prompt: 'consent' }))
    const form = { confirmation: fieldOf(page, 'confirmation'), decision: 'allow' }
    const post = (origin: string) => walk.postForm('/oauth/authorize/confirm', form, { origin })
    expect((await post('https://auth.example.com')).status).toBe(200)
    for (const foreign of [
      'http://auth.example.com',
      'https://auth.example.com:443',
      'https://login.example.com',
      secure.authUrl,
    ]) {
      expect((await post(foreign)).status).toBe(403)
    }
  })
})
