/** Scope `profile` (OpenID Connect Core §5.4): a name and a picture for people. `sub` stays the address. */
import { describe, expect } from 'vitest'
import { claimsOf } from '../../../support/app.ts'
import { test as base, FILE } from '../../../support/fixtures.ts'
import { openIdTokens } from '../../../support/openid-app.ts'
import { send } from '../../../support/send.ts'
import { requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const { address } = testWallet(0)
const PROFILE = { response_type: 'code', scope: 'openid profile' }

const test = base
  .extend('client', FILE, ({ grantor }) => grantor.createClient({ scopes: ['openid', 'profile'] }))
  .extend('walk', FILE, async ({ grantor, client }) => {
    const walk = new Walk(grantor)
    await walk.signIn(requestOf(client, PROFILE))
    return walk
  })

test('Scope profile adds the short form of the address and a picture to the ID token and to userinfo, and sub stays the address (OpenID Connect Core §5.1, §5.4, §5.7)', async ({
  grantor,
  client,
  walk,
}) => {
  const tokens = await openIdTokens(walk, client, PROFILE)
  const short = `${address.slice(0, 6)}…${address.slice(-4)}`
  const profile = { sub: address, name: short, preferred_username: short, picture: `${grantor.authUrl}/oauth/picture/${address}` }
  expect(claimsOf(tokens.id_token)).toMatchObject(profile)
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  expect((await send(grantor.authUrl, { path: '/oauth/userinfo', headers })).json()).toEqual(profile)
})

describe('GET /oauth/picture/{address}', () => {
  const picture = (authUrl: string, path: string) => send(authUrl, { path: `/oauth/picture/${path}` })

  test('The picture is a PNG that caches keep for a day, that pages of every origin may show, and in which no script runs', async ({
    grantor,
  }) => {
    const answer = await picture(grantor.authUrl, address)
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=86400',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    })
    expect(answer.body.slice(1, 4)).toBe('PNG')
    expect((await picture(grantor.authUrl, address.toLowerCase())).body).toBe(answer.body)
  })

  test('A path without an address gets 404, and no request for a picture writes a row', async ({ grantor, walk }) => {
    expect(walk.wallet.address).toBe(address)
    const before = await grantor.rows()
    for (const path of ['0x', `${address}0`, `${address.slice(0, -1)}g`, `0x${'0'.repeat(40)}`, '..%2f', '%00', `${address}/x/y`])
      expect([path, (await picture(grantor.authUrl, path)).status]).toEqual([path, 404])
    await picture(grantor.authUrl, address)
    expect(await grantor.rows()).toEqual(before)
  })
})
