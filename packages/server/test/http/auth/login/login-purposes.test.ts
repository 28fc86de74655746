/** The three purposes of a signature: an app, the account page and the ending of everything. A signature works for one purpose only. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type App, tokensOf } from '../../../support/app.ts'
import {
  endingChallenge,
  outcomeOf,
  receiptsOf,
  signInToAccount,
  standingReceipts,
  startSignedApp,
  vouchFor,
} from '../../../support/signed-app.ts'
import { type Answer, encode, movingTo, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: App
/** a browser without any session */
let newBrowser: Walk

beforeEach(async () => {
  app = await startSignedApp()
  await app.walk.signIn(requestOf(app.client))
  newBrowser = new Walk(app.grantor)
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
    const before = await app.grantor.rows()
    const answer = await newBrowser.postForm('/account/end-everything', {})
    expect(answer.status).toBe(200)
    expect(movingTo(answer).startsWith(`${app.grantor.loginUrl}/login?login_challenge=`)).toBe(true)
    expect(newBrowser.cookies.has('grantor_browser')).toBe(true)
    expect(await app.grantor.rows()).toEqual(before)
  })

  test('The login page and the text to sign state that the signature ends everything', async () => {
    const challenge = await endingChallenge(newBrowser)
    expect((await newBrowser.describe(challenge)).json()).toMatchObject({
      purpose: 'end_everything',
      client_name: '',
      client_host: new URL(app.grantor.authUrl).host,
      scopes: [],
      resources: [],
      may_choose_scopes: false,
      resume_url: null,
    })
    const message = await textOf(newBrowser, challenge)
    expect(message).toContain('End everything: every app loses all access')
    expect(message).toContain(`\nURI: ${app.grantor.loginUrl}/login\n`)
    expect(message).not.toContain('urn:recap')
  })

  test('The ending of everything starts no session and leaves no receipt in force', async () => {
    const answer = await newBrowser.complete(await newBrowser.prove(await endingChallenge(newBrowser)))
    expect([answer.status, noticeOf(answer)]).toEqual([200, 'everything_ended'])
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(await standingReceipts(app.grantor, newBrowser.wallet)).toBe(0)
    expect(await receiptsOf(app.grantor, newBrowser.wallet)).toHaveLength(1)
    expect((await newBrowser.browse({ path: '/account' })).status).toBe(302)
    const living = ((await app.grantor.rows()).sessions as { ended_at: number | null }[]).filter((row) => row.ended_at === null)
    expect(living).toEqual([])
  })

  test('The ending of everything ends what the signing wallet has, and not what the signed-in wallet of the browser has', async () => {
    await app.walk.complete(await app.walk.prove(await endingChallenge(app.walk), testWallet(1)))
    expect((await app.walk.browse({ path: '/account' })).status).toBe(200)
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('The ending of everything cannot be repeated: a second return is 409, and later logins stay valid', async () => {
    const challenge = await endingChallenge(newBrowser)
    const path = await newBrowser.prove(challenge)
    await newBrowser.complete(path)
    const { code } = await app.walk.signIn(requestOf(app.client))
    const tokens = tokensOf(await app.walk.exchange(app.client, code))
    const again = await newBrowser.complete(path)
    expect([again.status, noticeOf(again)]).toEqual([409, 'already_used'])
    expect(errorOf(await newBrowser.describe(challenge))).toEqual([409, 'already_used'])
    expect(errorOf(await newBrowser.loginApi('/login/accept', await newBrowser.proof(challenge)))).toEqual([409, 'already_used'])
    expect(await app.isActive(tokens.access_token)).toBe(true)
    expect((await app.walk.browse({ path: '/account' })).status).toBe(200)
  })

  test('The ending of everything needs the wallet’s own signature and its own browser, even if the login server may vouch', async () => {
    app.grantor.deps.settings.loginMayVouch = true
    const challenge = await endingChallenge(newBrowser)
    const claim = { login_challenge: challenge, address: newBrowser.wallet.address, chain_id: 1 }
    expect(errorOf(await newBrowser.loginApi('/login/accept', claim))).toEqual([403, 'consent_needs_signature'])
    expect(
      errorOf(
        await newBrowser.loginApi('/login/accept', {
          ...claim,
          signature: testWallet(1).sign(await textOf(newBrowser, challenge)),
        }),
      ),
    ).toEqual([401, 'not_proven'])
    const path = await newBrowser.prove(challenge)
    expect((await app.walk.complete(path)).status).toBe(403)
    expect((await app.walk.browse({ path: '/account' })).status).toBe(200)
  })

  test('The ending of everything has no effect if the user declines it', async () => {
    const challenge = await endingChallenge(newBrowser)
    await newBrowser.prove(challenge)
    const answer = await newBrowser.complete(await newBrowser.reject(challenge))
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
      await newBrowser.challenge(requestOf(app.client)),
      await accountChallenge(newBrowser),
      await endingChallenge(newBrowser),
      await accountChallenge(newBrowser),
    ]
    const proofs = await Promise.all(challenges.map((challenge) => newBrowser.proof(challenge)))
    expect(new Set(proofs.map(({ signature }) => signature)).size).toBe(challenges.length)
    for (const [at, challenge] of challenges.entries()) {
      for (const { signature } of proofs.filter((_, other) => other !== at)) {
        const claim = { login_challenge: challenge, address: newBrowser.wallet.address, chain_id: 1, signature }
        expect(errorOf(await newBrowser.loginApi('/login/accept', claim))).toEqual([401, 'not_proven'])
      }
    }
    expect(await receiptsOf(app.grantor, newBrowser.wallet)).toHaveLength(1)
  })

  test('The verifier of a login for one purpose is refused with a challenge of another purpose in the same browser', async () => {
    const challenges = [
      await newBrowser.challenge(requestOf(app.client)),
      await accountChallenge(newBrowser),
      await endingChallenge(newBrowser),
    ]
    const verifiers = await Promise.all(challenges.map(async (challenge) => verifierOf(await newBrowser.prove(challenge))))
    for (const [at, challenge] of challenges.entries()) {
      for (const verifier of verifiers.filter((_, other) => other !== at)) {
        expect((await completeLogin(newBrowser, challenge, verifier)).status).toBe(400)
      }
    }
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
    expect(newBrowser.cookies.has('grantor_session')).toBe(false)
  })

  test('A choice of scopes does not change the text to sign for the account page or for the ending of everything', async () => {
    for (const challenge of [await accountChallenge(newBrowser), await endingChallenge(newBrowser)]) {
      const plain = await textOf(newBrowser, challenge)
      const claim = { login_challenge: challenge, address: newBrowser.wallet.address, chain_id: 1, scope: 'profile' }
      const answer = await newBrowser.loginApi('/login/message', claim)
      if (answer.status === 200) expect(answer.json().message).toBe(plain)
      else expect(answer.status).toBe(400)
    }
  })
})

