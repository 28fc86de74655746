/** The account page over HTTP: it lists the apps and the sessions of the signed-in wallet, and only its own forms can end them. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CHALLENGE_LIFETIME } from '../../../../src/domain/model/deps.ts'
import { pageHeaders } from '../../../../src/pages/page-headers.ts'
import { type App, type Tokens, tokensOf } from '../../../support/app.ts'
import { offerOf, openUrl, signOn } from '../../../support/cross-device.ts'
import { changeClient, outcomeOf, receiptsOf, signInToAccount, startSignedApp, vouchFor } from '../../../support/signed-app.ts'
import { type Answer, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const DAY = 86_400

let app: App
beforeEach(async () => {
  app = await startSignedApp()
})
afterEach(() => app.close())

const openAccountPage = (walk = app.walk) => walk.browse({ path: '/account' })

type ShownApp = { client: string; since: number; until: number; lastRenewed: number; receipts: string[]; text: string }

/** The apps on the page, in its order. */
function appsOn({ body }: Answer): ShownApp[] {
  return body
    .split('<tbody>')
    .filter((slip) => slip.includes('action="/account/apps/end"'))
    .map((slip) => {
      const [since = 0, lastRenewed = 0, until = 0] = [...slip.matchAll(/datetime="([^"]+)"/g)].map(
        ([, at = '']) => Date.parse(at) / 1000,
      )
      const receipts = [...slip.matchAll(/href="\/account\/receipts\/([0-9a-f-]{36})"/g)].map(([, id = '']) => id)
      return { client: /name="client_id" value="([^"]+)"/.exec(slip)?.[1] ?? '', since, until, lastRenewed, receipts, text: slip }
    })
}

/** The handles of the sessions that can be ended, and the number of sessions in the list. */
function sessionsOn({ body }: Answer): { handles: string[]; rows: number } {
  const part = body.slice(body.indexOf('id="sessions-title"'), body.indexOf('id="end-title"'))
  return {
    handles: [...part.matchAll(/name="session" value="([^"]+)"/g)].map(([, handle = '']) => handle),
    rows: part.split('<li class="row">').length - 1,
  }
}

describe('The account page without a session', () => {
  test('The account page without a session redirects to the login page with a challenge for the account page, and writes nothing', async () => {
    const before = await app.grantor.rows()
    const answer = await openAccountPage()
    expect(answer.status).toBe(302)
    expect(answer.location.startsWith(`${app.grantor.loginUrl}/login?login_challenge=`)).toBe(true)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(await app.grantor.rows()).toEqual(before)
    const described = (await app.walk.describe(parameterOf(answer.location, 'login_challenge'))).json()
    expect(described).toMatchObject({
      purpose: 'account',
      client_name: '',
      client_host: new URL(app.grantor.authUrl).host,
      scopes: [],
      resources: [],
      may_choose_scopes: false,
      resume_url: null,
      until: app.grantor.clock.now() + CHALLENGE_LIFETIME,
    })
  })

  test('The text that signs in to the account page allows no app anything, names the login URL only, and expires after ten minutes', async () => {
    const challenge = parameterOf((await openAccountPage()).location, 'login_challenge')
    const claim = { login_challenge: challenge, address: app.walk.wallet.address, chain_id: 1 }
    const message = (await app.walk.loginApi('/login/message', claim)).json().message as string
    const at = (seconds: number) => new Date((app.grantor.clock.now() + seconds) * 1000).toISOString().replace('.000Z', 'Z')
    expect(message).toContain('This allows no app anything.')
    expect(message).toContain(`\nURI: ${app.grantor.loginUrl}/login\n`)
    expect(message).toContain(`\nIssued At: ${at(0)}\nExpiration Time: ${at(CHALLENGE_LIFETIME)}\n`)
    expect(message).not.toContain('Resources')
    expect(message).not.toContain('recap')
  })

  test('A signature for the account page starts a session, and the browser goes on to the account page without a code', async () => {
    const answer = await signInToAccount(app.walk)
    expect(answer.status).toBe(200)
    expect(movingTo(answer)).toBe(`${app.grantor.authUrl}/account`)
    expect(answer.body).not.toContain('code=')
    const shown = await openAccountPage()
    expect(shown.status).toBe(200)
    expect(shown.headers).toMatchObject(pageHeaders({}))
    expect(shown.body).toContain('id="no-apps"')
  })

  test.each(['/account/apps/end', '/account/sessions/end', '/account/sessions/end-others', '/account/sign-out'])(
    'A form post to %s without a session ends nothing: the response is 401 with a page that leads to the login',
    async (path) => {
      await app.walk.signIn(requestOf(app.client))
      const before = await app.grantor.rows()
      const answer = await new Walk(app.grantor).postForm(path, { client_id: app.client.id, session: 'x' })
      expect([answer.status, noticeOf(answer)]).toEqual([401, 'login_required_again'])
      expect(await app.grantor.rows()).toEqual(before)
    },
  )
})

