/** An ending on one node and a login on another, interleaved at every point between their store calls. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endApp } from '../../../../src/domain/account/account.ts'
import { endEverything, endOtherSessions } from '../../../../src/domain/consent/end-grants.ts'
import { hashSessionId } from '../../../../src/domain/consent/session.ts'
import type { Session } from '../../../../src/domain/model/records.ts'
import { allCuts, startTwoNodes, type TwoNodes } from '../../../support/interleave.ts'
import { standingReceipts } from '../../../support/signed-app.ts'
import type { TestClient } from '../../../support/start.ts'
import { movingTo, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let nodes: TwoNodes
let client: TestClient
/** a session of the wallet in another browser, which makes the endings */
let session: Session

beforeAll(async () => {
  nodes = await startTwoNodes()
  client = nodes.app.client
  await nodes.app.walk.signIn(requestOf(client))
  session = (await readSession(nodes.app.walk)) as Session
})
afterAll(() => nodes.close())

const readSession = (walk: Walk): Promise<Session | null> =>
  nodes.app.grantor.store.sessions.readSession(hashSessionId(walk.cookies.get('grantor_session') ?? ''))

test.each<[string, number, () => Promise<unknown>]>([
  ['everything is ended', 8, () => endEverything(nodes.node, session.wallet)],
  ['its app is ended', 6, () => endApp(nodes.node, session, client.id)],
])('A consent whose proof began before %s is not in force afterwards', async (_, calls, end) => {
  for (const at of allCuts(4, calls)) {
    const walk = new Walk(nodes.app.grantor)
    const proof = await walk.proof(await walk.challenge(requestOf(client)))
    const answer = await nodes.cut(at, () => walk.loginApi('/login/accept', proof), end)
    const begunBefore = at.request > 0 && (at.outer === 'request' || at.ending === 0)
    if (begunBefore) expect([at, await standingReceipts(nodes.app.grantor, walk.wallet)]).toEqual([at, 0])
    expect([at, [200, 410].includes(answer.status)]).toEqual([at, true])
    await end()
  }
})

test.each<[string, number, () => Promise<unknown>]>([
  ['everything is ended', 8, () => endEverything(nodes.node, session.wallet)],
  ['all other sessions are ended', 5, () => endOtherSessions(nodes.node, session)],
])(
  'A login that returns while %s leaves no valid session, no code that can be redeemed, and no receipt if it fails',
  async (_, calls, end) => {
    for (const at of allCuts(5, calls)) {
      const walk = new Walk(nodes.app.grantor)
      const path = await walk.prove(await walk.challenge(requestOf(client)))
      const answer = await nodes.cut(at, () => walk.complete(path), end)
      expect([at, [200, 401].includes(answer.status)]).toEqual([at, true])
      if (answer.status === 200) {
        expect([at, (await readSession(walk))?.endedAt]).toEqual([at, expect.any(Number)])
        expect([at, (await walk.exchange(client, parameterOf(movingTo(answer), 'code'))).status]).toEqual([at, 400])
      } else {
        expect([at, walk.cookies.has('grantor_session')]).toEqual([at, false])
        expect([at, await standingReceipts(nodes.app.grantor, walk.wallet)]).toEqual([at, 0])
      }
      await endApp(nodes.node, session, client.id)
    }
  },
)

test('A login that returns while its app is ended leaves no code that can be redeemed and no receipt in force', async () => {
  for (const at of allCuts(5, 4)) {
    const walk = new Walk(nodes.app.grantor)
    const path = await walk.prove(await walk.challenge(requestOf(client)))
    const answer = await nodes.cut(
      at,
      () => walk.complete(path),
      () => endApp(nodes.node, session, client.id),
    )
    if (answer.status === 200) {
      expect([at, (await walk.exchange(client, parameterOf(movingTo(answer), 'code'))).status]).toEqual([at, 400])
    }
    expect([at, await standingReceipts(nodes.app.grantor, walk.wallet)]).toEqual([at, 0])
  }
})
