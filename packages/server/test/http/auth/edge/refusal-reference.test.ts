/** The last line of an error page: the reason from the audit log, and the number of the request. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../support/app.ts'
import { pushed } from '../../../support/pushed.ts'
import { type Answer, encode, requestOf, Walk } from '../../../support/walk.ts'

let app: App
beforeAll(async () => {
  app = await startApp()
})
beforeEach(() => {
  app.grantor.events.length = 0
})
afterAll(() => app.close())

const authorize = (parameters: Record<string, string | string[]>) => () => app.walk.authorize(parameters)
const validRequest = () => requestOf(app.client)

const REFUSALS: Record<string, [reason: string, send: () => Promise<Answer>]> = {
  'an unknown client': ['client_unknown_or_disabled', authorize({ client_id: 'x', redirect_uri: 'https://a.example/' })],
  'a missing client id': ['client_id_missing', authorize({})],
  'a missing redirect URI': ['redirect_uri_missing', () => app.walk.authorize({ client_id: app.client.id })],
  'a redirect URI that is not registered': [
    'redirect_uri_not_registered',
    () => app.walk.authorize({ ...validRequest(), redirect_uri: 'https://app.example.net/Callback' }),
  ],
  'a repeated parameter': ['state_repeated', () => app.walk.authorize({ ...validRequest(), state: ['a', 'b'] })],
  'a request_uri that was never pushed': [
    'pushed_unknown',
    () => app.walk.authorize({ client_id: app.client.id, request_uri: `urn:ietf:params:oauth:request_uri:${'a'.repeat(43)}` }),
  ],
  'a pushed request that has expired': [
    'pushed_expired',
    async () => {
      const request = await pushed(app.walk, app.client)
      app.grantor.clock.advance(60)
      return app.walk.authorize(request)
    },
  ],
  'a prefetch': [
    'prefetch',
    () => app.walk.browse({ path: `/oauth/authorize?${encode(validRequest())}`, headers: { 'sec-purpose': 'prefetch' } }),
  ],
  'an invalid login challenge at the end of a login': [
    'complete_broken',
    () => app.walk.complete('/login/complete?login_challenge=x'),
  ],
  'a logout to an address that is not registered': [
    'post_logout_redirect_uri_not_registered',
    async () => {
      const walk = new Walk(app.grantor)
      await walk.signIn(validRequest())
      const request = { client_id: app.client.id, post_logout_redirect_uri: 'https://elsewhere.example/' }
      return walk.browse({ path: `/oauth/logout?${encode(request)}` })
    },
  ],
}

describe('The last line of an error page', () => {
  test.each(Object.entries(REFUSALS))(
    'The error page for %s ends with the reason and the number of the request from the audit log',
    async (_, [reason, send]) => {
      const answer = await send()
      expect(answer.status).toBeOneOf([400, 403])
      const { request_id: requestId = 'none', ...event } = app.grantor.events.at(-1) ?? { event: 'none' }
      expect(event).toMatchObject({ reason })
      expect(lastLineOf(answer)).toBe(`Reason: ${reason} · Number of this request: ${requestId}`)
    },
  )
})

function lastLineOf({ body }: Answer): string {
  const lines = (/<div class="slip-body">([^]*?)<\/div>\s*<\/article>/.exec(body)?.[1] ?? '').trim().split('\n')
  return (lines.at(-1) ?? '').replace(/<[^>]+>/g, '')
}
