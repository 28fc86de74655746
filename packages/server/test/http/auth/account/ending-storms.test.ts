/** Fifty simultaneous requests during an ending: in any order, nothing that was ended is valid after the response. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type App, tokensOf } from '../../../support/app.ts'
import { endEverything, endingChallenge, standingReceipts, startSignedApp } from '../../../support/signed-app.ts'
import { type Answer, requestOf, Walk } from '../../../support/walk.ts'

let app: App
beforeAll(async () => {
  app = await startSignedApp({ failureLimit: 1_000_000 })
})
beforeEach(async () => {
  app.grantor.clock.advance(1)
  if ((await app.walk.authorize(requestOf(app.client))).location.includes('login_challenge='))
    await app.walk.signIn(requestOf(app.client))
})
afterAll(() => app.close())

const fifty = <Result>(make: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: 50 }, (_, index) => make(index)))
const endApp = () => app.walk.postForm('/account/apps/end', { client_id: app.client.id })

/** Sends fifty requests and one ending at the same time, and returns the responses of the requests. */
async function runDuringEnding(
  requests: (index: number) => Promise<Answer>,
  end: () => Promise<Answer> = endApp,
): Promise<Answer[]> {
  let ending: Promise<Answer> | undefined
  const answers = await fifty((index) => {
    if (index === 25) ending = end()
    return requests(index)
  })
  expect([200, 303]).toContain((await ending)?.status)
  return answers
}

async function expectAllEnded(answers: Answer[]): Promise<void> {
  for (const answer of answers) {
    if (answer.status !== 200) expect(answer.json().error).toBe('invalid_grant')
    else expect(await app.isActive(tokensOf(answer).access_token)).toBe(false)
  }
  expect(await app.grantor.store.grants.listGrants({ clientId: app.client.id, unended: true, limit: 100 })).toEqual([])
}

test('After fifty code exchanges during the ending of their app, no token is active and no grant is valid', async () => {
  const codes = await fifty(() => app.freshCode())
  await expectAllEnded(await runDuringEnding((index) => app.walk.exchange(app.client, codes[index] ?? '')))
})

test('After fifty refreshes during the ending of their app, of different grants and of one, no token is active', async () => {
  const grants = await fifty(() => app.freshTokens())
  const one = await app.freshTokens()
  await expectAllEnded(
    await runDuringEnding((index) => app.walk.refresh(app.client, (index % 2 ? grants[index] : one)?.refresh_token ?? '')),
  )
})

test('After fifty proofs during the ending of their app, exactly the consents whose logins complete are in force', async () => {
  const walks = await fifty(async () => {
    const walk = new Walk(app.grantor)
    return { walk, proof: await walk.proof(await walk.challenge(requestOf(app.client))) }
  })
  const answers = await runDuringEnding((index) => app.walk.loginApi('/login/accept', walks[index]?.proof ?? {}))
  for (const { status } of answers) expect([200, 410]).toContain(status)
  const completed = await Promise.all(
    answers.map(async (answer, index) => {
      if (answer.status !== 200) return 0
      const path = (answer.json().redirect_to as string).slice(app.grantor.authUrl.length)
      return (await walks[index]?.walk.complete(path))?.status === 200 ? 1 : 0
    }),
  )
  expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(completed.filter((each) => each === 1).length)
})

test('After fifty logins that return while everything is ended, no session and no consent is in force', async () => {
  const walks = await fifty(async () => {
    const walk = new Walk(app.grantor)
    return { walk, path: await walk.prove(await walk.challenge(requestOf(app.client))) }
  })
  const ender = new Walk(app.grantor)
  const end = await ender.prove(await endingChallenge(ender))
  await runDuringEnding(
    (index) => walks[index]?.walk.complete(walks[index]?.path ?? '') as Promise<Answer>,
    () => ender.complete(end),
  )
  const sessions = (await app.grantor.rows()).sessions as { ended_at: number | null }[]
  expect(sessions.filter(({ ended_at }) => ended_at === null)).toEqual([])
  expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(0)
})

test('Fifty simultaneous requests to end one app all succeed, and the app stays ended', async () => {
  const tokens = await app.freshTokens()
  const answers = await fifty(endApp)
  expect(new Set(answers.map(({ status, location }) => `${status} ${location}`))).toEqual(
    new Set(['303 /account?done=app_ended#done']),
  )
  expect(await app.isActive(tokens.access_token)).toBe(false)
  expect(await standingReceipts(app.grantor, app.walk.wallet)).toBe(0)
})

test('The ending of everything succeeds during fifty simultaneous requests to end other sessions', async () => {
  const tokens = await app.freshTokens()
  const [answer] = await Promise.all([
    endEverything(new Walk(app.grantor)),
    fifty(() => app.walk.postForm('/account/sessions/end-others', {})),
  ])
  expect(answer.status).toBe(200)
  expect(await app.isActive(tokens.access_token)).toBe(false)
  expect((await app.walk.browse({ path: '/account' })).status).toBe(302)
})
