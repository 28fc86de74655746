/** Scope `siwe`: an app gets the text that the user signed for this app, and the signature, from the userinfo endpoint. */
import { ParsedMessage } from '@signinwithethereum/siwe-parser'
import { describe, expect } from 'vitest'
import { verifyPlainSignature } from '../../../../src/protocol/wallet/signature.ts'
import { claimsOf } from '../../../support/app.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { openIdTokens } from '../../../support/openid-app.ts'
import { send } from '../../../support/send.ts'
import type { Grantor, TestClient } from '../../../support/start.ts'
import { requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const { address } = testWallet(0)
const SIWE = { response_type: 'code', scope: 'openid siwe' }
const register = (grantor: Grantor, name: string) =>
  grantor.createClient({ name, scopes: ['enhancement', 'openid', 'siwe'], defaultScopes: ['enhancement'] })

const test = base
  .extend('client', FILE, ({ grantor }) => register(grantor, 'Proof'))
  .extend('walk', FILE, async ({ grantor, client }) => {
    const walk = new Walk(grantor)
    await walk.signIn(requestOf(client, SIWE))
    return walk
  })

async function readUserinfo(grantor: Grantor, accessToken: string): Promise<Record<string, string>> {
  const answer = await send(grantor.authUrl, { path: '/oauth/userinfo', headers: { authorization: `Bearer ${accessToken}` } })
  expect(answer.status).toBe(200)
  return answer.json() as Record<string, string>
}

const tokensOf = (walk: Walk, client: TestClient, scope = SIWE.scope) => openIdTokens(walk, client, { ...SIWE, scope })

test('Userinfo has the text that the wallet signed for the app, and a signature that holds for it; the ID token has neither', async ({
  grantor,
  client,
  walk,
}) => {
  const tokens = await tokensOf(walk, client)
  const { sub, siwe_message = '', siwe_signature = '', ...others } = await readUserinfo(grantor, tokens.access_token)
  expect([sub, others]).toEqual([address, {}])
  const text = new ParsedMessage(siwe_message)
  expect(text).toMatchObject({ address, uri: client.redirectUris[0], chainId: 1 })
  expect(text.resources?.[0]).toBe(`urn:uuid:${client.id}`)
  expect(verifyPlainSignature(siwe_message, siwe_signature, address as `0x${string}`)).toEqual({ kind: 'valid' })
  expect(Object.keys(claimsOf(tokens.id_token)).filter((name) => name.startsWith('siwe'))).toEqual([])
})

test('Without the scope, userinfo has no text', async ({ grantor, client, walk }) => {
  const { access_token } = await tokensOf(walk, client, 'openid')
  expect(await readUserinfo(grantor, access_token)).toEqual({ sub: address })
})

test('An app whose access rests on a sign-in at another app does not get the text of that app', async ({ grantor, walk }) => {
  const other = await register(grantor, 'Other')
  const { access_token, scope } = await tokensOf(walk, other)
  expect(scope).toContain('siwe')
  expect(await readUserinfo(grantor, access_token)).toEqual({ sub: address })
})

test('The metadata lists the scope and its claims (OpenID Connect Discovery §3)', async ({ grantor }) => {
  const metadata = (await send(grantor.authUrl, { path: '/.well-known/openid-configuration' })).json()
  expect(metadata.scopes_supported).toContain('siwe')
  expect(metadata.claims_supported).toEqual(expect.arrayContaining(['siwe_message', 'siwe_signature']))
})

describe('A receipt that cannot be given', () => {
  test('A receipt that was deleted leaves userinfo without the text', async ({ grantor, client, walk }) => {
    const { access_token } = await tokensOf(walk, client)
    const { siwe_message } = await readUserinfo(grantor, access_token)
    expect(siwe_message).toBeDefined()
    const wallet = address as `0x${string}`
    const [receipt] = await grantor.store.receipts.listReceipts(wallet, { clientId: client.id, limit: 1 })
    await grantor.store.receipts.deleteReceipts(wallet, [receipt?.id ?? ''])
    expect(await readUserinfo(grantor, access_token)).toEqual({ sub: address })
  })
})
