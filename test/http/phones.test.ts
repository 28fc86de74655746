/** A login taken up on another device, by its link: it ends there with a session and never with a code, and is finished once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pageHeaders } from '../../src/pages/page-headers.ts'
import type { App } from '../support/app.ts'
import { allRows } from '../support/rows.ts'
import { outcomeOf, startSignedApp } from '../support/signed-app.ts'
import { type Answer, encode, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let app: App
/** the browser that asked, its challenge, and the phone that took it up with a challenge of its own */
let first: Walk
let challenge: string
let phone: Walk
let taken: string

beforeAll(async () => {
  app = await startSignedApp()
})
beforeEach(async () => {
  first = new Walk(app.grantor)
  challenge = await first.challenge(requestOf(app.client, { state: 'of-the-first', prompt: 'login', response_type: 'code' }))
  phone = new Walk(app.grantor)
  taken = await open(phone)
})
afterAll(() => app.close())

const resume = (walk: Walk, of = challenge) => walk.browse({ path: `/login/resume?${encode({ login_challenge: of })}` })
const open = async (walk: Walk, of = challenge) => parameterOf((await resume(walk, of)).location, 'login_challenge')
const errorOf = (answer: Answer) => [answer.status, answer.json().error]
const part = (path: string, name: string) => parameterOf(`http://x${path}`, name)
const noCode = (answer: Answer) => {
  expect(answer.body).not.toContain('code=')
  expect(answer.body).not.toContain('of-the-first')
  expect(answer.body).not.toContain('http-equiv="refresh"')
}

describe('the link', () => {
  test('is told to the page that shows it, and not to the one it led to', async () => {
    const described = (await first.describe(challenge)).json()
    expect(described.resume_url).toBe(`${app.grantor.authUrl}/login/resume?login_challenge=${challenge}`)
    const again = (await phone.describe(taken)).json()
    expect(again).toEqual({ ...described, resume_url: null })
  })

  test('leads to the login page with a challenge and a browser key of the phone’s own, and writes nothing', async () => {
    const before = allRows(app.grantor.databasePath)
    const answer = await resume(new Walk(app.grantor))
    expect(answer.status).toBe(302)
    expect(answer.location).toMatch(/^http:\/\/localhost:\d+\/login\?login_challenge=grl\.[^&]+$/)
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^grantor_browser=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax/),
    ])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(parameterOf(answer.location, 'login_challenge')).not.toBe(challenge)
    expect(allRows(app.grantor.databasePath)).toEqual(before)
  })

  test('keeps the key of a browser that has one', async () => {
    const key = phone.cookies.get('grantor_browser')
    await open(phone)
    expect(phone.cookies.get('grantor_browser')).toBe(key)
  })

  test('shows the same text to sign, byte for byte', async () => {
    const claim = { address: phone.wallet.address, chain_id: 1, scope: 'enhancement' }
    const here = await first.loginApi('/login/message', { ...claim, login_challenge: challenge })
    const there = await phone.loginApi('/login/message', { ...claim, login_challenge: taken })
    expect(there.json()).toEqual(here.json())
  })

  test.each<[string, () => string | Promise<string>, number, string]>([
    ['of a login that was taken up already', () => taken, 400, 'broken_link'],
    ['garbled', () => `${challenge.slice(0, -2)}AA`, 400, 'broken_link'],
    ['cut off', () => challenge.slice(0, -1), 400, 'broken_link'],
    ['empty', () => '', 400, 'broken_link'],
    ['that is a verifier', async () => part(await first.reject(challenge), 'login_verifier'), 400, 'broken_link'],
  ])('%s leads nowhere', async (_, make, status, notice) => {
    const answer = await resume(new Walk(app.grantor), await make())
    expect([answer.status, noticeOf(answer)]).toEqual([status, notice])
    expect(answer.headers).toMatchObject(pageHeaders())
    expect(answer.headers).not.toHaveProperty('set-cookie')
  })

  test('of a login for no app leads nowhere: there is no app to go on at', async () => {
    const { location } = await new Walk(app.grantor).browse({ path: '/account' })
    expect((await resume(new Walk(app.grantor), parameterOf(location, 'login_challenge'))).status).toBe(400)
  })

  test('sent twice or missing leads nowhere', async () => {
    for (const query of ['', `login_challenge=${challenge}&login_challenge=${challenge}`]) {
      expect((await phone.browse({ path: `/login/resume?${query}` })).status).toBe(400)
    }
  })

  test('has the ten minutes of the login it came from, and not ten of its own', async () => {
    app.grantor.clock.advance(599)
    const late = await open(new Walk(app.grantor))
    app.grantor.clock.advance(1)
    const answer = await resume(new Walk(app.grantor))
    expect([answer.status, noticeOf(answer)]).toEqual([410, 'expired'])
    expect(errorOf(await phone.describe(late))).toEqual([410, 'expired'])
  })
})

