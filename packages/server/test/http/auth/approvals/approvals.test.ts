/** One action that an API asks the user to sign: asking, signing, using. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  API,
  type ApprovalApp,
  challengeOf,
  createApi,
  decide,
  digestOf,
  openApproval,
  type Receipt,
  sign,
  startApprovalApp,
} from '../../../support/approvals.ts'
import { type Answer, noticeOf, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

let app: ApprovalApp
let token: string
beforeAll(async () => {
  app = await startApprovalApp()
})
afterAll(() => app.close())
// Each test has a grant of its own, so no bound of another test counts. Answered approvals do not count for the wallet.
beforeEach(async () => {
  app.grantor.clock.advance(3601)
  await app.walk.signIn({ ...requestOf(app.client), prompt: 'login' })
  token = await app.freshToken()
})

/** The receipts of approvals on the account page. */
async function listedReceipts(): Promise<string[]> {
  const { body } = await app.walk.browse({ path: '/account' })
  return Array.from(
    body.matchAll(/<div class="action">[^]*?href="(\/account\/receipts\/[\w-]+\.json)"/g),
    ([, path = '']) => path,
  )
}

const expectError = (answer: Answer, status: number, error: string, reason: string): void => {
  expect([answer.status, answer.json().error]).toEqual([status, error])
  expect(app.grantor.events.at(-1)).toMatchObject({ event: 'refused', reason })
}

describe('Asking', () => {
  test('An API gets a link, letters and the state, and the same key with the same values is the same approval', async () => {
    const question = { key: 'k', summary: 'Enhance item 7', digest: digestOf('a') }
    const first = await app.asked(token, question)
    expect(first).toEqual({
      approval_id: expect.stringMatching(/^[\w-]{43}$/),
      approval_uri: `${app.grantor.authUrl}/approve/${first.approval_id}`,
      user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
      state: 'waiting',
      expires_in: 600,
      interval: 5,
    })
    app.grantor.clock.advance(10)
    expect(await app.asked(token, question)).toEqual({ ...first, expires_in: 590 })
    for (const other of [{ summary: 'Enhance item 8' }, { digest: digestOf('b') }])
      expectError(await app.ask(token, { ...question, ...other }), 409, 'key_used', 'approval_values_differ')
    // The same key of another grant, or of another API, is another action.
    expect((await app.asked(await app.freshToken(), question)).approval_id).not.toBe(first.approval_id)
  })

  test.each([
    ['scope', ['', 'two scopes', 'ümlaut', 'x'.repeat(65)]],
    ['key', ['', 'a b', 'a/b', 'x'.repeat(65), 'é']],
    ['digest', ['', 'short', `${digestOf('a')}=`, digestOf('a').replace(/.$/, '+')]],
    [
      'summary',
      [
        '',
        ' ',
        ' a',
        'a ',
        'a  b',
        "it's",
        'two\nlines',
        'a\tb',
        'x'.repeat(121),
        'Ähnlich',
        'раy',
        'a\u202eb',
        'a\u200bb',
        '100%',
        '<b>',
      ],
    ],
    ['wait', ['-1', '31', '1.5', 'x']],
  ])('A malformed %s is refused by its name, and nothing is written', async (name, values) => {
    const before = await app.grantor.rows()
    for (const value of values) {
      const answer = await app.ask(token, { [name]: value })
      expect([answer.status, answer.json().error], `${name}=${JSON.stringify(value)}: ${answer.body}`).toEqual([
        400,
        'invalid_request',
      ])
      expect(String(answer.json().error_description)).toMatch(new RegExp(`^${name} `))
    }
    expect(await app.grantor.rows()).toEqual(before)
  })

  test('A caller that is not the API of the token, or has a token that is not active, gets nothing', async () => {
    expect((await app.walk.call('/oauth/approvals', { id: app.api.id, secret: 'wrong' }, { token })).status).toBe(401)
    const other = await createApi(app.grantor, { resourceServer: 'https://other.example.com/' })
    for (const stranger of [other, app.client]) {
      expectError(await app.ask(token, {}, stranger), 403, 'not_yours', 'token_of_another_audience')
    }
    expectError(await app.ask('nonsense'), 403, 'token_inactive', 'access_token_unknown')
    expectError(await app.ask(token, { scope: 'profile' }), 403, 'insufficient_scope', 'approval_scope_not_granted')
    await app.walk.revoke(app.client, token)
    expectError(await app.ask(token), 403, 'token_inactive', 'access_token_revoked')
  })
})

