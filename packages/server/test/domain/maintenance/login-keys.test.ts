/** Logins during changes of a running service: a text template of another version, rotated keys, retired keys. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type KeyKeeping, retireKey, rotateKey } from '../../../src/domain/maintenance/keep-keys.ts'
import type { KeyKind } from '../../../src/protocol/keys/key-ring.ts'
import { seal, unseal } from '../../../src/protocol/keys/sealed.ts'
import { ACCOUNT_TEMPLATE, END_EVERYTHING_TEMPLATE } from '../../../src/protocol/wallet/account-message.ts'
import { keepingOf } from '../../support/key-keeping.ts'
import { type Grantor, startGrantor, type TestClient } from '../../support/start.ts'
import { type Answer, noticeOf, requestOf, Walk } from '../../support/walk.ts'

let grantor: Grantor
let client: TestClient
let walk: Walk
let keeping: KeyKeeping

beforeEach(async () => {
  grantor = await startGrantor()
  client = await grantor.createClient()
  walk = new Walk(grantor)
  keeping = keepingOf(grantor)
})
afterEach(() => grantor.close())

const claim = (challenge: string) => ({ login_challenge: challenge, address: walk.wallet.address, chain_id: 1 })

function expectRefusal(answer: Answer, status: number, error: string): void {
  expect(answer.status).toBe(status)
  expect(answer.json().error).toBe(error)
}

async function retireAll(kind: KeyKind): Promise<void> {
  const keys = await grantor.store.keys.listKeys()
  for (const key of keys.filter((each) => each.kind === kind)) await retireKey(keeping, key.id, { atOnce: true })
  await grantor.noticeChanges()
}

describe('A login whose text cannot be composed again', () => {
  const known = [ACCOUNT_TEMPLATE, END_EVERYTHING_TEMPLATE]
  test.each([9, 1, 0, -1, ...known])(
    'A login with text template %i, which this node cannot compose for an app, is answered 410 and not as a wrong signature',
    async (template) => {
      const packed = unseal(grantor.deps.keys, 'grl', await walk.challenge(requestOf(client))) as unknown[]
      const challenge = seal(grantor.deps.keys, 'grl', [template, ...packed.slice(1)])
      expectRefusal(await walk.loginApi('/login/message', claim(challenge)), 410, 'expired')
      const signature = walk.wallet.sign('whatever another node composed')
      expectRefusal(await walk.loginApi('/login/accept', { ...claim(challenge), signature }), 410, 'expired')
      expect(await grantor.rows()).toMatchObject({ wallets: [], receipts: [], sessions: [] })
    },
  )
})

describe('Keys that change during a login', () => {
  test.each(['seal', 'mac'] as const)(
    'A new %s key that is announced and in use during a login does not affect the login',
    async (kind) => {
      const challenge = await walk.challenge(requestOf(client))
      await rotateKey(keeping, kind)
      await grantor.noticeChanges()
      grantor.clock.advance(61)
      const path = await walk.prove(challenge)
      expect((await walk.complete(path)).status).toBe(200)
      expect((await walk.complete(path)).status).toBe(409)
      expect((await walk.authorize(requestOf(client))).location).toContain('?code=')
    },
  )

  test('If a MAC key is retired at once, its logins expire with 410, and its sessions stay valid because their ids are only hashed', async () => {
    const other = new Walk(grantor)
    await other.signIn(requestOf(client))
    const challenge = await walk.challenge(requestOf(client))
    const { message } = (await walk.loginApi('/login/message', claim(challenge))).json()
    const path = await walk.prove(challenge)
    await retireAll('mac')
    expectRefusal(
      await walk.loginApi('/login/accept', { ...claim(challenge), signature: walk.wallet.sign(message as string) }),
      410,
      'expired',
    )
    const page = await walk.complete(path)
    expect(page.status).toBe(410)
    expect(noticeOf(page)).toBe('expired')
    expect(page.headers).not.toHaveProperty('set-cookie')
    expect((await other.authorize(requestOf(client))).location).toContain('?code=')
    expect((await walk.signIn(requestOf(client))).code).not.toBe('')
  })

  test('If a seal key is retired at once because it leaked, its challenges and logins are refused with 400', async () => {
    const challenge = await walk.challenge(requestOf(client))
    const path = await walk.prove(challenge)
    await retireAll('seal')
    expectRefusal(await walk.loginApi('/login/message', claim(challenge)), 400, 'invalid_request')
    const page = await walk.complete(path)
    expect(page.status).toBe(400)
    expect(page.headers).not.toHaveProperty('set-cookie')
    expect((await walk.signIn(requestOf(client))).code).not.toBe('')
  })
})
