/**
 * A login in one browser that a wallet on another device signs: the letters are compared and signed, the browser continues with its own
 * cookie, and the other device gets nothing. The attacks are those of the device flow (RFC 8628 §5.4, draft-ietf-oauth-cross-device-security).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { unpack } from '../../../../src/store/packed.ts'
import type { App } from '../../../support/app.ts'
import { compareOn, type Offer, offerOf, openUrl, signOn } from '../../../support/cross-device.ts'
import { API, endEverything, outcomeOf, receiptsOf, startSignedApp } from '../../../support/signed-app.ts'
import {
  type Answer,
  CODE_VERIFIER,
  encode,
  fieldOf,
  movingTo,
  noticeOf,
  PKCE,
  parameterOf,
  requestOf,
  Walk,
} from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
/** the browser that signs in, its challenge, and what its page offers to the other device */
let desktop: Walk
let challenge: string
let offer: Offer
let phone: Walk

beforeAll(async () => {
  app = await startSignedApp({ trustedProxies: ['127.0.0.1'] })
})
beforeEach(async () => {
  app.grantor.deps.settings.crossDevice = true
  desktop = new Walk(app.grantor)
  challenge = await desktop.challenge(
    requestOf(app.client, { state: 'of-the-desktop', prompt: 'login', response_type: 'code', ...PKCE }),
  )
  offer = await offerOf(desktop, challenge)
  phone = new Walk(app.grantor, testWallet(1))
})
afterAll(() => app.close())

const scan = (walk: Walk, url = offer.url) => openUrl(walk, url)
const beginOn = (walk: Walk) => compareOn(walk, offer.url)
const sign = (walk: Walk) => signOn(walk, offer.url)
const goOn = (walk = desktop) => openUrl(walk, offer.continue_url)
const errorOf = (answer: Answer) => [answer.status, answer.json().error]
const seen = (answer: Answer) => [answer.status, noticeOf(answer)]

describe('A login that a wallet on another device signs', () => {
  test('The browser that began the login gets the code with its own state, for the wallet that signed on the other device', async () => {
    expect(seen(await sign(phone))).toEqual([200, 'signed_for_browser'])
    const to = movingTo(await goOn())
    expect(parameterOf(to, 'state')).toBe('of-the-desktop')
    const tokens = await desktop.exchange(app.client, parameterOf(to, 'code'), { code_verifier: CODE_VERIFIER })
    expect(tokens.status).toBe(200)
    const token = await desktop.introspect(app.client, String(tokens.json().access_token))
    expect(token.json()).toMatchObject({ active: true, sub: testWallet(1).address })
  })

  test('The signed text names the letters that the browser shows and says that the access goes to that browser', async () => {
    const there = await beginOn(phone)
    const { message } = (
      await phone.loginApi('/login/message', { login_challenge: there, address: phone.wallet.address, chain_id: 1 })
    ).json()
    expect(offer.code).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/)
    expect(message).toContain(offer.code)
    expect(message).toContain('browser')
    await sign(phone)
    expect((await receiptsOf(app.grantor, phone.wallet))[0]?.id).toBeDefined()
  })

  test('The other device gets no session and no code, and its page contains neither', async () => {
    const done = await sign(phone)
    expect(phone.cookies.has('grantor_session')).toBe(false)
    expect(done.body).not.toContain('code=')
    expect(done.body).not.toContain('of-the-desktop')
    expect(outcomeOf(await phone.authorize(requestOf(app.client)))).toBe('login')
  })

  test('The status of the login shows the browser that the other device has signed', async () => {
    expect(offer.signed).toBe(false)
    await sign(phone)
    expect((await desktop.describe(challenge)).json().cross_device).toEqual({ ...offer, url: expect.any(String), signed: true })
  })

  test('The user can decline scopes on the other device, and the tokens have the rest', async () => {
    const there = await beginOn(phone)
    expect((await phone.describe(there)).json()).toMatchObject({
      purpose: 'cross_device',
      user_code: offer.code,
      may_choose_scopes: true,
    })
    await phone.complete(await phone.prove(there, phone.wallet, 'enhancement'))
    const to = movingTo(await goOn())
    const tokens = await desktop.exchange(app.client, parameterOf(to, 'code'), { code_verifier: CODE_VERIFIER })
    expect(tokens.json().scope).toBe('enhancement')
  })
})

