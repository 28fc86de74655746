/** Approvals of exchanged tokens (RFC 8693), and of contract wallets. */
import { expect, onTestFinished, test } from 'vitest'
import { appOf, tokensOf } from '../../../support/app.ts'
import { API, approvalAppOf, challengeOf, createApi, openApproval, type Receipt, sign } from '../../../support/approvals.ts'
import { startOnChain } from '../../../support/contract-login.ts'
import { startExchangeApp } from '../../../support/exchange-app.ts'
import { startGrantor, type TestClient } from '../../../support/start.ts'
import { CODE_VERIFIER, noticeOf, PKCE, requestOf, Walk } from '../../../support/walk.ts'
import { owner as ownerNamed } from '../../../support/wallet-contracts.ts'

test('An exchanged token asks in the name of the grant, and the page names the app and those that act for it', async () => {
  const app = await startExchangeApp()
  onTestFinished(() => app.close())
  const token = tokensOf(await app.exchange(await app.subjectToken())).access_token
  const own = approvalAppOf(app, app.api)
  const approval = await own.asked(token)
  const page = await openApproval(app.walk, approval)
  const { name } = (await app.grantor.store.clients.listClients()).find(({ id }) => id === app.mcp.id) ?? {}
  expect(page.body).toContain(`<dt>Through</dt><dd><bdi>${name}</bdi></dd>`)
  await sign(app.walk, approval)
  expect((await own.use(approval)).status).toBe(200)
})

test.each(['deployed', 'not deployed (ERC-6492)'])('A contract wallet that is %s approves one action', async (kind) => {
  const home = await startOnChain()
  onTestFinished(() => home.close())
  const owner = ownerNamed('Alice')
  const wallet = await (kind === 'deployed' ? home.walletOf(owner) : home.undeployedWalletOf(owner))
  const client = await home.grantor.createClient({ scopes: ['enhancement'], resources: [API] })
  const { walk } = await home.connect(wallet, { client })
  walk.wallet = wallet
  const app = approvalAppOf(appOf(home.grantor, client, walk), await createApi(home.grantor))
  const approval = await app.asked(await app.freshToken())
  // The key of the owner does not sign for the contract by itself.
  const claim = { login_challenge: await challengeOf(walk, approval), address: owner.address, chain_id: 1 }
  expect((await walk.loginApi('/login/message', claim)).json().error).toBe('another_wallet')
  expect(noticeOf(await sign(walk, approval))).toBe('approval_signed')
  const { receipt } = (await app.use(approval)).json() as { receipt: Receipt }
  expect(receipt.address).toBe(wallet.address)
})

test('An app that registered itself is named as such on the page and in the text, and its approval can be used', async () => {
  const grantor = await startGrantor({ environment: { GRANTOR_DYNAMIC_REGISTRATION: 'on' } })
  onTestFinished(() => grantor.close())
  const scopes = [{ name: 'enhancement', description: 'enhance items' }]
  await grantor.store.resources.insertResource({ uri: API, name: 'The API', scopes, openTo: ['dynamic'], createdAt: 1 })
  await grantor.noticeChanges()
  const walk = new Walk(grantor)
  const registered = await walk.browse({
    method: 'POST',
    path: '/oauth/register',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Editor',
      redirect_uris: ['https://editor.example/callback'],
      token_endpoint_auth_method: 'none',
    }),
  })
  const { client_id: id, redirect_uris: redirectUris } = registered.json()
  const client = { id, redirectUris, secret: '' } as unknown as TestClient
  const { code } = await walk.signIn({
    ...requestOf(client),
    response_type: 'code',
    scope: 'enhancement',
    resource: API,
    ...PKCE,
  })
  const { access_token } = tokensOf(await walk.exchange(client, code, { code_verifier: CODE_VERIFIER }))
  const app = approvalAppOf(appOf(grantor, client, walk), await createApi(grantor))
  const approval = await app.asked(access_token)
  expect((await openApproval(walk, approval)).body).toContain('It calls itself “<bdi>Editor</bdi>”. This name is not checked.')
  expect(noticeOf(await sign(walk, approval))).toBe('approval_signed')
  const { receipt } = (await app.use(approval)).json() as { receipt: Receipt }
  expect(receipt.message).toContain("for an app that registered itself (calls itself 'Editor')")
  // The account page has no place for the words that the name is not checked, so the name is left out.
  const account = await walk.browse({ path: '/account' })
  const [, approved = ''] = account.body.split('id="approved-title"')
  expect(approved).toContain('api.example.com')
  expect(approved).not.toContain('Editor')
})
