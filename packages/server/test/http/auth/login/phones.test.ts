/** A login that continues on another device and ends there with a session, never with a code. Only one device can finish the login. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pageHeaders } from '../../../../src/pages/page-headers.ts'
import type { App } from '../../../support/app.ts'
import { outcomeOf, startSignedApp } from '../../../support/signed-app.ts'
import { type Answer, encode, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
/** the browser that made the request, its challenge, and the phone that opened the link and got its own challenge */
let first: Walk
let challenge: string
let phone: Walk
let phoneChallenge: string

beforeAll(async () => {
  app = await startSignedApp()
})
beforeEach(async () => {
  first = new Walk(app.grantor)
  challenge = await first.challenge(requestOf(app.client, { state: 'of-the-first', prompt: 'login', response_type: 'code' }))
  phone = new Walk(app.grantor)
  phoneChallenge = await openLink(phone)
})
afterAll(() => app.close())

const resume = (walk: Walk, of = challenge) => walk.browse({ path: `/login/resume?${encode({ login_challenge: of })}` })
const openLink = async (walk: Walk, of = challenge) => parameterOf((await resume(walk, of)).location, 'login_challenge')
const errorOf = (answer: Answer) => [answer.status, answer.json().error]
const parameterIn = (path: string, name: string) => parameterOf(`http://x${path}`, name)
const expectNoCode = (answer: Answer) => {
  expect(answer.body).not.toContain('code=')
  expect(answer.body).not.toContain('of-the-first')
  expect(answer.body).not.toContain('http-equiv="refresh"')
}

describe('The link to another device', () => {
  test('The description of a challenge has the link, unless the challenge itself came from a link', async () => {
    const described = (await first.describe(challenge)).json()
    const link = String(described.resume_url)
    expect(link.startsWith(`${app.grantor.authUrl}/login/resume?login_challenge=`)).toBe(true)
    expect((await phone.browse({ path: link.slice(app.grantor.authUrl.length) })).status).toBe(302)
    const again = (await phone.describe(phoneChallenge)).json()
    const { cross_device: _, ...same } = described
    expect(again).toEqual({ ...same, resume_url: null })
  })

  test('The link to another device leads to the login page with a new challenge and a new browser key, and writes nothing', async () => {
    const before = await app.grantor.rows()
    const answer = await resume(new Walk(app.grantor))
    expect(answer.status).toBe(302)
    expect(answer.location).toMatch(/^http:\/\/localhost:\d+\/login\?login_challenge=grl\.[^&]+$/)
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^grantor_browser=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax/),
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(parameterOf(answer.location, 'login_challenge')).not.toBe(challenge)
    expect(await app.grantor.rows()).toEqual(before)
  })

  test('A browser that has a browser key keeps that key when the browser opens a login link', async () => {
    const key = phone.cookies.get('grantor_browser')
    await openLink(phone)
    expect(phone.cookies.get('grantor_browser')).toBe(key)
  })

  test('A login link leads to the same text to sign as on the first device, byte for byte', async () => {
    const claim = { address: phone.wallet.address, chain_id: 1, scope: 'enhancement' }
    const here = await first.loginApi('/login/message', { ...claim, login_challenge: challenge })
    const there = await phone.loginApi('/login/message', { ...claim, login_challenge: phoneChallenge })
    expect(there.json()).toEqual(here.json())
  })

  test.each<[string, () => string | Promise<string>, number, string]>([
    ['from a link', () => phoneChallenge, 400, 'broken_link'],
    ['changed', () => challenge.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')), 400, 'broken_link'],
    ['truncated', () => challenge.slice(0, -1), 400, 'broken_link'],
    ['empty', () => '', 400, 'broken_link'],
    ['replaced by a verifier', async () => parameterIn(await first.reject(challenge), 'login_verifier'), 400, 'broken_link'],
  ])('A login link whose challenge is %s is refused as a broken link', async (_, make, status, notice) => {
    const answer = await resume(new Walk(app.grantor), await make())
    expect([answer.status, noticeOf(answer)]).toEqual([status, notice])
    expect(answer.headers).toMatchObject(pageHeaders({}))
    expect(answer.headers).not.toHaveProperty('set-cookie')
  })

  test('A login link is refused if the login is for no app', async () => {
    const { location } = await new Walk(app.grantor).browse({ path: '/account' })
    expect((await resume(new Walk(app.grantor), parameterOf(location, 'login_challenge'))).status).toBe(400)
  })

  test('A login link whose challenge is missing or repeated is refused', async () => {
    for (const query of ['', `login_challenge=${challenge}&login_challenge=${challenge}`]) {
      expect((await phone.browse({ path: `/login/resume?${query}` })).status).toBe(400)
    }
  })

  test('A login link, and the login on the other device, expire ten minutes after the first login began', async () => {
    app.grantor.clock.advance(599)
    const late = await openLink(new Walk(app.grantor))
    app.grantor.clock.advance(1)
    const answer = await resume(new Walk(app.grantor))
    expect([answer.status, noticeOf(answer)]).toEqual([410, 'expired'])
    expect(errorOf(await phone.describe(late))).toEqual([410, 'expired'])
  })
})

