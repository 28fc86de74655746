/** The confirmation page, for `prompt=consent` (OpenID Connect Core §3.1.2.1) under the consent rule session. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { endSessions } from '../../../../src/domain/consent/end-grants.ts'
import { pageHeaders } from '../../../../src/pages/page-headers.ts'
import { pack } from '../../../../src/store/packed.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import {
  type Answer,
  CODE_VERIFIER,
  fieldOf,
  movingTo,
  noticeOf,
  PKCE,
  parameterOf,
  requestOf,
  Walk,
} from '../../../support/walk.ts'

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

const openConfirmation = () => walk.authorize(requestOf(web, { ...PKCE, state: 'kept', prompt: 'consent' }))

function expectRefused(answer: Answer, status: number, notice: string): void {
  expect(answer.status).toBe(status)
  expect(noticeOf(answer)).toBe(notice)
  expect(answer.headers).not.toHaveProperty('location')
  expect(answer.body).not.toContain('http-equiv="refresh"')
  expect(answer.body).not.toContain('code=')
  expect(answer.headers).toMatchObject(pageHeaders({}))
}

describe('The confirmation page', () => {
  test('The confirmation page is shown for every request with prompt=consent, even after the user has allowed the app', async () => {
    for (let time = 0; time < 3; time += 1) {
      const page = await openConfirmation()
      expect(page.status).toBe(200)
      expect(page.body).toContain('id="approve"')
      expect(parameterOf(movingTo(await walk.confirm(page, 'allow')), 'code')).not.toBe('')
    }
  })

  test('The confirmation page shows the app, its host, the permissions and the shortened wallet, and escapes HTML in the app’s name', async () => {
    const { body, headers } = await openConfirmation()
    expect(body).toContain('Gérät &lt;b&gt;')
    expect(body).not.toContain('<b>')
    expect(body).toContain('app.example.net')
    expect(body).toContain('Use the enhancement features for you')
    expect(body).toContain('0xf39F…2266')
    expect(body).not.toContain(walk.wallet.address)
    expect(headers).toMatchObject(pageHeaders({}))
  })

  test('The confirmation page writes nothing to the store', async () => {
    const before = await grantor.rows()
    await openConfirmation()
    expect(await grantor.rows()).toEqual(before)
  })
})

describe('The consent rule signed and the confirmation page', () => {
  test.each(['A native app', 'A web client with the consent rule signed'])(
    '%s is sent to the login page instead of a confirmation page, with and without prompt=consent',
    async (what) => {
      const client = what === 'A native app' ? native : await grantor.createClient({ consent: 'signed' })
      for (const more of [{}, { prompt: 'consent' }]) {
        const answer = await walk.authorize(requestOf(client, { ...PKCE, ...more }))
        expect(answer.status).toBe(302)
        expect(answer.location.startsWith(`${grantor.loginUrl}/login?login_challenge=`)).toBe(true)
      }
    },
  )

  test('A signed consent gives the next request a code without a page, unless the request has prompt=consent', async () => {
    const { to, code } = await walk.signIn(requestOf(native, { ...PKCE, state: 'kept' }))
    expect(to.startsWith('com.example.app:/cb?code=')).toBe(true)
    expect((await walk.exchange(native, code, { code_verifier: CODE_VERIFIER })).status).toBe(200)
    const next = await walk.authorize(requestOf(native, PKCE))
    expect(next.location).toMatch(/^com\.example\.app:\/cb\?code=/)
    const withPrompt = await walk.authorize(requestOf(native, { ...PKCE, prompt: 'consent' }))
    expect(withPrompt.location.startsWith(`${grantor.loginUrl}/login?login_challenge=`)).toBe(true)
  })

  test('A confirmation page that was opened before the client’s consent rule became signed gives no code', async () => {
    const client = await grantor.createClient()
    const page = await walk.authorize(requestOf(client, { prompt: 'consent' }))
    await grantor.store.clients.replaceClient({ ...client, consent: 'signed' })
    await grantor.noticeChanges()
    expectRefused(await walk.confirm(page, 'allow'), 401, 'login_required_again')
  })
})

describe('The buttons of the confirmation page', () => {
  test('The decision allow returns a page that forwards to the redirect URI with state and a valid code', async () => {
    const answer = await walk.confirm(await openConfirmation(), 'allow')
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject(pageHeaders({}))
    const to = movingTo(answer)
    expect(to).toMatch(/^https:\/\/app\.example\.net\/callback\?code=grc\.[A-Za-z0-9._-]+&state=kept$/)
    expect((await walk.exchange(web, parameterOf(to, 'code'), { code_verifier: CODE_VERIFIER })).status).toBe(200)
  })

  test('The decision deny forwards to the redirect URI with access_denied and state, and writes only its audit line (RFC 6749 §4.1.2.1)', async () => {
    const before = await grantor.rows()
    const to = movingTo(await walk.confirm(await openConfirmation(), 'deny'))
    expect(to).toBe(
      `${web.redirectUris[0]}?error=access_denied&error_description=The%20user%20declined.&state=kept&iss=${encodeURIComponent(grantor.authUrl)}`,
    )
    const { audit_head: _, audit_writers: _writers, audit_lines: lines, ...after } = await grantor.rows()
    expect({ ...before, ...after }).toEqual(before)
    expect(lines).toHaveLength((before.audit_lines?.length ?? 0) + 1)
    expect(lines?.at(-1)).toMatchObject({ event: 'consent_declined', client_id: Uint8Array.from(pack(web.id)) })
  })

  test.each(['', 'ALLOW', 'allow ', 'yes', 'true', '1', 'deny'])(
    'The decision %j on the confirmation page counts as a refusal',
    async (decision) => {
      const answer = await walk.postForm(CONFIRM, { confirmation: fieldOf(await openConfirmation(), 'confirmation'), decision })
      expect(parameterOf(movingTo(answer), 'error')).toBe('access_denied')
    },
  )

  test('A confirmation without a decision counts as a refusal, and one with a repeated field is 400', async () => {
    const confirmation = fieldOf(await openConfirmation(), 'confirmation')
    expect(parameterOf(movingTo(await walk.postForm(CONFIRM, { confirmation })), 'error')).toBe('access_denied')
    expectRefused(await walk.postForm(CONFIRM, { confirmation, decision: ['deny', 'allow'] }), 400, 'malformed_request')
    expectRefused(
      await walk.postForm(CONFIRM, { confirmation: [confirmation, confirmation], decision: 'allow' }),
      400,
      'malformed_request',
    )
  })

  test('Fields that are added to the confirmation form change neither the scope nor the client nor the redirect URI', async () => {
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

describe('Forged and stale confirmations', () => {
  test.each(['https://evil.example', 'null', 'http://localhost', 'http://localhost:1', 'https://localhost', '', 'file://'])(
    'A confirmation that comes from the origin %j is refused with 403',
    async (origin) => {
      const confirmation = fieldOf(await openConfirmation(), 'confirmation')
      expectRefused(await walk.postForm(CONFIRM, { confirmation, decision: 'allow' }, { origin }), 403, 'foreign_origin')
      expectRefused(await walk.postForm(CONFIRM, { confirmation, decision: 'deny' }, { origin }), 403, 'foreign_origin')
    },
  )

  test('A confirmation that comes from the origin of the login server is refused with 403', async () => {
    const confirmation = fieldOf(await openConfirmation(), 'confirmation')
    expectRefused(
      await walk.postForm(CONFIRM, { confirmation, decision: 'allow' }, { origin: grantor.loginUrl }),
      403,
      'foreign_origin',
    )
  })

  test('A confirmation without the session cookie gets 401 and no code', async () => {
    const page = await openConfirmation()
    expectRefused(await new Walk(grantor).confirm(page, 'allow'), 401, 'login_required_again')
  })

  test('A confirmation in another session of the same wallet is refused with 401', async () => {
    const page = await openConfirmation()
    const again = new Walk(grantor)
    await again.signIn(requestOf(web))
    expectRefused(await again.confirm(page, 'allow'), 401, 'login_required_again')
    expectRefused(await again.confirm(page, 'deny'), 401, 'login_required_again')
  })

  test('A confirmation page is refused with 401 after a new login has replaced its session', async () => {
    const page = await openConfirmation()
    await walk.signIn(requestOf(web, { prompt: 'login' }))
    expectRefused(await walk.confirm(page, 'allow'), 401, 'login_required_again')
  })

  test('A confirmation page is refused with 401 after its session has ended', async () => {
    const page = await openConfirmation()
    await endSessions(grantor.deps, walk.wallet.address as `0x${string}`, () => true)
    expectRefused(await walk.confirm(page, 'allow'), 401, 'login_required_again')
  })

  test('A confirmation page is accepted for 599 seconds, and refused with 410 after 600 seconds', async () => {
    const page = await openConfirmation()
    grantor.clock.advance(599)
    expect((await walk.confirm(page, 'allow')).status).toBe(200)
    grantor.clock.advance(1)
    expectRefused(await walk.confirm(page, 'allow'), 410, 'expired')
  })

  test('A confirmation page is refused with 403 if its client was disabled in the meantime', async () => {
    const going = await grantor.createClient()
    const page = await walk.authorize(requestOf(going, { prompt: 'consent' }))
    await grantor.store.clients.replaceClient({ ...going, disabledAt: grantor.clock.now() })
    await grantor.noticeChanges()
    expectRefused(await walk.confirm(page, 'allow'), 403, 'unknown_client')
  })

  test('A confirmation form with a changed confirmation, a code or a login challenge in its place is 400', async () => {
    const confirmation = fieldOf(await openConfirmation(), 'confirmation')
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
      expectRefused(await walk.postForm(CONFIRM, { confirmation: each, decision: 'allow' }), 400, 'broken_link')
    }
  })

  test('A confirmation form with another content type is 415, one over 16 KiB is 413, and the query is ignored', async () => {
    const confirmation = fieldOf(await openConfirmation(), 'confirmation')
    const fields = { confirmation, decision: 'allow' }
    expect((await walk.postForm(CONFIRM, fields, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await walk.postForm(CONFIRM, fields, { 'content-type': 'multipart/form-data; boundary=x' })).status).toBe(415)
    expect((await walk.postForm(CONFIRM, { ...fields, x: 'y'.repeat(16_384) })).status).toBe(413)
    expectRefused(await walk.postForm(`${CONFIRM}?confirmation=${confirmation}&decision=allow`, {}), 400, 'broken_link')
  })
})
