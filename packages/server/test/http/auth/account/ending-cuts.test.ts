/**
 * An ending on one node and a request on another, interleaved at every point between their store calls. After both,
 * nothing that was ended is valid, independent of the clocks (decisions: the ledger).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endApp, endSessionOf, sessionHandle } from '../../../../src/domain/account/account.ts'
import { endEverything, endGrantsOfWallet } from '../../../../src/domain/consent/end-grants.ts'
import { hashSessionId } from '../../../../src/domain/consent/session.ts'
import type { Session } from '../../../../src/domain/model/records.ts'
import { claimsOf, tokensOf } from '../../../support/app.ts'
import { allCuts, type Cut, startTwoNodes, type TwoNodes } from '../../../support/interleave.ts'
import type { TestClient } from '../../../support/start.ts'
import { type Answer, movingTo, parameterOf, requestOf, type Walk } from '../../../support/walk.ts'

let nodes: TwoNodes
let walk: Walk
let signed: TestClient
let bySession: TestClient

beforeAll(async () => {
  nodes = await startTwoNodes()
  walk = nodes.app.walk
  signed = nodes.app.client
  bySession = await nodes.app.grantor.createClient()
})
afterAll(() => nodes.close())

/** Ensures that the browser has a session and the app a consent. */
async function signIn(client: TestClient): Promise<Session> {
  // the newest receipt must have the latest time
  nodes.app.grantor.clock.advance(1)
  const { location } = await walk.authorize(requestOf(client))
  if (location.includes('login_challenge=')) await walk.signIn(requestOf(client))
  const hash = hashSessionId(walk.cookies.get('grantor_session') ?? '')
  return (await nodes.app.grantor.store.sessions.readSession(hash)) as Session
}

/** Each ending with the number of store calls that it makes. */
const ENDINGS = {
  everything: [8, (session: Session) => endEverything(nodes.node, session.wallet)],
  'its app': [6, (session: Session) => endApp(nodes.node, session, signed.id)],
  'its session': [4, (session: Session) => endSessionOf(nodes.node, session, sessionHandle(session.hash))],
  'the wallet’s grants by the operator': [
    6,
    (session: Session) => endGrantsOfWallet(nodes.node.store, session.wallet, signed.id, nodes.node.now),
  ],
} as const satisfies Record<string, [number, (session: Session) => Promise<unknown>]>

test.each<[string, 'session' | 'signed', keyof typeof ENDINGS, number]>([
  ['a session, while everything is ended', 'session', 'everything', 0],
  // a request that records the last use of the session makes one more commit
  ['an idle session, while everything is ended', 'session', 'everything', 601],
  ['a session, while the session is ended', 'session', 'its session', 601],
  ['a consent, while everything is ended', 'signed', 'everything', 601],
  ['a consent, while its app is ended', 'signed', 'its app', 0],
  ['a consent of an idle session, while its app is ended', 'signed', 'its app', 601],
  ['a consent, while the operator ends the wallet’s grants', 'signed', 'the wallet’s grants by the operator', 0],
  ['a consent, while its session is ended', 'signed', 'its session', 0],
])(
  'An authorization request during an ending gets no code that can be redeemed after the ending: %s',
  async (_, rule, what, idle) => {
    const client = rule === 'signed' ? signed : bySession
    const [calls, end] = ENDINGS[what]
    for (const at of allCuts(4, calls)) {
      const session = await signIn(client)
      nodes.app.grantor.clock.advance(idle)
      const { location } = await nodes.cut(
        at,
        () => walk.authorize(requestOf(client)),
        () => end(session),
      )
      if (location.includes('login_challenge=')) continue
      expect([at, (await walk.exchange(client, parameterOf(location, 'code'))).status]).toEqual([at, 400])
    }
  },
)

test('A confirmation while everything is ended gives no code that can be redeemed afterwards', async () => {
  const [calls, end] = ENDINGS.everything
  for (const at of allCuts(4, calls)) {
    const session = await signIn(bySession)
    const page = await walk.authorize(requestOf(bySession, { prompt: 'consent' }))
    nodes.app.grantor.clock.advance(599)
    const answer = await nodes.cut(
      at,
      () => walk.confirm(page, 'allow'),
      () => end(session),
    )
    if (answer.status === 401) continue
    expect([at, (await walk.exchange(bySession, parameterOf(movingTo(answer), 'code'))).status]).toEqual([at, 400])
  }
})

describe('Tokens during an ending', () => {
  test.each<['session' | 'signed', keyof typeof ENDINGS]>([
    ['session', 'everything'],
    ['signed', 'everything'],
    ['signed', 'its app'],
    ['signed', 'the wallet’s grants by the operator'],
  ])(
    'Tokens of a code that is issued and redeemed under the consent rule %s during the ending of %s are inactive afterwards',
    async (rule, what) => {
      const client = rule === 'signed' ? signed : bySession
      const [calls, end] = ENDINGS[what]
      for (let ending = 0; ending <= calls; ending++) {
        const session = await signIn(client)
        // Both requests run completely between two store calls of the ending.
        const at: Cut = { outer: 'ending', request: Number.POSITIVE_INFINITY, ending }
        const redeem = async () => {
          const { location } = await walk.authorize(requestOf(client))
          if (location.includes('login_challenge=')) return null
          const answer = await walk.exchange(client, parameterOf(location, 'code'))
          return answer.status === 200 ? tokensOf(answer) : null
        }
        const tokens = await nodes.cut(at, redeem, () => end(session))
        if (tokens) expect([at, await nodes.app.isActive(tokens.access_token, client)]).toEqual([at, false])
      }
    },
  )

  test.each<keyof typeof ENDINGS>(['its app', 'everything'])(
    'Tokens of a code that is redeemed while %s is ended are inactive afterwards and cannot be refreshed',
    async (what) => {
      const [calls, end] = ENDINGS[what]
      for (const at of allCuts(2, calls)) {
        const session = await signIn(signed)
        const code = await nodes.app.freshCode()
        await expectEnded(
          await nodes.cut(
            at,
            () => walk.exchange(signed, code),
            () => end(session),
          ),
          at,
        )
      }
    },
  )

  test.each<keyof typeof ENDINGS>(['its app', 'everything'])(
    'Tokens that are refreshed while %s is ended are inactive afterwards and cannot be refreshed again',
    async (what) => {
      const [calls, end] = ENDINGS[what]
      for (const at of allCuts(1, calls)) {
        const session = await signIn(signed)
        const tokens = await nodes.app.freshTokens()
        await expectEnded(
          await nodes.cut(
            at,
            () => walk.refresh(signed, tokens.refresh_token),
            () => end(session),
          ),
          at,
        )
        expect(await nodes.app.isActive(tokens.access_token)).toBe(false)
      }
    },
  )

  async function expectEnded(answer: Answer, at: Cut): Promise<void> {
    if (answer.status !== 200) return expect(answer.json().error).toBe('invalid_grant')
    const tokens = tokensOf(answer)
    expect([at, await nodes.app.isActive(tokens.access_token)]).toEqual([at, false])
    expect((await walk.refresh(signed, tokens.refresh_token)).status).toBe(400)
    const grant = await nodes.app.grantor.store.grants.readGrant(claimsOf(tokens.access_token).grant_id)
    expect(grant?.endedAt).not.toBeNull()
  }
})
