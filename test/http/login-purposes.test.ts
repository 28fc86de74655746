/** The three purposes of a signature: an app, the account page and the ending of everything. A signature works for one purpose only. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type App, tokensOf } from '../support/app.ts'
import { allRows } from '../support/rows.ts'
import {
  endingChallenge,
  outcomeOf,
  receiptsOf,
  signInToAccount,
  standingReceipts,
  startSignedApp,
  vouchFor,
} from '../support/signed-app.ts'
import { type Answer, encode, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

let app: App
/** a browser without any session */
let lost: Walk

beforeEach(async () => {
  app = await startSignedApp()
  await app.walk.signIn(requestOf(app.client))
  lost = new Walk(app.grantor)
})
afterEach(() => app.close())

const accountChallenge = async (walk: Walk) => parameterOf((await walk.browse({ path: '/account' })).location, 'login_challenge')
const textOf = async (walk: Walk, challenge: string) => {
  const claim = { login_challenge: challenge, address: walk.wallet.address, chain_id: 1 }
  return (await walk.loginApi('/login/message', claim)).json().message as string
}
const verifierOf = (path: string) => parameterOf(`http://x${path}`, 'login_verifier')
const completeLogin = (walk: Walk, login_challenge: string, login_verifier: string) =>
  walk.complete(`/login/complete?${encode({ login_challenge, login_verifier })}`)
const errorOf = (answer: Answer) => [answer.status, answer.json().error]

describe('The ending of everything', () => {
  test('The ending of everything starts without a session, binds the browser, leads to the login page and writes nothing', async () => {
    const before = allRows(app.grantor.databasePath)
    const answer = await lost.postForm('/account/end-everything', {})
    expect(answer.status).toBe(200)
    expect(movingTo(answer).startsWith(`${app.grantor.loginUrl}/login?login_challenge=`)).toBe(true)
    expect(lost.cookies.has('grantor_browser')).toBe(true)
    expect(allRows(app.grantor.databasePath)).toEqual(before)
  })

  test('The login page and the text to sign state that the signature ends everything', async () => {
    const challenge = await endingChallenge(lost)
    expect((await lost.describe(challenge)).json()).toMatchObject({
      purpose: 'end_everything',
      client_name: '',
      client_host: new URL(app.grantor.authUrl).host,
      scopes: [],
      resources: [],
      may_choose_scopes: false,
      resume_url: null,
    })
    const message = await textOf(lost, challenge)
    expect(message).toContain('End everything: every app loses all access')
    expect(message).toContain(`\nURI: ${app.grantor.loginUrl}/login\n`)
    expect(message).not.toContain('urn:recap')
  })

  test('The ending of everything starts no session and leaves no receipt in force', async () => {
    const answer = await lost.complete(await lost.prove(await endingChallenge(lost)))
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'everything_ended'])
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(await standingReceipts(app.grantor, lost.wallet)).toBe(0)
    expect(await receiptsOf(app.grantor, lost.wallet)).toHaveLength(1)
    expect((await lost.browse({ path: '/account' })).status).toBe(302)
    const living = (allRows(app.grantor.databasePath).sessions as { ended_at: number | null }[]).filter(
      (row) => row.ended_at === null,
    )
    expect(living).toEqual([])
  })

  test('The ending of everything ends what the signing wallet has, and not what the signed-in wallet of the browser has', async () => {
    await app.walk.complete(await app.walk.prove(await endingChallenge(app.walk), testWallet(1)))
    expect((await app.walk.browse({ path: '/account' })).status).toBe(200)
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('The ending of everything cannot be repeated: a second return is 409, and later logins stay valid', async () => {
    const challenge = await endingChallenge(lost)
    const path = await lost.prove(challenge)
    await lost.complete(path)
    const { code } = await app.walk.signIn(requestOf(app.client))
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    const again = await lost.complete(path)
    expect([again.status, noticeOf(again)]).toEqual([409, 'already_used'])
    expect(errorOf(await lost.describe(challenge))).toEqual([409, 'already_used'])
    expect(errorOf(await lost.loginApi('/login/accept', await lost.proof(challenge)))).toEqual([409, 'already_used'])
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.browse({ path: '/account' })).status).toBe(200)
  })

  test('The ending of everything needs the wallet’s own signature and its own browser, even if the login server may vouch', async () => {
    app.grantor.deps.settings.loginMayVouch = true
    const challenge = await endingChallenge(lost)
    const claim = { login_challenge: challenge, address: lost.wallet.address, chain_id: 1 }
    expect(errorOf(await lost.loginApi('/login/accept', claim))).toEqual([403, 'consent_needs_signature'])
    expect(
      errorOf(await lost.loginApi('/login/accept', { ...claim, signature: testWallet(1).sign(await textOf(lost, challenge)) })),
    ).toEqual([401, 'not_proven'])
    const path = await lost.prove(challenge)
    expect((await app.walk.complete(path)).status).toBe(403)
    expect((await app.walk.browse({ path: '/account' })).status).toBe(200)
  })

  test('The ending of everything has no effect if the user declines it', async () => {
    const challenge = await endingChallenge(lost)
    await lost.prove(challenge)
    const answer = await lost.complete(await lost.reject(challenge))
    expect(answer.status).toBe(200)
    expect(answer.body).not.toContain('everything_ended')
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('The ending of everything succeeds for a wallet without grants, and the wallet can sign in afterwards', async () => {
    const fresh = new Walk(app.grantor, testWallet(2))
    expect(noticeOf(await fresh.complete(await fresh.prove(await endingChallenge(fresh))))).toBe('everything_ended')
    expect((await fresh.signIn(requestOf(app.client))).code).not.toBe('')
  })
})