describe('The lists on the account page', () => {
  test('The account page shows for each app the first consent, the last expiry, the last renewal, the permissions and the receipts', async () => {
    const start = app.grantor.clock.now()
    const { code } = await app.walk.signIn(requestOf(app.client, { scope: 'profile' }))
    const tokens: Tokens = tokensOf(await app.walk.exchange(app.client, code))
    app.grantor.clock.advance(2 * DAY)
    await app.walk.refresh(app.client, tokens.refresh_token)
    const used = app.grantor.clock.now()
    app.grantor.clock.advance(60)
    await app.walk.signIn(requestOf(await app.grantor.createClient({ name: 'Another' }), { prompt: 'login' }))
    app.grantor.clock.advance(3600)
    const [another, mine] = appsOn(await openAccountPage())
    expect(another?.text).toContain('Another')
    expect(mine).toMatchObject({ client: app.client.id, since: start, until: start + 30 * DAY, lastRenewed: used })
    expect(mine?.text).toContain('See your profile')
    expect(mine?.text).not.toContain('enhancement')
    expect(mine?.receipts).toEqual(
      (await receiptsOf(app.grantor, app.walk.wallet)).filter(({ clientId }) => clientId === app.client.id).map(({ id }) => id),
    )
  })

  test('The account page lists an app that has a consent but no tokens yet, and no app whose consent and tokens have expired', async () => {
    await app.walk.signIn(requestOf(app.client))
    expect(appsOn(await openAccountPage())).toHaveLength(1)
    app.grantor.clock.advance(30 * DAY)
    await signInToAccount(app.walk)
    expect(appsOn(await openAccountPage())).toEqual([])
  })

  test('The account page lists the older receipts of an app with the newer ones, and marks the withdrawn ones as withdrawn', async () => {
    await app.walk.signIn(requestOf(app.client))
    await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
    expect(appsOn(await openAccountPage())).toEqual([])
    app.grantor.clock.advance(60)
    await app.walk.signIn(requestOf(app.client))
    const [mine] = appsOn(await openAccountPage())
    expect(mine?.receipts).toEqual((await receiptsOf(app.grantor, app.walk.wallet)).map(({ id }) => id))
    expect(mine?.text.split('withdrawn').length).toBe(2)
  })

  test('The account page shows the current name of an app, and escapes HTML in the name', async () => {
    await app.walk.signIn(requestOf(app.client))
    await changeClient(app.grantor, app.client, { name: '<script>alert(1)</script>"\'' })
    const { body } = await openAccountPage()
    expect(body).not.toContain('<script>alert')
    expect(body).toContain('&lt;script&gt;')
  })

  test('The account page lists the sessions of its own wallet only, with a handle for each other session and without session ids', async () => {
    await app.walk.signIn(requestOf(app.client))
    const [elsewhere, stranger] = [new Walk(app.grantor), new Walk(app.grantor, testWallet(1))]
    await signInToAccount(elsewhere)
    await signInToAccount(stranger)
    const shown = sessionsOn(await openAccountPage())
    expect(shown).toMatchObject({ rows: 2, handles: [expect.stringMatching(/^[A-Za-z0-9_-]{16}$/)] })
    const ids = [app.walk, elsewhere].map((walk) => walk.cookies.get('grantor_session') ?? '')
    for (const id of ids) expect((await openAccountPage()).body).not.toContain(id)
    expect(sessionsOn(await openAccountPage(stranger))).toMatchObject({ rows: 1, handles: [] })
  })

  test('A session that the login server vouched for shows its apps without receipts, and can end them', async () => {
    const client = await app.grantor.createClient()
    const vouched = new Walk(app.grantor)
    await vouchFor(vouched, client)
    const tokens = tokensOf(
      await vouched.exchange(client, parameterOf((await vouched.authorize(requestOf(client))).location, 'code')),
    )
    const [mine] = appsOn(await openAccountPage(vouched))
    expect(mine).toMatchObject({ client: client.id, receipts: [] })
    await vouched.postForm('/account/apps/end', { client_id: client.id })
    expect(await app.isActive(tokens.access_token, client)).toBe(false)
  })

  test('The account page contains no full address, no signature, no token and no session id', async () => {
    await app.walk.signIn(requestOf(app.client))
    const { body } = await openAccountPage()
    expect(body).toContain('0xf39F…2266')
    expect(body).not.toContain(app.walk.wallet.address)
    expect(body).not.toContain(app.walk.cookies.get('grantor_session'))
    expect(body).not.toMatch(/0x[0-9a-f]{60}/)
  })
})