describe('signed on the phone', () => {
  test('it ends with a session there and a link to the app’s site: no code, no state, no moving on', async () => {
    const answer = await phone.complete(await phone.prove(taken))
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'continue_on_app'])
    expect(answer.headers).toMatchObject(pageHeaders())
    expect(phone.cookies.get('grantor_session')).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(answer.body).toContain('href="https://app.example.net"')
    noCode(answer)
  })

  test('the app’s own request in that browser then gets its code at once, with its own state', async () => {
    await phone.complete(await phone.prove(taken))
    const answer = await phone.authorize(requestOf(app.client, { state: 'of-the-phone' }))
    expect(outcomeOf(answer)).toBe('code')
    expect(parameterOf(answer.location, 'state')).toBe('of-the-phone')
  })

  test('the first page then reads 409 continued_elsewhere, whichever wallet asks; its browser has no session', async () => {
    const unsent = await first.proof(challenge, testWallet(1))
    await phone.complete(await phone.prove(taken))
    expect(errorOf(await first.describe(challenge))).toEqual([409, 'continued_elsewhere'])
    expect(errorOf(await first.loginApi('/login/accept', unsent))).toEqual([409, 'continued_elsewhere'])
    expect(errorOf(await first.loginApi('/login/accept', await first.proof(challenge)))).toEqual([409, 'continued_elsewhere'])
    expect(first.cookies.has('grantor_session')).toBe(false)
    expect(errorOf(await phone.describe(taken))).toEqual([409, 'already_used'])
  })

  test('a proof made in the first browser before comes too late: no session, no code', async () => {
    const path = await first.prove(challenge, testWallet(1))
    await phone.complete(await phone.prove(taken))
    const answer = await first.complete(path)
    expect([answer.status, noticeOf(answer)]).toEqual([409, 'continued_elsewhere'])
    expect(first.cookies.has('grantor_session')).toBe(false)
    noCode(answer)
  })

  test('two phones with one link: one session, by whoever came first', async () => {
    const other = new Walk(app.grantor, testWallet(1))
    const path = await other.prove(await open(other))
    expect((await phone.complete(await phone.prove(taken))).status).toBe(200)
    const answer = await other.complete(path)
    expect([answer.status, noticeOf(answer)]).toEqual([409, 'already_used'])
    expect(other.cookies.has('grantor_session')).toBe(false)
  })

  test('in the very browser that asked it is no other: still no code', async () => {
    const answer = await first.complete(await first.prove(await open(first)))
    expect(noticeOf(answer)).toBe('continue_on_app')
    noCode(answer)
    expect(outcomeOf(await first.authorize(requestOf(app.client)))).toBe('code')
  })
})

describe('signed in the first browser', () => {
  test('the phone is told so at once, and can prove nothing more, by any wallet', async () => {
    const unsent = await phone.proof(taken, testWallet(1))
    const answer = await first.complete(await first.prove(challenge))
    expect(parameterOf(movingTo(answer), 'state')).toBe('of-the-first')
    expect(parameterOf(movingTo(answer), 'code')).not.toBe('')
    expect(errorOf(await phone.describe(taken))).toEqual([409, 'already_used'])
    expect(errorOf(await phone.loginApi('/login/accept', unsent))).toEqual([409, 'already_used'])
    expect(errorOf(await phone.describe(await open(new Walk(app.grantor))))).toEqual([409, 'already_used'])
    expect(phone.cookies.has('grantor_session')).toBe(false)
  })

  test('a proof made on the phone before comes too late', async () => {
    const path = await phone.prove(taken, testWallet(1))
    await first.complete(await first.prove(challenge))
    expect((await phone.complete(path)).status).toBe(409)
    expect(phone.cookies.has('grantor_session')).toBe(false)
  })

  test('one wallet cannot prove both: there is one receipt for one text', async () => {
    const there = await phone.proof(taken)
    await first.prove(challenge)
    expect(errorOf(await phone.loginApi('/login/accept', there))).toEqual([409, 'already_used'])
  })
})

describe('declined on the phone', () => {
  test('nobody is sent to the app from there, so its state is told to nobody; the first page is still open', async () => {
    const answer = await phone.complete(await phone.reject(taken))
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'declined_elsewhere'])
    expect(answer.body).not.toContain('access_denied')
    noCode(answer)
    expect((await first.describe(challenge)).status).toBe(200)
    expect(parameterOf(movingTo(await first.complete(await first.prove(challenge))), 'code')).not.toBe('')
  })
})

describe('nothing of one device is of use in another', () => {
  test('a verifier made in one opens no challenge of the other, nor of a third with the same link', async () => {
    const third = new Walk(app.grantor)
    const of = { first: challenge, phone: taken, third: await open(third) }
    const browsers = { first, phone, third }
    const verifiers = {
      first: part(await first.prove(challenge, testWallet(0)), 'login_verifier'),
      phone: part(await phone.prove(taken, testWallet(1)), 'login_verifier'),
      third: part(await third.prove(of.third, testWallet(2)), 'login_verifier'),
    }
    const names = ['first', 'phone', 'third'] as const
    for (const made of names) {
      for (const used of names.filter((name) => name !== made)) {
        for (const browser of names) {
          const path = `/login/complete?${encode({ login_challenge: of[used], login_verifier: verifiers[made] })}`
          expect((await browsers[browser].complete(path)).status).toBe(400)
        }
      }
    }
    for (const name of names) expect(browsers[name].cookies.has('grantor_session')).toBe(false)
  })

  test('a login finished in another browser than it was taken up in is refused, with or without a key of its own', async () => {
    const path = await phone.prove(taken)
    for (const walk of [first, new Walk(app.grantor)]) {
      const answer = await walk.complete(path)
      expect([answer.status, noticeOf(answer)]).toEqual([403, 'wrong_browser'])
    }
    expect((await phone.complete(path)).status).toBe(200)
  })
})
