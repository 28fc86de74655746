/** Three things a wallet can sign for, an app, its account page, the end of everything, and none of them does another's work. */
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
const completed = (walk: Walk, login_challenge: string, login_verifier: string) =>
  walk.complete(`/login/complete?${encode({ login_challenge, login_verifier })}`)
const errorOf = (answer: Answer) => [answer.status, answer.json().error]

describe('the end of everything', () => {
  test('begins without any session: the button leads to the login page by a page, and binds this browser', async () => {
    const before = allRows(app.grantor.databasePath)
    const answer = await lost.postForm('/account/end-everything', {})
    expect(answer.status).toBe(200)
    expect(movingTo(answer).startsWith(`${app.grantor.loginUrl}/login?login_challenge=`)).toBe(true)
    expect(lost.cookies.has('grantor_browser')).toBe(true)
    expect(allRows(app.grantor.databasePath)).toEqual(before)
  })

  test('says plainly what is signed, to the page and in the text', async () => {
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

  test('gives nobody anything: no session, no receipt, no code', async () => {
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

  test('is of the wallet that signs, whoever is signed in where it began', async () => {
    await app.walk.complete(await app.walk.prove(await endingChallenge(app.walk), testWallet(1)))
    expect((await app.walk.browse({ path: '/account' })).status).toBe(200)
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('happens once: its verifier ends nothing of what was signed in to afterwards', async () => {
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

  test('only the wallet itself can sign it: nobody’s word is enough, and no other browser can finish it', async () => {
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

  test('declined or left alone ends nothing', async () => {
    const challenge = await endingChallenge(lost)
    await lost.prove(challenge)
    const answer = await lost.complete(await lost.reject(challenge))
    expect(answer.status).toBe(200)
    expect(answer.body).not.toContain('everything_ended')
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
  })

  test('for which nothing was ever allowed is no error, and makes a later login no harder', async () => {
    const fresh = new Walk(app.grantor, testWallet(2))
    expect(noticeOf(await fresh.complete(await fresh.prove(await endingChallenge(fresh))))).toBe('everything_ended')
    expect((await fresh.signIn(requestOf(app.client))).code).not.toBe('')
  })
})

describe('a signature for one purpose', () => {
  test('proves nothing for another: three challenges, three texts', async () => {
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

  test('makes a verifier that opens no challenge of another, in the same browser', async () => {
    const challenges = [await lost.challenge(requestOf(app.client)), await accountChallenge(lost), await endingChallenge(lost)]
    const verifiers = await Promise.all(challenges.map(async (challenge) => verifierOf(await lost.prove(challenge))))
    for (const [at, challenge] of challenges.entries()) {
      for (const verifier of verifiers.filter((_, other) => other !== at)) {
        expect((await completed(lost, challenge, verifier)).status).toBe(400)
      }
    }
    expect(outcomeOf(await app.walk.authorize(requestOf(app.client)))).toBe('code')
    expect(lost.cookies.has('grantor_session')).toBe(false)
  })

  test('names no scope where there is no app: a choice of scopes sent along changes nothing', async () => {
    for (const challenge of [await accountChallenge(lost), await endingChallenge(lost)]) {
      const plain = await textOf(lost, challenge)
      const claim = { login_challenge: challenge, address: lost.wallet.address, chain_id: 1, scope: 'profile' }
      const answer = await lost.loginApi('/login/message', claim)
      if (answer.status === 200) expect(answer.json().message).toBe(plain)
      else expect(answer.status).toBe(400)
    }
  })
})

describe('the sign-in to the account page', () => {
  test('starts one session, however many proofs and returns race', async () => {
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

  test('cannot be turned into a code: no client is in it, whatever the URL says', async () => {
    const path = await lost.prove(await accountChallenge(lost))
    const answer = await lost.complete(
      `${path}&client_id=${app.client.id}&redirect_uri=${app.client.redirectUris[0]}&scope=profile`,
    )
    expect(movingTo(answer)).toBe(`${app.grantor.authUrl}/account`)
  })

  test('may be vouched for, where the operator allows it; it then shows no receipts', async () => {
    app.grantor.deps.settings.loginMayVouch = true
    const claim = { login_challenge: await accountChallenge(lost), address: lost.wallet.address, chain_id: 1 }
    const accepted = await lost.loginApi('/login/accept', claim)
    await lost.complete((accepted.json().redirect_to as string).slice(app.grantor.authUrl.length))
    const page = await lost.browse({ path: '/account' })
    expect(page.status).toBe(200)
    expect(page.body).not.toContain('/account/receipts/')
  })

  test('signed, it opens what a vouched session of the same browser was not shown', async () => {
    await vouchFor(lost, await app.grantor.createClient())
    expect((await lost.browse({ path: '/account' })).body).not.toContain('/account/receipts/')
    await lost.postForm('/account/sign-out', {})
    await signInToAccount(lost)
    expect((await lost.browse({ path: '/account' })).body).toContain('/account/receipts/')
  })
})
