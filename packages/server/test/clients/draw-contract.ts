/** What an API does with a limit that a wallet signed, in every framework and language, with the running service. */
import { join } from 'node:path'
import type { Limit } from '@grantor/protocol/limit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder } from '../app/run.ts'
import { appOf } from '../support/app.ts'
import { createApi } from '../support/approvals.ts'
import { freePorts } from '../support/free-ports.ts'
import { API, limitAppOf } from '../support/limits.ts'
import { type Grantor, type StartOptions, startGrantor } from '../support/start.ts'
import { requestOf, Walk } from '../support/walk.ts'

export type ApiSettings = { issuer: string; resource: string; clientId: string; clientSecret: string }

/** What one call draws, and then gives back if `back` is set. Amounts are in the smallest step of the unit. */
export type Use = { key: string; amount: number; back?: number }

/** The response of the API. A call that was counted has the status 200, and `json` has the members of the draw as the service writes them. */
export type Called = { status: number; headers: Headers; json: Record<string, unknown> }

export type DrawApi = { call: (token: string, use: Use) => Promise<Called>; close: () => Promise<unknown> }

/**
 * Starts the API, which checks tokens without the service (`local`), so that only the draw can refuse a call after the token has ended. The route needs
 * no scope, so that the challenge has the scope of the limit from the service.
 */
export type StartApi = (settings: ApiSettings & { now: () => number }) => Promise<DrawApi>

