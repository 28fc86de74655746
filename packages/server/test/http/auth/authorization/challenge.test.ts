/** The login challenge: a complete authorization request, sealed for one browser and ten minutes. Nothing is stored. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHALLENGE_LIFETIME } from '../../../../src/domain/model/deps.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { fieldOf, LOGIN_SERVER, noticeOf, PKCE, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let grantor: Grantor
let client: TestClient

beforeAll(async () => {
  // the limit on failures has its own test file
  grantor = await startGrantor({ failureLimit: 1_000_000 })
  client = await grantor.createClient()
})
afterAll(() => grantor.close())

const describeChallenge = (walk: Walk, challenge: string) =>
  walk.browse({ path: `/login/challenge?login_challenge=${challenge}`, headers: { authorization: LOGIN_SERVER } })

describe('The size of a login challenge', () => {
  const uriOf = (length: number) => `https://app.example.net/${'p'.repeat(length - 'https://app.example.net/'.length)}`

  test('A login challenge has at most 512 characters for a minimal request with a client name of 40 and a redirect URI of 100 characters', async () => {
    const big = await grantor.createClient({ name: 'N'.repeat(40), redirectUris: [uriOf(100)] })
    for (let time = 0; time < 5; time += 1) {
      expect((await new Walk(grantor).challenge(requestOf(big))).length).toBeLessThanOrEqual(512)
    }
  })

  test('A login challenge has at most 512 characters for a client name of 80 Cyrillic letters and a redirect URI of 100 characters', async () => {
    const big = await grantor.createClient({ name: 'Щ'.repeat(80), redirectUris: [uriOf(100)] })
    expect((await new Walk(grantor).challenge(requestOf(big))).length).toBeLessThanOrEqual(512)
  })

  test('A login challenge has at most 4,096 characters; a request with a longer state gets invalid_request at the redirect URI', async () => {
    const authorizeWithState = async (bytes: number) =>
      new Walk(grantor).authorize(requestOf(client, { state: 's'.repeat(bytes) }))
    let [fits, over] = [0, 4096]
    while (over - fits > 1) {
      const middle = Math.floor((fits + over) / 2)
      if ((await authorizeWithState(middle)).location.includes('login_challenge=')) fits = middle
      else over = middle
    }
    const longest = await authorizeWithState(fits)
    const challenge = parameterOf(longest.location, 'login_challenge')
    expect(challenge.length).toBeLessThanOrEqual(4096)
    expect(challenge.length).toBeGreaterThan(4080)

    const refused = await authorizeWithState(over)
    expect(refused.status).toBe(302)
    expect(refused.location.startsWith(`${client.redirectUris[0]}?error=invalid_request&`)).toBe(true)
    expect(parameterOf(refused.location, 'state')).toBe('s'.repeat(over))
    expect(refused.headers).not.toHaveProperty('set-cookie')
  })

  test('An authorization request with all parameters completes a login, with its state unchanged and with iss (RFC 9207 §2)', async () => {
    const full = await grantor.createClient({
      scopes: ['enhancement', 'profile'],
      resources: ['https://api.example.com/', 'urn:x:y'],
    })
    const parameters = {
      ...PKCE,
      response_type: 'code',
      scope: 'profile enhancement',
      state: 'x'.repeat(1000),
      resource: full.resources,
    }
    const walk = new Walk(grantor)
    const { to } = await walk.signIn(requestOf(full, parameters))
    expect(parameterOf(to, 'state')).toBe(parameters.state)
    expect(parameterOf(to, 'iss')).toBe(grantor.authUrl)
  })
})

describe('The lifetime of a login challenge', () => {
  test('A login challenge is accepted for 599 seconds; after 600 seconds every request with the challenge is 410', async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
    const { message } = (await walk.loginApi('/login/message', claim)).json()
    const proof = { ...claim, signature: walk.wallet.sign(message as string) }
    grantor.clock.advance(599)
    expect((await walk.loginApi('/login/accept', proof)).status).toBe(200)
    grantor.clock.advance(1)
    for (const answer of [
      await walk.loginApi('/login/accept', proof),
      await walk.loginApi('/login/message', claim),
      await walk.loginApi('/login/reject', claim),
      await describeChallenge(walk, challenge),
    ]) {
      expect(answer.status).toBe(410)
      expect(answer.json().error).toBe('expired')
    }
  })

  test('The description of a login challenge contains its expiry time', async () => {
    const walk = new Walk(grantor)
    const at = grantor.clock.now()
    const answer = await describeChallenge(walk, await walk.challenge(requestOf(client)))
    expect(answer.json().expires_at).toBe(at + CHALLENGE_LIFETIME)
  })
})

describe('The browser of a login challenge', () => {
  test('A browser gets one binding cookie with its first login, and keeps the cookie for later logins', async () => {
    const walk = new Walk(grantor)
    await walk.challenge(requestOf(client))
    const key = walk.cookies.get('grantor_browser')
    expect(key).toMatch(/^[A-Za-z0-9_-]{43}$/)
    await walk.challenge(requestOf(client))
    await walk.signIn(requestOf(client))
    await walk.challenge(requestOf(client, { prompt: 'login' }))
    expect(walk.cookies.get('grantor_browser')).toBe(key)
  })

  test('Two browsers get different binding cookies', async () => {
    const [one, two] = [new Walk(grantor), new Walk(grantor)]
    await one.challenge(requestOf(client))
    await two.challenge(requestOf(client))
    expect(one.cookies.get('grantor_browser')).not.toBe(two.cookies.get('grantor_browser'))
  })

  test('A binding cookie whose value has the wrong form is replaced', async () => {
    for (const planted of ['', 'x', 'x'.repeat(44), `${'x'.repeat(42)}!`]) {
      const walk = new Walk(grantor)
      walk.cookies.set('grantor_browser', planted)
      await walk.challenge(requestOf(client))
      expect(walk.cookies.get('grantor_browser')).not.toBe(planted)
    }
  })

  test('Logins in several tabs of one browser complete in any order, each with its own state and session', async () => {
    const walk = new Walk(grantor)
    const tabs = ['a', 'b', 'c', 'd']
    const challenges: string[] = []
    for (const state of tabs) challenges.push(await walk.challenge(requestOf(client, { state })))
    const paths = await Promise.all(challenges.map((challenge) => walk.prove(challenge)))
    const sessions = new Set<string>()
    for (const [i, path] of [...paths.entries()].toReversed()) {
      const page = await walk.complete(path)
      expect(page.status).toBe(200)
      expect(page.body).toContain(`state=${tabs[i]}`)
      sessions.add(walk.cookies.get('grantor_session') ?? '')
    }
    expect(sessions.size).toBe(tabs.length)
  })

  test('A login that returns in another browser gets a 403 page, no session and no code, and still completes in its own browser', async () => {
    const walk = new Walk(grantor)
    const path = await walk.prove(await walk.challenge(requestOf(client)))
    const withoutCookies = new Walk(grantor)
    const withOwnLogin = new Walk(grantor)
    await withOwnLogin.signIn(requestOf(client))
    const before = withOwnLogin.cookies.get('grantor_session')
    for (const other of [withoutCookies, withOwnLogin]) {
      const page = await other.complete(path)
      expect(page.status).toBe(403)
      expect(noticeOf(page)).toBe('wrong_browser')
      expect(page.headers).not.toHaveProperty('set-cookie')
      expect(page.headers).not.toHaveProperty('location')
      expect(page.body).not.toContain('code=')
    }
    expect(withOwnLogin.cookies.get('grantor_session')).toBe(before)
    // the attempt does not disturb the login in its own browser
    expect((await walk.complete(path)).status).toBe(200)
  })

  test('A declined login that returns in another browser is 403, and still completes in its own browser', async () => {
    const walk = new Walk(grantor)
    const path = await walk.reject(await walk.challenge(requestOf(client)))
    expect((await new Walk(grantor).complete(path)).status).toBe(403)
    expect((await walk.complete(path)).status).toBe(200)
  })
})

describe('Forged login challenges', () => {
  async function expectRefusedEverywhere(walk: Walk, challenge: string): Promise<void> {
    const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
    for (const path of ['/login/message', '/login/accept', '/login/reject']) {
      const answer = await walk.loginApi(path, claim)
      expect(answer.status).toBe(400)
      expect(answer.json().error).toBe('invalid_request')
    }
    expect((await describeChallenge(walk, encodeURIComponent(challenge))).status).toBe(400)
  }

  test('A login challenge with one changed character, at any position, is refused', async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    const claim = { address: walk.wallet.address, chain_id: 1 }
    const statuses = await Promise.all(
      Array.from(challenge, async (character, i) => {
        const other = character === 'a' ? 'b' : 'a'
        const forged = challenge.slice(0, i) + other + challenge.slice(i + 1)
        return (await walk.loginApi('/login/message', { ...claim, login_challenge: forged })).status
      }),
    )
    expect(new Set(statuses)).toEqual(new Set([400]))
    expect((await walk.loginApi('/login/message', { ...claim, login_challenge: challenge })).status).toBe(200)
  })

  test('A login challenge that was truncated, extended, padded, doubled, re-encoded or put in upper case is refused', async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    const [prefix = '', key = '', body = ''] = challenge.split('.')
    const forgeries = [
      ...Array.from({ length: 40 }, (_, i) => challenge.slice(0, -1 - i * 7)),
      `${challenge}A`,
      `${challenge}=`,
      `${challenge}\n`,
      ` ${challenge}`,
      `${challenge} `,
      `${challenge}\0`,
      challenge + challenge,
      challenge.toUpperCase(),
      `${prefix}.${key}.${Buffer.from(body, 'base64url').toString('base64')}=`,
      `${prefix}.${key}`,
      `${prefix}.${key}.`,
      `${prefix}..${body}`,
      `.${key}.${body}`,
      body,
      '..',
      '__proto__',
      `${prefix}.${'0'.repeat(10)}.${body}`,
      `${prefix}.${key}.${'A'.repeat(300)}`,
    ]
    for (const forged of forgeries) await expectRefusedEverywhere(walk, forged)
  })

  test('A code, a login verifier, a confirmation or a token is not accepted as a login challenge, even with the prefix of one', async () => {
    const walk = new Walk(grantor)
    const { code } = await walk.signIn(requestOf(client))
    const confirmation = fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')
    const verifier = parameterOf(
      `http://x${await walk.prove(await walk.challenge(requestOf(client, { prompt: 'login' })))}`,
      'login_verifier',
    )
    const tokens = (await walk.exchange(client, code)).json()
    for (const other of [code, confirmation, verifier]) {
      await expectRefusedEverywhere(walk, other)
      await expectRefusedEverywhere(walk, `grl${other.slice(3)}`)
    }
    await expectRefusedEverywhere(walk, tokens.access_token as string)
    await expectRefusedEverywhere(walk, tokens.refresh_token as string)
  })

  test('A login challenge is not accepted as a code, a refresh token or an access token', async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    for (const forged of [challenge, challenge.replace(/^grl/, 'grc')]) {
      expect((await walk.exchange(client, forged)).json().error).toBe('invalid_grant')
      expect((await walk.refresh(client, forged)).json().error).toBe('invalid_grant')
      expect((await walk.introspect(client, forged)).json()).toEqual({ active: false })
      expect((await walk.revoke(client, forged)).status).toBe(200)
    }
  })

  test('A login challenge of another installation is refused', async () => {
    const elsewhere = await startGrantor()
    try {
      const there = new Walk(elsewhere)
      await expectRefusedEverywhere(new Walk(grantor), await there.challenge(requestOf(await elsewhere.createClient())))
    } finally {
      await elsewhere.close()
    }
  })
})