describe('A phone whose camera opens another browser than that of the wallet app', () => {
  test('A phone whose camera opens another browser gets a link to the same letters, and the wallet app signs for the same browser', async () => {
    const there = (await phone.describe(await beginOn(phone))).json()
    const walletApp = new Walk(app.grantor, testWallet(2))
    const page = await scan(walletApp, String(there.resume_url))
    expect(page.body).toContain(offer.code)
    const onward = await walletApp.postForm('/login/cross-device', { request: fieldOf(page, 'request'), decision: 'allow' })
    const answer = await walletApp.complete(await walletApp.prove(parameterOf(movingTo(onward), 'login_challenge')))
    expect(seen(answer)).toEqual([200, 'signed_for_browser'])
    expect(parameterOf(movingTo(await goOn()), 'state')).toBe('of-the-desktop')
  })

  test('A phone whose camera opens another browser shows that the wallet app has signed, before and after the first browser has continued', async () => {
    const there = await beginOn(phone)
    await sign(new Walk(app.grantor, testWallet(2)))
    expect(errorOf(await phone.describe(there))).toEqual([409, 'signed_on_other_device'])
    await goOn()
    expect(errorOf(await phone.describe(there))).toEqual([409, 'signed_on_other_device'])
  })
})

describe('What a cross-device login writes', () => {
  test('The page for the other device, the comparison and a refusal write nothing', async () => {
    const before = await app.grantor.rows()
    const page = await scan(phone)
    expect(page.body).toContain(offer.code)
    await beginOn(phone)
    const refused = await phone.postForm('/login/cross-device', { request: fieldOf(page, 'request'), decision: 'deny' })
    expect(noticeOf(refused)).toBe('cross_device_denied')
    expect(refused.body).toContain('The other screen keeps waiting until its code runs out')
    expect(await goOn().then(seen)).toEqual([409, 'not_signed_yet'])
    expect(await app.grantor.rows()).toEqual(before)
  })
})

