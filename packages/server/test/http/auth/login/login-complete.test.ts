/** The return from the login server: one session per challenge, in the browser of the challenge, within sixty seconds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endSessions } from '../../../../src/domain/consent/end-grants.ts'
import { pageHeaders } from '../../../../src/pages/page-headers.ts'
import { unpack } from '../../../../src/store/packed.ts'
import { type Grantor, startGrantor, type TestClient } from '../../../support/start.ts'
import { type Answer, fieldOf, movingTo, noticeOf, parameterOf, redirectPath, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let grantor: Grantor
let client: TestClient

beforeAll(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
})
afterAll(() => grantor.close())

const sessions = async () => (await grantor.rows()).sessions as { wallet: Uint8Array; ended_at: number | null }[]
const parameterOfPath = (path: string, name: string) => parameterOf(`http://x${path}`, name)

function expectNoSession(answer: Answer, status: number, notice: string): void {
  expect(answer.status).toBe(status)
  expect(noticeOf(answer)).toBe(notice)
  expect(answer.headers).not.toHaveProperty('set-cookie')
  expect(answer.headers).not.toHaveProperty('location')
  expect(answer.headers).toMatchObject(pageHeaders({}))
  expect(answer.body).not.toContain('http-equiv="refresh"')
  expect(answer.body).not.toContain('code=')
}

describe('The completion of a login', () => {
  test('A completed login returns 200 with a session cookie and a page that forwards to the redirect URI and has a link', async () => {
    const { answer, to } = await new Walk(grantor).signIn(requestOf(client))
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('location')
    expect(answer.headers).toMatchObject(pageHeaders({}))
    expect(answer.headers['set-cookie']).toHaveLength(1)
    expect(answer.body).toContain('<meta http-equiv="refresh" content="0;url=')
    expect(answer.body).toMatch(/<a [^>]*id="continue"/)
    expect(to.startsWith(`${client.redirectUris[0]}?code=`)).toBe(true)
  })

  test('A completed login continues the sealed request, and ignores added parameters in the URL', async () => {
    const walk = new Walk(grantor)
    const path = await walk.prove(await walk.challenge(requestOf(client, { state: 'mine' })))
    const answer = await walk.complete(`${path}&state=evil&redirect_uri=https://evil.example/&client_id=x&scope=admin&code=x`)
    expect(movingTo(answer)).toMatch(/^https:\/\/app\.example\.net\/callback\?code=[A-Za-z0-9._-]+&state=mine$/)
  })

  test('The code of a completed login gives tokens for the wallet that signed', async () => {
    const walk = new Walk(grantor, testWallet(2))
    const { code } = await walk.signIn(requestOf(client))
    const { access_token } = (await walk.exchange(client, code)).json()
    expect((await walk.introspect(client, access_token as string)).json().sub).toBe(testWallet(2).address)
  })

  test('A declined login forwards to the redirect URI with access_denied and state, starts no session and writes nothing', async () => {
    const walk = new Walk(grantor)
    const before = await grantor.rows()
    const answer = await walk.complete(await walk.reject(await walk.challenge(requestOf(client, { state: 's' }))))
    expect(answer.status).toBe(200)
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(movingTo(answer)).toBe(
      `${client.redirectUris[0]}?error=access_denied&error_description=The%20user%20declined.&state=s&iss=${encodeURIComponent(grantor.authUrl)}`,
    )
    expect(await grantor.rows()).toEqual(before)
  })
})

describe('The single use of a login challenge', () => {
  test('Of fifty simultaneous returns of one login exactly one gets a session and a code, and the others 409', async () => {
    const walk = new Walk(grantor)
    const path = await walk.prove(await walk.challenge(requestOf(client)))
    const before = (await sessions()).length
    const answers = await Promise.all(Array.from({ length: 50 }, () => walk.complete(path)))
    const signedIn = answers.filter(({ status }) => status === 200)
    expect(signedIn).toHaveLength(1)
    expect(await sessions()).toHaveLength(before + 1)
    for (const answer of answers.filter((each) => each !== signedIn[0])) expectNoSession(answer, 409, 'already_used')
  })

  test('Of fifty simultaneous proofs and returns of one challenge by three wallets exactly one starts a session', async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    const before = (await sessions()).length
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const path = await walk.prove(challenge, testWallet((i % 3) as 0 | 1 | 2)).catch(() => null)
        return path === null ? null : walk.complete(path)
      }),
    )
    expect(answers.filter((answer) => answer?.status === 200)).toHaveLength(1)
    expect(await sessions()).toHaveLength(before + 1)
  })

  test('Of fifty simultaneous proofs of one challenge exactly one is accepted, with one receipt and one session; the others are 409', async () => {
    const walk = new Walk(grantor)
    const proof = await walk.proof(await walk.challenge(requestOf(client)))
    const before = await grantor.rows()
    const answers = await Promise.all(Array.from({ length: 50 }, () => walk.loginApi('/login/accept', proof)))
    const [accepted, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    const refused = answers.filter((answer) => answer !== accepted)
    expect(refused.map((answer) => [answer.status, answer.json().error])).toEqual(
      Array.from({ length: 49 }, () => [409, 'already_used']),
    )
    expect((await walk.complete(redirectPath(accepted as Answer))).status).toBe(200)
    const after = await grantor.rows()
    expect(after.receipts).toHaveLength((before.receipts ?? []).length + 1)
    expect(after.sessions).toHaveLength((before.sessions ?? []).length + 1)
  })

  test('A second proof of a challenge is 409, before and after the browser returns, and the first login completes', async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    const path = await walk.prove(challenge)
    const proof = await walk.proof(challenge)
    const again = async () => {
      const answer = await walk.loginApi('/login/accept', proof)
      expect([answer.status, answer.json().error]).toEqual([409, 'already_used'])
    }
    await again()
    expect((await walk.complete(path)).status).toBe(200)
    await again()
  })

  test('A proof of a used challenge by another wallet is 409 and writes no receipt', async () => {
    const walk = new Walk(grantor)
    const { challenge } = await walk.signIn(requestOf(client))
    const before = await grantor.rows()
    const again = await walk.loginApi('/login/accept', await walk.proof(challenge, testWallet(2)))
    expect([again.status, again.json().error]).toEqual([409, 'already_used'])
    expect(await grantor.rows()).toEqual(before)
  })

  test('A login that returns a second time is 409, and neither changes its session nor restores an ended one', async () => {
    const walk = new Walk(grantor)
    const path = await walk.prove(await walk.challenge(requestOf(client)))
    await walk.complete(path)
    expectNoSession(await walk.complete(path), 409, 'already_used')
    expect((await walk.authorize(requestOf(client))).location).toContain('?code=')
    await endSessions(grantor.deps, walk.wallet.address as `0x${string}`, () => true)
    expectNoSession(await walk.complete(path), 409, 'already_used')
  })
})

describe('The time between proof and return', () => {
  test('A login may return 59 seconds after its proof; after 60 seconds a proof or a denial is 410', async () => {
    const [proof, denial, inTime] = [new Walk(grantor), new Walk(grantor), new Walk(grantor)]
    const proved = await proof.prove(await proof.challenge(requestOf(client)))
    const denied = await denial.reject(await denial.challenge(requestOf(client)))
    const hurried = await inTime.prove(await inTime.challenge(requestOf(client)))
    grantor.clock.advance(59)
    expect((await inTime.complete(hurried)).status).toBe(200)
    grantor.clock.advance(1)
    expectNoSession(await proof.complete(proved), 410, 'expired')
    expectNoSession(await denial.complete(denied), 410, 'expired')
  })

  test('A challenge whose login returned too late stays used, and a new login succeeds', async () => {
    const walk = new Walk(grantor)
    const challenge = await walk.challenge(requestOf(client))
    const late = await walk.prove(challenge)
    const before = await sessions()
    grantor.clock.advance(60)
    expectNoSession(await walk.complete(late), 410, 'expired')
    const again = await walk.loginApi('/login/accept', await walk.proof(challenge))
    expect([again.status, again.json().error]).toEqual([409, 'already_used'])
    expect(await sessions()).toEqual(before)
    expect((await walk.signIn(requestOf(client))).code).not.toBe('')
  })
})

describe('Forged login verifiers', () => {
  test('A return with one changed character in the verifier or the challenge is 400', async () => {
    const walk = new Walk(grantor)
    const path = await walk.prove(await walk.challenge(requestOf(client)))
    const start = path.indexOf('=') + 1
    const statuses = await Promise.all(
      Array.from({ length: path.length - start }, async (_, i) => {
        const at = start + i
        const forged = path.slice(0, at) + (path[at] === 'B' ? 'C' : 'B') + path.slice(at + 1)
        return (await walk.complete(forged)).status
      }),
    )
    expect(new Set(statuses)).toEqual(new Set([400]))
    expect((await walk.complete(path)).status).toBe(200)
  })

  test('The verifier of one challenge is refused with another challenge of the same browser and wallet', async () => {
    const walk = new Walk(grantor)
    const one = await walk.prove(await walk.challenge(requestOf(client)))
    const two = await walk.prove(await walk.challenge(requestOf(client)))
    expectNoSession(
      await walk.complete(
        `/login/complete?login_challenge=${parameterOfPath(one, 'login_challenge')}&login_verifier=${parameterOfPath(two, 'login_verifier')}`,
      ),
      400,
      'broken_link',
    )
  })

  test('A code, a challenge or a confirmation is not accepted as a login verifier, even with the prefix of one', async () => {
    const walk = new Walk(grantor)
    const { code, challenge } = await walk.signIn(requestOf(client))
    const confirmation = fieldOf(await walk.authorize(requestOf(client, { prompt: 'consent' })), 'confirmation')
    const fresh = await walk.challenge(requestOf(client, { prompt: 'login' }))
    for (const other of [code, challenge, fresh, confirmation, 'null', '']) {
      for (const forged of [other, `grv${other.slice(3)}`]) {
        expectNoSession(
          await walk.complete(`/login/complete?login_challenge=${fresh}&login_verifier=${forged}`),
          400,
          'broken_link',
        )
      }
    }
  })

  test('A return with a missing, empty, repeated or malformed parameter is 400', async () => {
    const walk = new Walk(grantor)
    const path = await walk.prove(await walk.challenge(requestOf(client)))
    const [challenge, verifier] = [parameterOfPath(path, 'login_challenge'), parameterOfPath(path, 'login_verifier')]
    for (const query of [
      '',
      `login_challenge=${challenge}`,
      `login_verifier=${verifier}`,
      `login_challenge=${challenge}&login_verifier=`,
      `login_challenge=${challenge}&login_verifier=%FF`,
      `login_challenge=${challenge}&login_challenge=${challenge}&login_verifier=${verifier}`,
      `login_challenge=${challenge}&login_verifier=${verifier}&login_verifier=${verifier}`,
    ]) {
      expectNoSession(await walk.complete(`/login/complete?${query}`), 400, 'broken_link')
    }
  })
})

describe('Logins after the operator ended the wallet’s grants', () => {
  const raiseEpoch = () => grantor.store.wallets.raiseEpoch(testWallet(1).address as `0x${string}`)

  test('If the wallet’s epoch is raised between proof and return, the login is 401, starts no session and withdraws its receipt', async () => {
    const walk = new Walk(grantor, testWallet(1))
    const path = await walk.prove(await walk.challenge(requestOf(client)))
    await raiseEpoch()
    expectNoSession(await walk.complete(path), 401, 'login_required_again')
    const withdrawn = await grantor.store.receipts.listReceipts(walk.wallet.address as `0x${string}`, {
      state: 'withdrawn',
      limit: 50,
    })
    expect(withdrawn.map(({ withdrawnAt }) => withdrawnAt)).toEqual([grantor.clock.now()])
    expect(
      (await sessions()).filter(({ wallet, ended_at }) => unpack(wallet) === walk.wallet.address && ended_at === null),
    ).toEqual([])
    expectNoSession(await walk.complete(path), 409, 'already_used')
  })

  test('If the wallet’s epoch is raised before the proof, the login completes', async () => {
    const walk = new Walk(grantor, testWallet(1))
    const challenge = await walk.challenge(requestOf(client))
    await raiseEpoch()
    expect((await walk.complete(await walk.prove(challenge))).status).toBe(200)
  })

  test('If the wallet’s epoch is raised after the issue of a code, the code is refused with invalid_grant', async () => {
    const walk = new Walk(grantor, testWallet(1))
    const { code } = await walk.signIn(requestOf(client))
    await raiseEpoch()
    expect((await walk.exchange(client, code)).json().error).toBe('invalid_grant')
  })
})