/** A call of an API that has the route `POST /enhance`, with the members of `Use` in its query. */
export async function callRoute(origin: string, token: string, use: Use): Promise<Called> {
  const query = new URLSearchParams(Object.entries(use).map(([name, value]) => [name, String(value)]))
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${origin}/enhance?${query}`, { method: 'POST', headers })
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Called['json'] }
}

const TWICE: Limit = { uses: 2, per: 'week', unit: 'NESO', decimals: 2, amount: 10_000, each: 5000 }
const WEEK = 604_800
/** Milliseconds. The first program in Go on a machine compiles the standard library. */
const LONGEST_BUILD = 300_000

/** The running service, which a test can stop and start again on the same database, with an app, its user, and the client of the API. */
async function startScene() {
  const options: StartOptions = { databasePath: join(newFolder(), 'grantor.sqlite'), ports: await freePorts(2) }
  const grantor = await startGrantor(options)
  const client = await grantor.createClient({ scopes: ['enhancement', 'profile'], resources: [API] })
  const api = await createApi(grantor)
  const walk = new Walk(grantor)
  await walk.signIn(requestOf(client))
  const scene = { app: limitAppOf(appOf(grantor, client, walk), api), restart, close: () => scene.app.close() }

  async function restart(): Promise<void> {
    const again = await startGrantor({ ...options, clock: grantor.clock })
    scene.app = limitAppOf(appOf(again, client, walk.copy(again)), api)
  }
  await scene.app.register(TWICE)
  return scene
}

/** The service draws, and the responses to the next `count` draws are lost on their way. */
function loseDraws({ authServer }: Grantor, count: number): void {
  let left = count
  authServer.server.prependListener('request', (request, response) => {
    if (request.url !== '/oauth/draw' || left === 0) return
    left--
    response.writeHead = () => response
    response.write = () => true
    response.end = () => {
      request.socket.destroy()
      return response
    }
  })
}

export function drawContract(name: string, start: StartApi, { isRun = true } = {}): void {
  describe.runIf(isRun)(name, () => {
    let scene: Awaited<ReturnType<typeof startScene>>
    let api: DrawApi
    beforeAll(async () => {
      scene = await startScene()
      const { grantor, api: client } = scene.app
      const settings = { issuer: grantor.authUrl, resource: API, clientId: client.id, clientSecret: client.secret }
      api = await start({ ...settings, now: grantor.clock.now })
    }, LONGEST_BUILD)
    afterAll(async () => {
      await api?.close()
      await scene.close()
    })

    /** The calls of a user who has just signed the limit. */
    async function signed() {
      const { app } = scene
      const { access_token: token } = await app.signedTokens()
      const until = app.grantor.clock.now() + WEEK
      return {
        token,
        until,
        call: (key: string, amount = 4000, back?: number) =>
          api.call(token, { key, amount, ...(back === undefined ? {} : { back }) }),
        /** what is left by introspection of the service */
        left: async () => (await scene.app.left(token)).left,
      }
    }

    const expectUsedUp = ({ status, headers, json }: Called, words: string): void => {
      expect([status, json]).toEqual([
        403,
        { error: 'insufficient_scope', error_description: expect.stringContaining(words) as string },
      ])
      expect(headers.get('www-authenticate')).toMatch(
        /^Bearer realm="https:\/\/api\.example\.com\/", error="insufficient_scope", .*, scope="enhancement"(?:,|$)/,
      )
      expect(headers.get('cache-control')).toBe('no-store')
    }

    test(`${name}: a call draws from the limit that the wallet signed, and a repeated call with the same key counts once`, async () => {
      const { call, left, until } = await signed()
      const first = await call('helmet')
      expect([first.status, first.json]).toMatchObject([200, { draw: 1, left: { uses: 1, amount: 6000 }, until }])
      const repeated = await Promise.all([call('helmet'), call('helmet'), call('helmet')])
      for (const { status, json } of repeated) expect([status, json]).toEqual([200, first.json])
      expect(await left()).toEqual({ uses: 1, amount: 6000, until })
    })

    test(`${name}: a key that was drawn with another amount is refused with 409, and nothing is counted`, async () => {
      const { call, left } = await signed()
      await call('helmet')
      const { status, json } = await call('helmet', 3000)
      expect([status, json.error]).toEqual([409, 'draw_key_used'])
      expect(await left()).toMatchObject({ uses: 1, amount: 6000 })
    })

    test(`${name}: if calls race for the last use, one of them passes`, async () => {
      const { call, left } = await signed()
      await call('helmet')
      const answers = await Promise.all(['sword', 'shield', 'ring'].map((key) => call(key)))
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403, 403])
      for (const answer of answers) if (answer.status !== 200) expectUsedUp(answer, 'no use is left')
      expect(await left()).toMatchObject({ uses: 0, amount: 2000 })
    })

    test(`${name}: a limit that is used up, or too small for the call, is refused with 403 insufficient_scope and the scope, and a new signature lets the call pass (RFC 6750 §3.1)`, async () => {
      const { call, left } = await signed()
      expectUsedUp(await call('helmet', 5001), 'more than one use may cost')
      await call('helmet', 5000, 1000)
      await call('sword', 3000, 3000)
      expectUsedUp(await call('armour', 6001), 'more than one use may cost')
      await call('shield', 4000)
      expectUsedUp(await call('ring', 1), 'no use is left')
      expect(await left()).toMatchObject({ uses: 0, amount: 2000 })
      const { json, status } = await (await signed()).call('ring', 1)
      expect([status, json.draw]).toEqual([200, 1])
    })

    test(`${name}: a call that costs more than what is left of the amount is refused, and giving back a part makes room for it`, async () => {
      await scene.app.register({ ...TWICE, uses: 20 })
      const { call, left } = await signed()
      await scene.app.register(TWICE)
      await call('helmet', 5000)
      await call('sword', 4000)
      expectUsedUp(await call('ring', 1500), 'less is left than this call costs')
      // The repeated draw counts nothing, and the API gives back what the helmet did not cost.
      expect((await call('helmet', 5000, 500)).json).toMatchObject({ draw: 1, returned: 500 })
      expect((await call('ring', 1500)).status).toBe(200)
      expect(await left()).toMatchObject({ uses: 17, amount: 0 })
    })

    test(`${name}: giving back the whole amount makes room for another call, once`, async () => {
      const { call, left } = await signed()
      await call('helmet')
      expect((await call('sword', 4000, 4000)).json).toMatchObject({ draw: 2, returned: 4000 })
      expect((await call('sword', 4000, 4000)).json).toMatchObject({ draw: 2, returned: 4000 })
      expect(await left()).toMatchObject({ uses: 1, amount: 6000 })
      expect((await call('sword', 4000, 1)).status).toBe(500)
      expect((await call('shield')).status).toBe(200)
      expectUsedUp(await call('ring'), 'no use is left')
    })

    test(`${name}: after the user has ended the access, a new call is refused with 401 invalid_token, and a repeated one gets its first values`, async () => {
      const { app } = scene
      const { token, call } = await signed()
      const first = await call('helmet')
      await app.walk.revoke(app.client, token)
      const { status, headers, json } = await call('sword')
      expect([status, json.error]).toEqual([401, 'invalid_token'])
      expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
      expect((await call('helmet')).json).toEqual(first.json)
    })

    test(`${name}: if responses of the service are lost, the call passes or gets 503, and is counted once`, async () => {
      const { call, left } = await signed()
      loseDraws(scene.app.grantor, 1)
      expect(await call('helmet')).toMatchObject({ status: 200, json: { draw: 1, left: { uses: 1, amount: 6000 } } })
      loseDraws(scene.app.grantor, 2)
      const { status, headers, json } = await call('sword')
      expect([status, json.error, headers.get('retry-after')]).toEqual([503, 'temporarily_unavailable', '5'])
      expect(await call('sword')).toMatchObject({ status: 200, json: { draw: 2, left: { uses: 0, amount: 2000 } } })
      expect(await left()).toMatchObject({ uses: 0, amount: 2000 })
    })

    test(`${name}: while the service is away, no call passes: 503 without a challenge, and the same key counts once when it is back`, async () => {
      const { call, left } = await signed()
      const first = await call('helmet')
      await scene.close()
      for (const key of ['sword', 'helmet']) {
        const { status, headers, json } = await call(key)
        expect([status, json.error, headers.get('retry-after')]).toEqual([503, 'temporarily_unavailable', '5'])
        expect(headers.get('www-authenticate')).toBeNull()
      }
      await scene.restart()
      expect((await call('helmet')).json).toEqual(first.json)
      expect(await call('sword')).toMatchObject({ status: 200, json: { draw: 2, left: { uses: 0, amount: 2000 } } })
      expect(await left()).toMatchObject({ uses: 0, amount: 2000 })
    })
  })
}
