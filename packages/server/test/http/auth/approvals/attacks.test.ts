/** Attacks on approvals: links and letters in the wrong hands, challenges and receipts in the wrong place. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { lineMessage } from '../../../../src/domain/audit/webhook-message.ts'
import type { AuditLine } from '../../../../src/domain/model/audit-store.ts'
import {
  API,
  type ApprovalApp,
  challengeOf,
  decide,
  openApproval,
  type Receipt,
  sign,
  startApprovalApp,
} from '../../../support/approvals.ts'
import { contentOf, noticeOf, parameterOf, requestOf, Walk } from '../../../support/walk.ts'

let app: ApprovalApp
let token: string
beforeAll(async () => {
  app = await startApprovalApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  app.grantor.clock.advance(3601)
  await app.walk.signIn({ ...requestOf(app.client), prompt: 'login' })
  token = await app.freshToken()
})

const stateOf = async (approval: { approval_id: string }) => (await app.read(approval)).json().state

test('A stranger with the link sees the action and a shortened address, and gets no session and no whole address', async () => {
  const approval = await app.asked(token)
  const stranger = new Walk(app.grantor)
  const page = await openApproval(stranger, approval)
  expect(page.status).toBe(200)
  const { address } = app.walk.wallet
  expect(page.body.toLowerCase()).not.toContain(address.toLowerCase())
  expect(page.body).toContain(`${address.slice(0, 6)}…${address.slice(-4)}`)
  expect([...stranger.cookies.keys()]).toEqual([])
})

test('The page cannot be framed, loads nothing of others, and its form is refused from another site', async () => {
  const approval = await app.asked(token)
  const page = await openApproval(app.walk, approval)
  const policy = String(page.headers['content-security-policy'])
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain("default-src 'none'")
  expect(contentOf(page.body)).not.toMatch(/(?:src|srcset|href|action)="(?!data:|\/(?!\/))/)
  const path = new URL(approval.approval_uri).pathname
  for (const decision of ['sign', 'decline', 'never']) {
    const answer = await app.walk.postForm(path, { decision }, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })
    expect(answer.status).toBe(403)
  }
  expect(await stateOf(approval)).toBe('waiting')
})

test('A summary that imitates the words of this service stays in the quotation of the API', async () => {
  const summary = 'Signed in. No gas, no transfer. Allow Bank until 2030-01-01 (words of bank.example)'
  const approval = await app.asked(token, { summary })
  const page = await openApproval(app.walk, approval)
  expect(page.body.split(summary)).toHaveLength(2)
  expect(page.body).toContain(`<blockquote lang="" dir="auto">“${summary}”</blockquote>`)
  const claim = { login_challenge: await challengeOf(app.walk, approval), address: app.walk.wallet.address, chain_id: 1 }
  const { message } = (await app.walk.loginApi('/login/message', claim)).json() as { message: string }
  expect(message).toContain(`Once: '${summary}' (words of api.example.com), for `)
})

test('A proof for one approval answers no other one, no login and no consent, and their proofs answer no approval', async () => {
  const [first, second] = [await app.asked(token), await app.asked(token)]
  const proofOf = async (challenge: string) => parameterOf(`http://x${await app.walk.prove(challenge)}`, 'login_verifier')
  const [ofFirst, ofSecond] = [await challengeOf(app.walk, first), await challengeOf(app.walk, second)]
  const ofLogin = await app.walk.challenge({ ...requestOf(app.client), prompt: 'login' })
  const [firstProof, loginProof] = [await proofOf(ofFirst), await proofOf(ofLogin)]
  for (const [challenge, proof] of [
    [ofSecond, firstProof],
    [ofLogin, firstProof],
    [ofSecond, loginProof],
    [ofFirst, loginProof],
  ]) {
    const answer = await app.walk.complete(`/login/complete?login_challenge=${challenge}&login_verifier=${proof}`)
    expect([answer.status, noticeOf(answer)]).toEqual([400, 'broken_link'])
  }
  expect([await stateOf(first), await stateOf(second)]).toEqual(['waiting', 'waiting'])
})

test('A proof that was made in one browser is not accepted from another: a link to the end of a signing is useless', async () => {
  const approval = await app.asked(token)
  const path = await app.walk.prove(await challengeOf(app.walk, approval))
  const other = await new Walk(app.grantor).complete(path)
  expect([other.status, noticeOf(other)]).toEqual([403, 'wrong_browser'])
  expect(await stateOf(approval)).toBe('waiting')
  expect(noticeOf(await app.walk.complete(path))).toBe('approval_signed')
})

test('The receipt of an approval covers no request: a client that needs a signed consent still asks for one', async () => {
  const client = await app.grantor.createClient({ consent: 'signed', resources: ['https://api.example.com/'] })
  const approval = await app.asked(token)
  await sign(app.walk, approval)
  const answer = await app.walk.authorize(requestOf(client, { scope: 'enhancement', resource: 'https://api.example.com/' }))
  expect(answer.location).toContain('/login?login_challenge=')
  const account = await app.walk.browse({ path: '/account' })
  expect(account.body.split('name="client_id"')).toHaveLength(2)
})

test('The login server cannot vouch for an approval', async () => {
  const approval = await app.asked(token)
  const claim = { login_challenge: await challengeOf(app.walk, approval), address: app.walk.wallet.address, chain_id: 1 }
  const answer = await app.walk.loginApi('/login/accept', claim)
  expect([answer.status, answer.json().error]).toEqual([403, 'vouching_off'])
})

test('An agent that drives the browser of the user, without the wallet, can only decline', async () => {
  const approval = await app.asked(token)
  const agent = app.walk.copy()
  const challenge = await challengeOf(agent, approval)
  const forged = { login_challenge: challenge, address: agent.wallet.address, chain_id: 1, signature: `0x${'1'.repeat(128)}1b` }
  expect((await agent.loginApi('/login/accept', forged)).status).toBe(401)
  expect(await stateOf(approval)).toBe('waiting')
  expect(noticeOf(await decide(agent, approval, 'anything else'))).toBe('approval_declined')
})

test('Neither the log nor the audit trail has a summary, a digest, a signature or a token of an approval', async () => {
  const approval = await app.asked(token, { summary: 'A summary that nobody logs' })
  await sign(app.walk, approval)
  const { receipt } = (await app.use(approval)).json() as { receipt: Receipt }
  await app.ask(token, { summary: 'A summary that nobody logs', key: 'again' })
  await expect
    .poll(async () => JSON.stringify(await app.grantor.store.audit.readLines({ after: 0, limit: 1000 })))
    .toContain('approval_used')
  const written = JSON.stringify([app.grantor.events, await app.grantor.store.audit.readLines({ after: 0, limit: 1000 })])
  for (const secret of ['A summary that nobody logs', receipt.signature, token]) expect(written).not.toContain(secret)
})

test('A webhook for approval_requested names the API, the app and the page for the user, and not the action', async () => {
  const { access_token } = await app.freshTokens({ resource: API, scope: 'enhancement' })
  const approval = await app.asked(access_token, { summary: 'A summary that no webhook has' })
  const lineOf = async () => {
    const lines = await app.grantor.store.audit.readLines({ after: 0, limit: 1000 })
    return lines.find(({ event, line }) => event === 'approval_requested' && line.includes(approval.approval_id))
  }
  await expect.poll(lineOf).toBeDefined()
  const line = await lineOf()
  const { text } = lineMessage({ ...line } as AuditLine, new Uint8Array(32), app.grantor.clock.now())
  expect(JSON.parse(text)).toMatchObject({
    type: 'approval_requested',
    data: {
      client_id: app.api.id,
      details: { approval_id: approval.approval_id, approval_uri: approval.approval_uri, app: app.client.id },
    },
  })
  expect(text).not.toContain('A summary')
})

test('While the store is away, every request is a 503, and the repeat tells the truth', async () => {
  const other = await startApprovalApp()
  const approval = await other.asked(await other.freshToken())
  const fresh = await other.freshToken()
  await other.grantor.store.close()
  for (const answer of [await other.ask(fresh), await other.use(approval), await other.read(approval)]) {
    expect([answer.status, answer.json().error]).toEqual([503, 'temporarily_unavailable'])
  }
  expect((await openApproval(other.walk, approval)).status).toBe(503)
  await other.close()
})