describe('The forms of the account page', () => {
  beforeEach(async () => void (await app.walk.signIn(requestOf(app.client))))

  test.each(['https://evil.example', 'null', 'http://localhost', ''])(
    'Every form of the account page that comes from the origin "%s" is refused with 403 and changes nothing',
    async (origin) => {
      await signInToAccount(new Walk(app.grantor))
      const { handles } = sessionsOn(await openAccountPage())
      const before = await app.grantor.rows()
      for (const path of ['apps/end', 'sessions/end', 'sessions/end-others', 'sign-out', 'end-everything']) {
        const answer = await app.walk.postForm(
          `/account/${path}`,
          { client_id: app.client.id, session: handles[0] ?? '' },
          { origin },
        )
        expect([path, answer.status, noticeOf(answer)]).toEqual([path, 403, 'foreign_origin'])
        expect(answer.headers).not.toHaveProperty('set-cookie')
      }
      expect(await app.grantor.rows()).toEqual(before)
    },
  )

  test('A form of the account page that names an unknown app or session, or one of another wallet, changes no row', async () => {
    const stranger = new Walk(app.grantor, testWallet(1))
    const theirs = tokensOf(await stranger.exchange(app.client, (await stranger.signIn(requestOf(app.client))).code))
    await signInToAccount(new Walk(app.grantor, testWallet(1)))
    const { handles } = sessionsOn(await openAccountPage(stranger))
    const { sessions, grants, receipts } = await app.grantor.rows()
    for (const session of [handles[0] ?? '', '', 'x', '%', '*', ' ', 'A'.repeat(16), 'a'.repeat(9000)]) {
      expect((await app.walk.postForm('/account/sessions/end', { session })).status).toBe(303)
    }
    for (const client_id of ['', 'x', '%', "' OR 1=1 --", app.client.id.toUpperCase(), ` ${app.client.id}`]) {
      expect((await app.walk.postForm('/account/apps/end', { client_id })).status).toBe(303)
    }
    await app.walk.postForm('/account/sessions/end-others', {})
    const after = await app.grantor.rows()
    expect({ sessions: after.sessions, grants: after.grants, receipts: after.receipts }).toEqual({ sessions, grants, receipts })
    expect(await app.isActive(theirs.access_token)).toBe(true)
  })

  test('A form of the account page is refused if a field is sent twice or if the content type is JSON', async () => {
    expect((await app.walk.postForm('/account/apps/end', 'client_id=a&client_id=b')).status).toBe(400)
    const json = { 'content-type': 'application/json' }
    expect((await app.walk.postForm('/account/apps/end', `{"client_id":"${app.client.id}"}`, json)).status).toBe(415)
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('A GET request to the address of an account form ends nothing', async () => {
    const before = await app.grantor.rows()
    for (const path of ['apps/end', 'sessions/end', 'sessions/end-others', 'sign-out']) {
      expect((await app.walk.browse({ path: `/account/${path}?client_id=${app.client.id}` })).status).toBe(405)
    }
    expect((await app.walk.browse({ path: '/account/end-everything' })).status).toBe(200)
    expect(await app.grantor.rows()).toEqual(before)
  })
})

test('If the store cannot be read, every page of the account is 503 with Retry-After, never a redirect to the login page', async () => {
  await app.walk.signIn(requestOf(app.client))
  const [receipt] = await receiptsOf(app.grantor, app.walk.wallet)
  await app.grantor.store.close()
  const stranger = new Walk(app.grantor)
  for (const walk of [app.walk, stranger]) {
    const answers = [
      await openAccountPage(walk),
      await walk.browse({ path: `/account/receipts/${receipt?.id}` }),
      await walk.postForm('/account/sign-out', {}),
    ]
    for (const answer of answers) {
      expect([answer.status, noticeOf(answer), answer.location]).toEqual([503, 'unavailable', ''])
      expect(answer.headers['retry-after']).toMatch(/^\d+$/)
      expect(answer.headers).not.toHaveProperty('set-cookie')
    }
  }
})

describe('The receipts of apps that were ended', () => {
  /** The ids of the receipts in the section of ended apps, and its text. */
  const endedOn = ({ body }: Answer) => {
    const [, part = ''] = /<section class="stack" aria-labelledby="ended-title">([^]*?)<\/section>/.exec(body) ?? []
    return { ids: [...part.matchAll(/href="\/account\/receipts\/([0-9a-f-]{36})"/g)].map(([, id = '']) => id), part }
  }

  test('Ending an app moves its receipts to a list of their own, as withdrawn, and each can still be opened and downloaded', async () => {
    const { walk, client } = app
    await walk.signIn(requestOf(client, { scope: 'enhancement' }))
    const [receipt] = await receiptsOf(app.grantor, walk.wallet)
    expect(endedOn(await openAccountPage()).part).toBe('')
    const answer = await walk.postForm('/account/apps/end', { client_id: client.id })
    expect(answer.location).toBe('/account?done=app_ended#done')
    const page = await walk.browse({ path: '/account?done=app_ended' })
    expect(page.body).toContain('Was it a mistake? Open the app and sign in again.')
    expect(appsOn(page)).toEqual([])
    const { ids, part } = endedOn(page)
    expect(ids).toEqual([receipt?.id])
    expect(part).toContain(`<bdi>${client.name}</bdi>`)
    expect(part).toContain('<span class="tag">withdrawn</span>')
    expect((await walk.browse({ path: `/account/receipts/${receipt?.id}` })).body).toContain(
      'Withdrawn: it allows nothing any more',
    )
    expect((await walk.browse({ path: `/account/receipts/${receipt?.id}.json` })).status).toBe(200)
  })

  test('Once the app has access again, all of its receipts are with the app', async () => {
    const { walk, client } = app
    await walk.signIn(requestOf(client))
    await walk.postForm('/account/apps/end', { client_id: client.id })
    app.grantor.clock.advance(1)
    await walk.signIn(requestOf(client))
    const page = await openAccountPage()
    expect(endedOn(page).part).toBe('')
    expect(appsOn(page)[0]?.receipts).toHaveLength(2)
  })

  test('A client that was deleted is named by the host of the signed redirect URI', async () => {
    const { walk, client } = app
    await walk.signIn(requestOf(client))
    await walk.postForm('/account/apps/end', { client_id: client.id })
    await app.grantor.store.clients.deleteClient(client.id)
    await app.grantor.noticeChanges()
    expect(endedOn(await openAccountPage()).part).toContain('<bdi>app.example.net</bdi>')
  })

  test('A vouched session sees no receipts of ended apps', async () => {
    const { walk, client } = app
    await walk.signIn(requestOf(client))
    await walk.postForm('/account/apps/end', { client_id: client.id })
    const session = await app.grantor.createClient({ consent: 'session', scopes: ['enhancement'] })
    const vouched = new Walk(app.grantor)
    await vouchFor(vouched, session)
    expect(endedOn(await openAccountPage(vouched)).part).toBe('')
  })
})

describe('The browsers of sessions', () => {
  test('Each session has the name of the browser that signed in, also if another device signed for that browser', async () => {
    const userAgents = {
      'Firefox on Windows': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0',
      'Safari on iPhone':
        'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Version/26.0 Mobile/15E148 Safari/604.1',
    }
    const [desktop, phone] = Object.values(userAgents).map((userAgent) => {
      const walk = new Walk(app.grantor)
      const browse = walk.browse.bind(walk)
      walk.browse = (request) => browse({ ...request, headers: { 'user-agent': userAgent, ...request.headers } })
      return walk
    }) as [Walk, Walk]
    await signInToAccount(phone)
    const { url, continue_url } = await offerOf(desktop, await desktop.challenge(requestOf(app.client)))
    await signOn(phone, url)
    await openUrl(desktop, continue_url)
    await app.walk.signIn(requestOf(app.client))
    const { body } = await openAccountPage()
    const titles = [...body.slice(body.indexOf('id="sessions-title"')).matchAll(/<h3>([^]*?)<\/h3>/g)]
    const shown = titles.map(([, title = '']) => title.replaceAll(/<svg[^]*?<\/svg>|<[^>]*>/g, '').trim())
    expect(shown.toSorted()).toEqual(['Firefox on Windows', 'Safari on iPhone', 'This browser'])
  })
})