describe('A login that was signed on the phone', () => {
  test('A login signed on the phone ends with a session there and a link to the app, without code, state or redirect', async () => {
    const answer = await phone.complete(await phone.prove(phoneChallenge))
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'continue_on_app'])
    expect(answer.headers).toMatchObject(pageHeaders({}))
    expect(phone.cookies.get('grantor_session')).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(answer.body).toContain('href="https://app.example.net"')
    expectNoCode(answer)
  })

  test('After a login on the phone, the app’s own request in that browser gets a code at once, with its own state', async () => {
    await phone.complete(await phone.prove(phoneChallenge))
    const answer = await phone.authorize(requestOf(app.client, { state: 'of-the-phone' }))
    expect(outcomeOf(answer)).toBe('code')
    expect(parameterOf(answer.location, 'state')).toBe('of-the-phone')
  })

  test('After a login on the phone, the first page gets 409 continued_elsewhere for any wallet, and its browser no session', async () => {
    const unsent = await first.proof(challenge, testWallet(1))
    await phone.complete(await phone.prove(phoneChallenge))
    expect(errorOf(await first.describe(challenge))).toEqual([409, 'continued_elsewhere'])
    expect(errorOf(await first.loginApi('/login/accept', unsent))).toEqual([409, 'continued_elsewhere'])
    expect(errorOf(await first.loginApi('/login/accept', await first.proof(challenge)))).toEqual([409, 'continued_elsewhere'])
    expect(first.cookies.has('grantor_session')).toBe(false)
    expect(errorOf(await phone.describe(phoneChallenge))).toEqual([409, 'already_used'])
  })

  test('After a login on the phone, an earlier proof in the first browser gets no session and no code', async () => {
    const path = await first.prove(challenge, testWallet(1))
    await phone.complete(await phone.prove(phoneChallenge))
    const answer = await first.complete(path)
    expect([answer.status, noticeOf(answer)]).toEqual([409, 'continued_elsewhere'])
    expect(first.cookies.has('grantor_session')).toBe(false)
    expectNoCode(answer)
  })

  test('If two phones open one login link, only the phone that finishes first gets a session', async () => {
    const other = new Walk(app.grantor, testWallet(1))
    const path = await other.prove(await openLink(other))
    expect((await phone.complete(await phone.prove(phoneChallenge))).status).toBe(200)
    const answer = await other.complete(path)
    expect([answer.status, noticeOf(answer)]).toEqual([409, 'already_used'])
    expect(other.cookies.has('grantor_session')).toBe(false)
  })

  test('A login through a login link ends without a code even in the browser that made the request', async () => {
    const answer = await first.complete(await first.prove(await openLink(first)))
    expect(noticeOf(answer)).toBe('continue_on_app')
    expectNoCode(answer)
    expect(outcomeOf(await first.authorize(requestOf(app.client)))).toBe('code')
  })
})

describe('A login that was signed in the first browser', () => {
  test('After a login in the first browser, the phone gets 409 already_used for any wallet', async () => {
    const unsent = await phone.proof(phoneChallenge, testWallet(1))
    const answer = await first.complete(await first.prove(challenge))
    expect(parameterOf(movingTo(answer), 'state')).toBe('of-the-first')
    expect(parameterOf(movingTo(answer), 'code')).not.toBe('')
    expect(errorOf(await phone.describe(phoneChallenge))).toEqual([409, 'already_used'])
    expect(errorOf(await phone.loginApi('/login/accept', unsent))).toEqual([409, 'already_used'])
    expect(errorOf(await phone.describe(await openLink(new Walk(app.grantor))))).toEqual([409, 'already_used'])
    expect(phone.cookies.has('grantor_session')).toBe(false)
  })

  test('After a login in the first browser, an earlier proof on the phone gets no session', async () => {
    const path = await phone.prove(phoneChallenge, testWallet(1))
    await first.complete(await first.prove(challenge))
    expect((await phone.complete(path)).status).toBe(409)
    expect(phone.cookies.has('grantor_session')).toBe(false)
  })

  test('After a proof in the first browser, the same wallet cannot prove the login on the phone: one text has one receipt', async () => {
    const there = await phone.proof(phoneChallenge)
    await first.prove(challenge)
    expect(errorOf(await phone.loginApi('/login/accept', there))).toEqual([409, 'already_used'])
  })
})

describe('A login that was declined on the phone', () => {
  test('A login declined on the phone sends no error and no state to the app, and the first page can still finish', async () => {
    const answer = await phone.complete(await phone.reject(phoneChallenge))
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'declined_elsewhere'])
    expect(answer.body).not.toContain('access_denied')
    expectNoCode(answer)
    expect((await first.describe(challenge)).status).toBe(200)
    expect(parameterOf(movingTo(await first.complete(await first.prove(challenge))), 'code')).not.toBe('')
  })
})

describe('Challenges and verifiers of another device', () => {
  test('A verifier of one device is refused with the challenge of any other device with the same link', async () => {
    const third = new Walk(app.grantor)
    const of = { first: challenge, phone: phoneChallenge, third: await openLink(third) }
    const browsers = { first, phone, third }
    const verifiers = {
      first: parameterIn(await first.prove(challenge, testWallet(0)), 'login_verifier'),
      phone: parameterIn(await phone.prove(phoneChallenge, testWallet(1)), 'login_verifier'),
      third: parameterIn(await third.prove(of.third, testWallet(2)), 'login_verifier'),
    }
    const names = ['first', 'phone', 'third'] as const
    for (const proving of names) {
      for (const completing of names.filter((name) => name !== proving)) {
        for (const browser of names) {
          const path = `/login/complete?${encode({ login_challenge: of[completing], login_verifier: verifiers[proving] })}`
          expect((await browsers[browser].complete(path)).status).toBe(400)
        }
      }
    }
    for (const name of names) expect(browsers[name].cookies.has('grantor_session')).toBe(false)
  })

  test('A login is refused in another browser than the one that opened the login link, with or without a browser key', async () => {
    const path = await phone.prove(phoneChallenge)
    for (const walk of [first, new Walk(app.grantor)]) {
      const answer = await walk.complete(path)
      expect([answer.status, noticeOf(answer)]).toEqual([403, 'wrong_browser'])
    }
    expect((await phone.complete(path)).status).toBe(200)
  })
})