describe('Signing and using', () => {
  test('The wallet signs, the API uses it once, and the same attempt gets the same answer again', async () => {
    const approval = await app.asked(token, { summary: 'Enhance item 7 to level 3', digest: digestOf('seven') })
    expectError(await app.use(approval), 403, 'not_approved', 'approval_waiting')
    const page = await openApproval(app.walk, approval)
    expect(page.status).toBe(200)
    expect(page.body).toContain('<blockquote lang="" dir="auto">“Enhance item 7 to level 3”</blockquote>')
    expect(page.body).toContain('These are the words of <strong><bdi>api.example.com</bdi></strong>, not ours.')
    const signed = await sign(app.walk, approval)
    expect([signed.status, noticeOf(signed)]).toEqual([200, 'approval_signed'])
    const read = (await app.read(approval)).json()
    expect(read).toMatchObject({ state: 'signed', expires_in: 600, summary: 'Enhance item 7 to level 3' })

    const used = await app.use(approval)
    expect(used.status).toBe(200)
    const { receipt } = used.json() as { receipt: Receipt }
    expect(receipt).toEqual(read.receipt)
    expect(receipt.address).toBe(app.walk.wallet.address)
    expect(receipt.message).toContain("Once: 'Enhance item 7 to level 3' (words of api.example.com), for ")
    expect((await app.use(approval)).json()).toEqual(used.json())
    expectError(await app.use(approval, 'second'), 409, 'already_used', 'approval_used_before')
    expect((await app.read(approval)).json()).toMatchObject({ state: 'used', expires_in: 0 })
  })

  test('64 uses at once: one attempt acts', async () => {
    const approval = await app.asked(token)
    await sign(app.walk, approval)
    const answers = await Promise.all(Array.from({ length: 64 }, (_, i) => app.use(approval, `attempt-${i}`)))
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
    expect(answers.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(63)
  })

  test('An approval cannot be used after a refusal, after ten minutes, or after the end of the grant', async () => {
    const declined = await app.asked(token)
    expect(noticeOf(await decide(app.walk, declined, 'decline'))).toBe('approval_declined')
    expectError(await app.use(declined), 403, 'not_approved', 'approval_declined')
    expect((await app.use(declined)).json().state).toBe('declined')

    const late = await app.asked(token)
    await sign(app.walk, late)
    app.grantor.clock.advance(600)
    expectError(await app.use(late), 403, 'not_approved', 'approval_expired')

    const ended = await app.asked(await app.freshToken())
    await sign(app.walk, ended)
    await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
    expectError(await app.use(ended), 403, 'not_approved', 'approval_ended')
    expect((await app.read(ended)).json()).toMatchObject({ state: 'ended', expires_in: 0 })
  })

  test('An approval cannot be used after the operator took the scope from the client, or disabled the client', async () => {
    const { grantor } = app
    const client = await grantor.createClient({ scopes: ['enhancement', 'profile'], resources: [API] })
    const { access_token } = await app.freshTokens({ resource: API, scope: 'enhancement' }, client)
    const approval = await app.asked(access_token)
    await sign(app.walk, approval)
    const change = async (members: object) => {
      await grantor.store.clients.changeClient(client.id, (each) => ({ ...each, ...members }))
      await grantor.noticeChanges()
    }
    await change({ scopes: ['profile'] })
    expectError(await app.use(approval), 403, 'not_approved', 'approval_ended')
    await change({ scopes: ['enhancement'] })
    await change({ disabledAt: grantor.clock.now() })
    expectError(await app.use(approval), 403, 'not_approved', 'approval_ended')
    await change({ disabledAt: null })
    expect((await app.use(approval)).status).toBe(200)
  })

  test('The first answer stays: a second signature and a later refusal change nothing, and their pages say so', async () => {
    const earlier = (await listedReceipts()).length
    const approval = await app.asked(token)
    const other = new Walk(app.grantor)
    const challenge = await challengeOf(other, approval)
    const proved = await other.prove(challenge)
    expect(noticeOf(await sign(app.walk, approval))).toBe('approval_signed')
    const again = await other.complete(proved)
    expect([again.status, noticeOf(again)]).toEqual([409, 'approval_answered'])
    for (const answer of [await openApproval(other, approval), await decide(other, approval, 'decline')])
      expect([answer.status, noticeOf(answer)]).toEqual([409, 'approval_was_signed'])
    expect((await app.use(approval)).status).toBe(200)
    // The signature that came second approved nothing.
    expect(await listedReceipts()).toHaveLength(earlier + 1)

    const declined = await app.asked(token)
    const begun = await app.walk.prove(await challengeOf(app.walk, declined))
    await decide(other, declined, 'decline')
    expect(noticeOf(await app.walk.complete(begun))).toBe('approval_answered')
    expect(await listedReceipts()).toHaveLength(earlier + 1)
    expectError(await app.use(declined), 403, 'not_approved', 'approval_declined')
  })

  test('Only the wallet of the token can sign: another wallet is refused before it signs', async () => {
    const approval = await app.asked(token)
    const stranger = new Walk(app.grantor, testWallet(1))
    const challenge = await challengeOf(stranger, approval)
    const claim = { login_challenge: challenge, address: stranger.wallet.address, chain_id: 1 }
    for (const [path, more] of [
      ['/login/message', {}],
      ['/login/accept', { signature: `0x${'1'.repeat(130)}` }],
    ] as const) {
      const answer = await stranger.loginApi(path, { ...claim, ...more })
      expect([answer.status, answer.json().error]).toEqual([403, 'another_wallet'])
    }
    expect((await app.read(approval)).json().state).toBe('waiting')
  })

  test('A signature starts no session and covers no request: the same scopes still need a consent', async () => {
    const approval = await app.asked(token)
    const fresh = new Walk(app.grantor)
    const signed = await sign(fresh, approval)
    expect(noticeOf(signed)).toBe('approval_signed')
    expect([...fresh.cookies.keys()].filter((name) => name.includes('session'))).toEqual([])
  })

  test('Another API learns nothing of an approval, and an unknown id is not found', async () => {
    const approval = await app.asked(token)
    const second = await createApi(app.grantor)
    expectError(await app.use(approval, 'a', second), 404, 'unknown_approval', 'approval_unknown')
    for (const approval_id of [approval.approval_id.replace(/^./, '_'), 'nonsense', 'A'.repeat(43)]) {
      expect((await app.read({ approval_id })).status).toBe(404)
      expect((await app.use({ approval_id })).status).toBe(404)
    }
  })

  test('The eight letters at /device lead to the page', async () => {
    const approval = await app.asked(token)
    const answer = await app.walk.browse({ path: `/device?user_code=${approval.user_code.toLowerCase()}` })
    expect([answer.status, answer.location]).toEqual([303, approval.approval_uri])
    await sign(app.walk, approval)
    expect((await app.walk.browse({ path: `/device?user_code=${approval.user_code}` })).status).toBe(400)
  })

  test('The account page lists what waits, and then the receipt of what was approved', async () => {
    const approval = await app.asked(token, { summary: 'Send ten gold to Bob' })
    const waiting = await app.walk.browse({ path: '/account' })
    expect(waiting.body).toContain('Waiting for you')
    expect(waiting.body).toContain(`href="${approval.approval_uri}"`)
    await sign(app.walk, approval)
    const after = await app.walk.browse({ path: '/account' })
    expect(after.body).not.toContain(approval.approval_uri)
    expect(after.body).toContain('Send ten gold to Bob')
    const [path = ''] = await listedReceipts()
    expect((await app.walk.browse({ path })).json()).toEqual((await app.read(approval)).json().receipt)
  })
})

describe('Bounds', () => {
  test('A grant has five waiting approvals at most, and a sixth is 429 with Retry-After', async () => {
    for (let i = 0; i < 5; i++) await app.asked(token)
    const sixth = await app.ask(token)
    expectError(sixth, 429, 'too_many_approvals', 'approvals_waiting')
    expect(Number(sixth.headers['retry-after'])).toBeGreaterThan(0)
  })

  test('Twenty approvals of a wallet wait at most, and those of an app that the user ended do not count', async () => {
    const { grantor } = app
    const other = await grantor.createClient({ scopes: ['enhancement', 'profile'], resources: [API] })
    const freshToken = async () => (await app.freshTokens({ resource: API, scope: 'enhancement' }, other)).access_token
    for (let grants = 0; grants < 4; grants++) {
      const ofOther = await freshToken()
      for (let i = 0; i < 5; i++) await app.asked(ofOther)
    }
    expectError(await app.ask(token), 429, 'too_many_approvals', 'approvals_wallet_waiting')
    await app.walk.postForm('/account/apps/end', { client_id: other.id })
    expect((await app.asked(token)).state).toBe('waiting')
  })

  test('After two declined questions the grant pauses for an hour, and after "never" for good', async () => {
    for (let i = 0; i < 2; i++) await decide(app.walk, await app.asked(token), 'decline')
    expectError(await app.ask(token), 429, 'too_many_approvals', 'approvals_declined_twice')
    app.grantor.clock.advance(3601)
    const { access_token, refresh_token } = await app.freshTokens({ resource: API, scope: 'enhancement' })
    await decide(app.walk, await app.asked(access_token), 'never')
    expectError(await app.ask(access_token), 403, 'approvals_declined', 'approvals_declined_for_good')
    app.grantor.clock.advance(86_400 * 3)
    const renewed = (await app.walk.refresh(app.client, refresh_token)).json()
    expectError(await app.ask(String(renewed.access_token)), 403, 'approvals_declined', 'approvals_declined_for_good')
  })
})

describe('Waiting', () => {
  test('The response to the first request comes at once, so that the user has the link, and the same request again waits', async () => {
    const question = { key: 'first', summary: 'Enhance item 7', digest: digestOf('first'), wait: '30' }
    const first = (await app.ask(token, question)).json()
    expect(first).toMatchObject({ state: 'waiting' })
    const again = app.ask(token, question)
    await sign(app.walk, first as { approval_uri: string })
    expect((await again).json()).toMatchObject({ state: 'signed' })
  })

  test('A request that waits ends with the answer of the user, and without one with the state after its time', async () => {
    const approval = await app.asked(token)
    const waiting = app.read(approval, '?wait=20')
    await sign(app.walk, approval)
    expect((await waiting).json()).toMatchObject({ state: 'signed' })
    const unanswered = await app.asked(token)
    expect((await app.read(unanswered, '?wait=1')).json()).toMatchObject({ state: 'waiting' })
  })
})
