/** Requests that a browser makes without a navigation get no code and change nothing: prefetches, images, scripts, `fetch`. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openIdClient, openIdTokens } from '../../../support/openid-app.ts'
import { pushed } from '../../../support/pushed.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, encode, movingTo, noticeOf, type Parameters, requestOf, Walk } from '../../../support/walk.ts'

type Headers = Record<string, string>

const image: Headers = { 'sec-fetch-dest': 'image', 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'same-site' }
const BACKGROUND: Record<string, [headers: Headers, reason: string]> = {
  'a prefetch (Sec-Purpose)': [{ 'sec-purpose': 'prefetch' }, 'prefetch'],
  'a prefetch of a document': [{ 'sec-purpose': 'prefetch', 'sec-fetch-dest': 'document' }, 'prefetch'],
  'a prerendering': [{ 'sec-purpose': 'prefetch;prerender', 'sec-fetch-dest': 'document' }, 'prefetch'],
  'a prefetch of an older browser (Purpose)': [{ purpose: 'prefetch' }, 'prefetch'],
  'an image': [image, 'subresource_load'],
  'an image of a browser without Sec-Fetch-Dest': [{ 'sec-fetch-mode': 'no-cors' }, 'subresource_load'],
  'a script': [{ 'sec-fetch-dest': 'script', 'sec-fetch-mode': 'no-cors' }, 'subresource_load'],
  'a call of fetch': [{ 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' }, 'subresource_load'],
  'an embedded object': [{ 'sec-fetch-dest': 'object', 'sec-fetch-mode': 'navigate' }, 'subresource_load'],
  'a request with two destinations': [{ 'sec-fetch-dest': 'document, image' }, 'subresource_load'],
}
const VISITS: Record<string, Headers> = {
  'without Sec-Purpose and Sec-Fetch headers, as from older browsers': {},
  'with the headers of a cross-site navigation': {
    'sec-fetch-dest': 'document',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-site': 'cross-site',
  },
  'with the headers of Node’s fetch': { 'sec-fetch-mode': 'cors' },
  'with a purpose that is not a prefetch': { purpose: 'navigation' },
}

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
  grantor.events.length = 0
})
afterAll(() => grantor.close())

const visit = (path: string, headers: Headers = {}): Promise<Answer> => walk.browse({ path, headers })
const authorizePath = (parameters: Parameters = requestOf(client)): string => `/oauth/authorize?${encode(parameters)}`

/** Expects a 403 page without redirect and cookie, no stored change, and an entry in the audit log. */
async function expectRefused(path: string, [headers, reason]: [Headers, string]): Promise<void> {
  const before = await grantor.rows()
  const answer = await visit(path, headers)
  expect([answer.status, noticeOf(answer), answer.location]).toEqual([403, 'not_a_navigation', ''])
  expect(answer.headers['set-cookie']).toBeUndefined()
  expect(answer.headers['cache-control']).toBe('no-store')
  expect(await grantor.rows()).toEqual(before)
  expect(grantor.events.at(-1)).toMatchObject({ event: 'refused', reason, request_id: expect.any(String) })
}

describe.each(Object.entries(BACKGROUND))('Background loads: %s', (_, load) => {
  test('A load that is no navigation gets no code at the authorization endpoint', async () => {
    await expectRefused(authorizePath(), load)
    expect(grantor.events.filter(({ event }) => event === 'code_issued')).toEqual([])
  })

  test('A load that is no navigation does not use up a pushed request: the navigation after it gets the code (RFC 9126 §4)', async () => {
    const path = authorizePath(await pushed(walk, client))
    await expectRefused(path, load)
    expect((await visit(path)).location).toContain('code=')
  })

  test('A load that is no navigation does not complete a login: the navigation after it gets the code', async () => {
    const path = await walk.prove(await walk.challenge(requestOf(client, { prompt: 'login' })))
    await expectRefused(path, load)
    expect(movingTo(await visit(path))).toContain('code=')
  })

  test.each(['/account', '/login/resume?login_challenge=x'])('A load of %s that is no navigation is refused with 403', (path) =>
    expectRefused(path, load),
  )

  test('A load of the logout endpoint that is no navigation does not end the session (OpenID Connect RP-Initiated Logout §2)', async () => {
    const { id_token } = await openIdTokens(walk, client)
    await expectRefused(`/oauth/logout?${encode({ id_token_hint: id_token })}`, load)
    expect((await visit(authorizePath())).location).toContain('code=')
  })
})

describe('Navigations to the authorization endpoint', () => {
  test.each(Object.entries(VISITS))('An authorization request %s gets its code', async (_, headers) => {
    expect((await visit(authorizePath(), headers)).location).toContain('code=')
  })

  test.each(['iframe', 'frame'])(
    'An authorization request with prompt=none in an %s of the same site gets its code (OpenID Connect Core §3.1.2.1)',
    async (destination) => {
      const headers = { 'sec-fetch-dest': destination, 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'same-site' }
      expect((await visit(authorizePath(requestOf(client, { prompt: 'none' })), headers)).location).toContain('code=')
    },
  )
})

test('A form post to the authorization endpoint by fetch redirects to a GET that is refused (OpenID Connect Core §3.1.2.1)', async () => {
  const headers = { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'no-cors' }
  const post = await walk.postForm('/oauth/authorize', requestOf(client), headers)
  expect(post.status).toBe(303)
  await expectRefused(post.location, [headers, 'subresource_load'])
})