describe('The login to the account page', () => {
  test('Of fifty simultaneous proofs and returns of a login to the account page exactly one succeeds', async () => {
    const challenge = await accountChallenge(newBrowser)
    const proof = await newBrowser.proof(challenge)
    const accepts = await Promise.all(Array.from({ length: 50 }, () => newBrowser.loginApi('/login/accept', proof)))
    expect(accepts.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(accepts.filter(({ status }) => status === 409)).toHaveLength(49)
    const to = accepts.find(({ status }) => status === 200)?.json().redirect_to as string
    const path = to.slice(app.grantor.authUrl.length)
    const returns = await Promise.all(Array.from({ length: 50 }, () => newBrowser.complete(path)))
    expect(returns.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(returns.filter(({ status }) => status === 409)).toHaveLength(49)
  })

  test('A login to the account page gives no code, even if the URL contains a client_id and a redirect_uri', async () => {
    const path = await newBrowser.prove(await accountChallenge(newBrowser))
    const answer = await newBrowser.complete(
      `${path}&client_id=${app.client.id}&redirect_uri=${app.client.redirectUris[0]}&scope=profile`,
    )
    expect(movingTo(answer)).toBe(`${app.grantor.authUrl}/account`)
  })

  test('The login server may vouch for a login to the account page if the operator allows this; the page then shows no receipts', async () => {
    app.grantor.deps.settings.loginMayVouch = true
    const claim = { login_challenge: await accountChallenge(newBrowser), address: newBrowser.wallet.address, chain_id: 1 }
    const accepted = await newBrowser.loginApi('/login/accept', claim)
    await newBrowser.complete((accepted.json().redirect_to as string).slice(app.grantor.authUrl.length))
    const page = await newBrowser.browse({ path: '/account' })
    expect(page.status).toBe(200)
    expect(page.body).not.toContain('/account/receipts/')
  })

  test('A signed login to the account page shows the receipts that an earlier vouched session of the browser did not', async () => {
    await vouchFor(newBrowser, await app.grantor.createClient())
    expect((await newBrowser.browse({ path: '/account' })).body).not.toContain('/account/receipts/')
    await newBrowser.postForm('/account/sign-out', {})
    await signInToAccount(newBrowser)
    expect((await newBrowser.browse({ path: '/account' })).body).toContain('/account/receipts/')
  })
})