describe('Attacks on a cross-device login', () => {
  test('The link alone signs no one in: another browser cannot continue with the signature', async () => {
    await sign(phone)
    for (const walk of [phone, new Walk(app.grantor)]) {
      expect(seen(await goOn(walk))).toEqual([403, 'wrong_browser'])
      expect(walk.cookies.has('grantor_session')).toBe(false)
    }
    expect(parameterOf(movingTo(await goOn()), 'code')).not.toBe('')
  })

  test('A login page that the attacker opened after skipping the comparison is of no use in the browser of the victim', async () => {
    const attacker = new Walk(app.grantor)
    const there = await beginOn(attacker)
    const path = await phone.prove(there)
    expect(seen(await phone.complete(path))).toEqual([403, 'wrong_browser'])
    expect(await goOn().then(seen)).toEqual([409, 'not_signed_yet'])
  })

  test('If two phones with two wallets race, the first signature counts and the second gets 409', async () => {
    const other = new Walk(app.grantor, testWallet(2))
    const [mine, theirs] = [await phone.prove(await beginOn(phone)), await other.prove(await beginOn(other))]
    const answers = await Promise.all([phone.complete(mine), other.complete(theirs)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
    const winner = answers[0]?.status === 200 ? phone.wallet : other.wallet
    const tokens = await desktop.exchange(app.client, parameterOf(movingTo(await goOn()), 'code'), {
      code_verifier: CODE_VERIFIER,
    })
    expect((await desktop.introspect(app.client, String(tokens.json().access_token))).json().sub).toBe(winner.address)
  })

  test('A second phone that scans after the first has signed reads that the code was used', async () => {
    await sign(phone)
    expect(seen(await scan(new Walk(app.grantor)))).toEqual([409, 'cross_device_used'])
  })

  test('After the other device has signed, the browser cannot sign with another wallet in its place', async () => {
    const own = await desktop.proof(challenge, testWallet(2))
    await sign(phone)
    expect(errorOf(await desktop.loginApi('/login/accept', own))).toEqual([409, 'signed_on_other_device'])
  })

  test('The browser continues once: a second use of the signature gives no second code', async () => {
    await sign(phone)
    await goOn()
    expect(seen(await goOn())).toEqual([409, 'already_used'])
  })

  test('A verifier of the other device is refused with the challenge of the browser', async () => {
    const path = await phone.prove(await beginOn(phone))
    const verifier = parameterOf(`http://x${path}`, 'login_verifier')
    const answer = await desktop.complete(`/login/complete?${encode({ login_challenge: challenge, login_verifier: verifier })}`)
    expect(seen(answer)).toEqual([400, 'broken_link'])
  })

  test('One phone cannot use the signature for one kind of login in the other kind, although both have one nonce and one browser', async () => {
    const resumed = await phone.browse({ path: `/login/resume?${encode({ login_challenge: challenge })}` })
    const goOnThere = parameterOf(resumed.location, 'login_challenge')
    const signThere = await beginOn(phone)
    const verifierOf = (path: string) => parameterOf(`http://x${path}`, 'login_verifier')
    const verifiers = {
      [goOnThere]: verifierOf(await phone.prove(goOnThere, testWallet(1))),
      [signThere]: verifierOf(await phone.prove(signThere, testWallet(2))),
    }
    for (const [signed, used] of [
      [goOnThere, signThere],
      [signThere, goOnThere],
    ] as const) {
      const query = encode({ login_challenge: used, login_verifier: verifiers[signed] ?? '' })
      expect(seen(await phone.complete(`/login/complete?${query}`))).toEqual([400, 'broken_link'])
    }
    expect(phone.cookies.has('grantor_session')).toBe(false)
    expect(await goOn().then(seen)).toEqual([409, 'not_signed_yet'])
  })

  test('A QR code that an attacker puts in place of the page’s shows other letters, and the browser of the victim stays signed out', async () => {
    const attacker = new Walk(app.grantor)
    const other = await app.grantor.createClient({ name: 'Evil Notes', consent: 'signed', scopes: ['enhancement'] })
    const theirs = await attacker.challenge(requestOf(other, { response_type: 'code', ...PKCE }))
    const swapped = await offerOf(attacker, theirs)
    const page = await scan(phone, swapped.url)
    expect(swapped.code).not.toBe(offer.code)
    expect(page.body).toContain(swapped.code)
    expect(page.body).not.toContain(offer.code)
    expect(page.body).toContain('Evil Notes')
    const there = await compareOn(phone, swapped.url)
    const proof = await phone.proof(there)
    const { message } = (await phone.loginApi('/login/message', proof)).json()
    for (const part of ['Evil Notes', swapped.code]) expect(message).toContain(part)
    await phone.complete(await phone.prove(there))
    expect(await goOn().then(seen)).toEqual([409, 'not_signed_yet'])
    for (const walk of [desktop, phone]) expect(walk.cookies.has('grantor_session')).toBe(false)
  })

  test('A proof for one app, or for another login at the same app, is refused with the challenge of any other login', async () => {
    const other = await app.grantor.createClient({ name: 'Evil Notes', consent: 'signed', scopes: ['enhancement'] })
    const own = await phone.prove(await beginOn(phone))
    for (const client of [app.client, other]) {
      const attacker = new Walk(app.grantor)
      const theirs = await attacker.challenge(requestOf(client, { response_type: 'code', prompt: 'login', ...PKCE }))
      const used = await compareOn(phone, (await offerOf(attacker, theirs)).url)
      const query = encode({ login_challenge: used, login_verifier: parameterOf(`http://x${own}`, 'login_verifier') })
      expect(seen(await phone.complete(`/login/complete?${query}`))).toEqual([400, 'broken_link'])
    }
  })

  test('A code that an attacker sends or mirrors shows the place of the attacker, and access ends when the wallet ends it', async () => {
    const attacker = new Walk(app.grantor)
    const browse = attacker.browse.bind(attacker)
    const userAgent = 'Mozilla/5.0 (Linux; Android 10; K) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36'
    attacker.browse = (request) => browse({ ...request, headers: { 'user-agent': userAgent } })
    const theirs = await attacker.challenge(requestOf(app.client, { response_type: 'code', ...PKCE }))
    const mirrored = await offerOf(attacker, theirs)
    const page = await phone.browse({
      path: mirrored.url.slice(app.grantor.authUrl.length),
      headers: { 'x-forwarded-for': '203.0.113.7' },
    })
    expect(page.body).toContain('Somebody sent you this link')
    expect(page.body).toContain('another network than yours')
    expect(page.body.replaceAll(/<[^>]*>/g, '')).toContain('Samsung Internet on Android')
    const same = await phone.browse({ path: mirrored.url.slice(app.grantor.authUrl.length) })
    expect(same.body).not.toContain('Asked from')
    await signOn(phone, mirrored.url)
    const to = movingTo(await openUrl(attacker, mirrored.continue_url))
    const tokens = await attacker.exchange(app.client, parameterOf(to, 'code'), { code_verifier: CODE_VERIFIER })
    await endEverything(new Walk(app.grantor, phone.wallet))
    const { active } = (await attacker.introspect(app.client, String(tokens.json().access_token))).json()
    expect(active).toBe(false)
    expect(outcomeOf(await attacker.authorize(requestOf(app.client)))).toBe('login')
  })

  test('The stored proof is no pushed request: its id is no request_uri', async () => {
    await sign(phone)
    const rows = (await app.grantor.rows()).pushed_requests as { id: Uint8Array }[]
    const ids = rows.map(({ id }) => unpack(id)).filter((id) => id.startsWith('cross-device:'))
    expect(ids.length).toBeGreaterThan(0)
    for (const id of ids) {
      const answer = await desktop.authorize({ client_id: app.client.id, request_uri: `urn:ietf:params:oauth:request_uri:${id}` })
      expect(answer.status).toBe(400)
    }
  })

  test('A foreign or damaged challenge is refused as a broken link', async () => {
    const { location } = await new Walk(app.grantor).browse({ path: '/account' })
    const resumed = await phone.browse({ path: `/login/resume?${encode({ login_challenge: challenge })}` })
    const others = [location, resumed.location].map((url) => parameterOf(url, 'login_challenge'))
    for (const text of ['', challenge.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')), ...others]) {
      expect(seen(await scan(phone, `${app.grantor.authUrl}/login/cross-device?${encode({ login_challenge: text })}`))).toEqual([
        400,
        'broken_link',
      ])
    }
  })

  test('The comparison cannot be skipped by a form of another site', async () => {
    const page = await scan(phone)
    const foreign = { origin: 'https://attacker.example', 'sec-fetch-site': 'cross-site' }
    const answer = await phone.postForm('/login/cross-device', { request: fieldOf(page, 'request'), decision: 'allow' }, foreign)
    expect(answer.status).toBe(403)
  })
})

describe('The end of a cross-device login', () => {
  test('The code for the other device expires ten minutes after the login began, also for a signature that was given before', async () => {
    await sign(phone)
    app.grantor.clock.advance(600)
    expect(seen(await goOn())).toEqual([410, 'expired'])
    expect(seen(await scan(new Walk(app.grantor)))).toEqual([410, 'cross_device_expired'])
  })

  test('If the wallet ends everything after it has signed, the browser gets no session', async () => {
    await sign(phone)
    await endEverything(new Walk(app.grantor, phone.wallet))
    expect(seen(await goOn())).toEqual([401, 'login_required_again'])
    expect(desktop.cookies.has('grantor_session')).toBe(false)
  })

  test('If the operator switches cross-device logins off, the page does not offer them and an earlier code is refused', async () => {
    const there = await beginOn(phone)
    app.grantor.deps.settings.crossDevice = false
    expect((await desktop.describe(challenge)).json()).not.toHaveProperty('cross_device')
    expect(seen(await scan(phone))).toEqual([403, 'cross_device_off'])
    expect(errorOf(await phone.describe(there))).toEqual([410, 'expired'])
  })

  test('A client with the rule `session` needs a signature for a cross-device login too', async () => {
    const client = await app.grantor.createClient({ consent: 'session', scopes: ['enhancement'], resources: [API] })
    const walk = new Walk(app.grantor)
    const of = await walk.challenge(requestOf(client, { prompt: 'login' }))
    offer = await offerOf(walk, of)
    app.grantor.deps.settings.loginMayVouch = true
    const there = await beginOn(phone)
    const vouched = await phone.loginApi('/login/accept', { login_challenge: there, address: phone.wallet.address, chain_id: 1 })
    app.grantor.deps.settings.loginMayVouch = false
    expect(errorOf(vouched)).toEqual([403, 'consent_needs_signature'])
  })
})
