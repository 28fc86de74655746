/** The page with one button, for `prompt=consent` (OpenID Connect Core §3.1.2.1) where a session would be consent enough. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { endSessions } from '../../src/domain/consent/end-grants.ts'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import { allRows } from '../support/rows.ts'
import { type Grantor, startGrantor, type TestClient } from '../support/start.ts'
import { type Answer, CODE_VERIFIER, fieldOf, movingTo, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../support/walk.ts'

const CONFIRM = '/oauth/authorize/confirm'

let grantor: Grantor
let native: TestClient
let web: TestClient
let walk: Walk

beforeAll(async () => {
  grantor = await startGrantor()
  web = await grantor.createClient({ name: 'Gérät <b>', scopes: ['enhancement', 'profile'] })
  native = await grantor.createClient({ type: 'native', redirectUris: ['com.example.app:/cb'] })
})
beforeEach(async () => {
  walk = new Walk(grantor)
  await walk.signIn(requestOf(web))
})
afterAll(() => grantor.close())

const ask = () => walk.authorize(requestOf(web, { ...PKCE, state: 'kept', prompt: 'consent' }))

function refusedWith(answer: Answer, status: number, notice: string): void {
  expect(answer.status).toBe(status)
  expect(noticeOf(answer)).toBe(notice)
  expect(answer.headers).not.toHaveProperty('location')
  expect(answer.body).not.toContain('http-equiv="refresh"')
  expect(answer.body).not.toContain('code=')
  expect(answer.headers).toMatchObject(pageHeaders())
}

describe('the page', () => {
  test('is shown every time the app wants the person asked, however often it was allowed', async () => {
    for (let time = 0; time < 3; time += 1) {
      const page = await ask()
      expect(page.status).toBe(200)
      expect(page.body).toContain('id="approve"')
      expect(parameterOf(movingTo(await walk.confirm(page, 'allow')), 'code')).not.toBe('')
    }
  })

  test('says which app, which host, which permission and which wallet, and never runs what an app is called', async () => {
    const { body, headers } = await ask()
    expect(body).toContain('Gérät &lt;b&gt;')
    expect(body).not.toContain('<b>')
    expect(body).toContain('app.example.net')
    expect(body).toContain('Use the enhancement features for you')
    expect(body).toContain('0xf39F…2266')
    expect(body).not.toContain(walk.wallet.address)
    expect(headers).toMatchObject(pageHeaders())
  })

  test('writes nothing', async () => {
    const before = allRows(grantor.databasePath)
    await ask()
    expect(allRows(grantor.databasePath)).toEqual(before)
  })
})

describe('a button is no signature: where the consent rule is signed there is no such page', () => {
  test.each(['a native app', 'another client'])('%s leads to the login page, with prompt=consent and without', async (what) => {
    const client = what === 'a native app' ? native : await grantor.createClient({ consent: 'signed' })
    for (const more of [{}, { prompt: 'consent' }]) {
      const answer = await walk.authorize(requestOf(client, { ...PKCE, ...more }))
      expect(answer.status).toBe(302)
      expect(answer.location.startsWith(`${grantor.loginUrl}/login?login_challenge=`)).toBe(true)
    }
  })

  test('signed once, the consent gives the next code at once, unless the app wants the person asked', async () => {
    const { to, code } = await walk.signIn(requestOf(native, { ...PKCE, state: 'kept' }))
    expect(to.startsWith('com.example.app:/cb?code=')).toBe(true)
    expect((await walk.exchange(native, code, { code_verifier: CODE_VERIFIER })).status).toBe(200)
    const next = await walk.authorize(requestOf(native, PKCE))
    expect(next.location).toMatch(/^com\.example\.app:\/cb\?code=/)
    const asked = await walk.authorize(requestOf(native, { ...PKCE, prompt: 'consent' }))
    expect(asked.location.startsWith(`${grantor.loginUrl}/login?login_challenge=`)).toBe(true)
  })

  test('a client whose rule became signed while the page was open gets no code by it', async () => {
    const client = await grantor.createClient()
    const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
    await grantor.store.clients.replaceClient({ ...client, consent: 'signed' })
    await grantor.noticeChanges()
    refusedWith(await walk.confirm(page, 'allow'), 401, 'login_required_again')
  })
})

describe('its buttons', () => {
  test('allow: a 200 page that moves on to the redirect URI with code and state, and the code is good', async () => {
    const answer = await walk.confirm(await ask(), 'allow')
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject(pageHeaders())
    const to = movingTo(answer)
    expect(to).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[A-Za-z0-9._-]+&state=kept$/)
    expect((await walk.exchange(web, parameterOf(to, 'code'), { code_verifier: CODE_VERIFIER })).status).toBe(200)
  })

  test('deny: access_denied and state, no code, nothing written', async () => {
    const before = allRows(grantor.databasePath)
    const to = movingTo(await walk.confirm(await ask(), 'deny'))
    expect(to).toBe(`${web.redirectUris[0]}?error=access_denied&error_description=The%20user%20declined.&state=kept`)
    expect(allRows(grantor.databasePath)).toEqual(before)
  })

  test.each(['', 'ALLOW', 'allow ', 'yes', 'true', '1', 'deny'])(
    'decision %j is no clear yes, so it is a no',
    async (decision) => {
      const answer = await walk.postForm(CONFIRM, { confirmation: fieldOf(await ask(), 'confirmation'), decision })
      expect(parameterOf(movingTo(answer), 'error')).toBe('access_denied')
    },
  )

  test('no decision at all is a no, and two of them are no form', async () => {
    const confirmation = fieldOf(await ask(), 'confirmation')
    expect(parameterOf(movingTo(await walk.postForm(CONFIRM, { confirmation })), 'error')).toBe('access_denied')
    refusedWith(await walk.postForm(CONFIRM, { confirmation, decision: ['deny', 'allow'] }), 400, 'malformed_request')
    refusedWith(
      await walk.postForm(CONFIRM, { confirmation: [confirmation, confirmation], decision: 'allow' }),
      400,
      'malformed_request',
    )
  })

  test('what was asked for is what is allowed, no matter what the form adds', async () => {
    const page = await walk.authorize(requestOf(web, { prompt: 'consent', scope: 'enhancement' }))
    const fields = {
      confirmation: fieldOf(page, 'confirmation'),
      decision: 'allow',
      scope: 'profile',
      redirect_uri: 'https://evil.example/',
      client_id: native.id,
    }
    const to = movingTo(await walk.postForm(CONFIRM, fields))
    expect(to.startsWith(`${web.redirectUris[0]}?code=`)).toBe(true)
    expect((await walk.exchange(web, parameterOf(to, 'code'))).json().scope).toBe('enhancement')
  })
})

describe('nobody else presses them', () => {
  test.each(['https://evil.example', 'null', 'http://localhost', 'http://localhost:1', 'https://localhost', '', 'file://'])(
    'a form posted from Origin %j is refused',
    async (origin) => {
      const confirmation = fieldOf(await ask(), 'confirmation')
      refusedWith(await walk.postForm(CONFIRM, { confirmation, decision: 'allow' }, { origin }), 403, 'foreign_origin')
      refusedWith(await walk.postForm(CONFIRM, { confirmation, decision: 'deny' }, { origin }), 403, 'foreign_origin')
    },
  )

  test('the login server’s origin is foreign too', async () => {
    const confirmation = fieldOf(await ask(), 'confirmation')
    refusedWith(
      await walk.postForm(CONFIRM, { confirmation, decision: 'allow' }, { origin: grantor.loginUrl }),
      403,
      'foreign_origin',
    )
  })

  test('the cookie is SameSite=Lax, so that a foreign form would come without it: no session, no code', async () => {
    const page = await ask()
    refusedWith(await new Walk(grantor).confirm(page, 'allow'), 401, 'login_required_again')
  })

  test('a confirmation asked for in another session is refused, even of the same wallet', async () => {
    const page = await ask()
    const again = new Walk(grantor)
    await again.signIn(requestOf(web))
    refusedWith(await again.confirm(page, 'allow'), 401, 'login_required_again')
    refusedWith(await again.confirm(page, 'deny'), 401, 'login_required_again')
  })

  test('after the session was replaced by a new login the old page is worthless', async () => {
    const page = await ask()
    await walk.signIn(requestOf(web, { prompt: 'login' }))
    refusedWith(await walk.confirm(page, 'allow'), 401, 'login_required_again')
  })

  test('after the session ended', async () => {
    const page = await ask()
    await endSessions(grantor.deps, walk.wallet.address as `0x${string}`, () => true)
    refusedWith(await walk.confirm(page, 'allow'), 401, 'login_required_again')
  })

  test('a page older than ten minutes', async () => {
    const page = await ask()
    grantor.clock.advance(599)
    expect((await walk.confirm(page, 'allow')).status).toBe(200)
    grantor.clock.advance(1)
    refusedWith(await walk.confirm(page, 'allow'), 410, 'expired')
  })

  test('a client that was disabled meanwhile', async () => {
    const going = await grantor.createClient()
    const page = await walk.authorize(requestOf(going, { prompt: 'consent' }))
    await grantor.store.clients.replaceClient({ ...going, disabledAt: grantor.clock.now() })
    await grantor.noticeChanges()
    refusedWith(await walk.confirm(page, 'allow'), 403, 'unknown_client')
  })

  test('anything that is not a confirmation: nothing, rubbish, a changed one, a code, a challenge', async () => {
    const confirmation = fieldOf(await ask(), 'confirmation')
    const { location } = await walk.authorize(requestOf(web))
    const { challenge } = await new Walk(grantor).signIn(requestOf(web))
    const changed = confirmation.slice(0, -5) + (confirmation.at(-5) === 'A' ? 'B' : 'A') + confirmation.slice(-4)
    const code = parameterOf(location, 'code')
    for (const each of [
      '',
      'x',
      'grf..',
      changed,
      code,
      challenge,
      code.replace('grc', 'grf'),
      challenge.replace('grl', 'grf'),
    ]) {
      refusedWith(await walk.postForm(CONFIRM, { confirmation: each, decision: 'allow' }), 400, 'broken_link')
    }
  })

  test('a body of another type is 415, one over 16 KiB is 413, the query of a post is not read', async () => {
    const confirmation = fieldOf(await ask(), 'confirmation')
    const fields = { confirmation, decision: 'allow' }
    expect((await walk.postForm(CONFIRM, fields, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await walk.postForm(CONFIRM, fields, { 'content-type': 'multipart/form-data; boundary=x' })).status).toBe(415)
    expect((await walk.postForm(CONFIRM, { ...fields, x: 'y'.repeat(16_384) })).status).toBe(413)
    refusedWith(await walk.postForm(`${CONFIRM}?confirmation=${confirmation}&decision=allow`, {}), 400, 'broken_link')
  })
})