describe('The purpose of a signature', () => {
  test('A signature for one challenge is refused for a challenge of another purpose, and for another of the same purpose', async () => {
    const challenges = [
      await lost.challenge(requestOf(app.client)),
      await accountChallenge(lost),
      await endingChallenge(lost),
      await accountChallenge(lost),
    ]
    const proofs = await Promise.all(challenges.map((challenge) => lost.proof(challenge)))
    expect(new Set(proofs.map(({ signature }) => signature)).size).toBe(challenges.length)
    for (const [at, challenge] of challenges.entries()) {
      for (const { signature } of proofs.filter((_, other) => other !== at)) {
        const claim = { login_challenge: challenge, address: lost.wallet.address, chain_id: 1, signature }
        expect(errorOf(await lost.loginApi('/login/accept', claim))).toEqual([401, 'not_proven'])
      }
    }
    expect(await receiptsOf(app.grantor, lost.wallet)).toHaveLength(1)
  })

  test('The verifier of a login for one purpose is refused with a challenge of another purpose in the same browser', async () => {
    const challenges = [await lost.challenge(requestOf(app.client)), await accountChallenge(lost), await endingChallenge(lost)]
    const verifiers = await Promise.all(challenges.map(async (challenge) => verifierOf(await lost.prove(challenge))))
    for (const [at, challenge] of challenges.entries()) {
      for (const verifier of verifiers.filter((_, other) => other !== at)) {
        expect((await completeLogin(lost, challenge, verifier)).status).toBe(400)
      }
    }
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
    expect(lost.cookies.has('grantor_session')).toBe(false)
  })

  test('A choice of scopes does not change the text to sign for the account page or for the ending of everything', async () => {
    for (const challenge of [await accountChallenge(lost), await endingChallenge(lost)]) {
      const plain = await textOf(lost, challenge)
      const claim = { login_challenge: challenge, address: lost.wallet.address, chain_id: 1, scope: 'profile' }
      const answer = await lost.loginApi('/login/message', claim)
      if (answer.status === 200) expect(answer.json().message).toBe(plain)
      else expect(answer.status).toBe(400)
    }
  })
})

describe('The login to the account page', () => {
  test('Of fifty simultaneous proofs and returns of a login to the account page exactly one succeeds', async () => {
    const challenge = await accountChallenge(lost)
    const proof = await lost.proof(challenge)
    const accepts = await Promise.all(Array.from({ length: 50 }, () => lost.loginApi('/login/accept', proof)))
    expect(accepts.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(accepts.filter(({ status }) => status === 409)).toHaveLength(49)
    const to = accepts.find(({ status }) => status === 200)?.json().redirect_to as string
    const path = to.slice(app.grantor.authUrl.length)
    const returns = await Promise.all(Array.from({ length: 50 }, () => lost.complete(path)))
    expect(returns.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(returns.filter(({ status }) => status === 409)).toHaveLength(49)
  })

  test('A login to the account page gives no code, even if the URL contains a client_id and a redirect_uri', async () => {
    const path = await lost.prove(await accountChallenge(lost))
    const answer = await lost.complete(
      `${path}&client_id=${app.client.id}&redirect_uri=${app.client.redirectUris[0]}&scope=profile`,
    )
    expect(movingTo(answer)).toBe(`${app.grantor.authUrl}/account`)
  })

  test('The login server may vouch for a login to the account page if the operator allows this; the page then shows no receipts', async () => {
    app.grantor.deps.settings.loginMayVouch = true
    const claim = { login_challenge: await accountChallenge(lost), address: lost.wallet.address, chain_id: 1 }
    const accepted = await lost.loginApi('/login/accept', claim)
    await lost.complete((accepted.json().redirect_to as string).slice(app.grantor.authUrl.length))
    const page = await lost.browse({ path: '/account' })
    expect(page.status).toBe(200)
    expect(page.body).not.toContain('/account/receipts/')
  })

  test('A signed login to the account page shows the receipts that an earlier vouched session of the browser did not', async () => {
    await vouchFor(lost, await app.grantor.createClient())
    expect((await lost.browse({ path: '/account' })).body).not.toContain('/account/receipts/')
    await lost.postForm('/account/sign-out', {})
    await signInToAccount(lost)
    expect((await lost.browse({ path: '/account' })).body).toContain('/account/receipts/')
  })
})
