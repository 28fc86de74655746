/** Access tokens for the admin API that are bound to a key (RFC 9449). */
import { expect } from 'vitest'
import { setOperator } from '../../../src/domain/operators/operators.ts'
import { adminCaller } from '../../support/admin.ts'
import { athOf, newDpopKey, proofOf } from '../../support/dpop.ts'
import { test as base } from '../../support/fixtures.ts'
import { send } from '../../support/send.ts'

const test = base.extend('options', { admin: true })

test('A stolen token that is bound to a key is refused without a new proof of this key for this request at the admin API', async ({
  grantor,
}) => {
  const { adminUrl, authUrl, clock, store } = grantor
  await adminCaller(grantor, 'owner')
  const resource = `${adminUrl}/`
  const client = await grantor.createClient({
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scopes: ['admin.read'],
    resources: [resource],
  })
  await setOperator(store, { id: client.id, role: 'auditor', at: clock.now() })
  const key = newDpopKey()
  const issued = await send(authUrl, {
    method: 'POST',
    path: '/oauth/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
      dpop: await proofOf(grantor, key),
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope: 'admin.read' }).toString(),
  })
  const token = String(issued.json().access_token)
  const call = async (scheme: string, dpop?: string) =>
    (await send(adminUrl, { path: '/v1/keys', headers: { authorization: `${scheme} ${token}`, ...(dpop && { dpop }) } })).status
  const right = { htm: 'GET', htu: `${adminUrl}/v1/keys`, ath: athOf(token) }
  const proof = await proofOf(grantor, key, right)
  expect(await call('DPoP', proof)).toBe(200)
  // The same proof again.
  expect(await call('DPoP', proof)).toBe(401)
  expect(await call('Bearer')).toBe(401)
  expect(await call('DPoP')).toBe(401)
  expect(await call('Bearer', await proofOf(grantor, key, right))).toBe(401)
  expect(await call('DPoP', await proofOf(grantor, newDpopKey(), right))).toBe(401)
  for (const wrong of [
    { htu: `${authUrl}/v1/keys` },
    { htu: `${adminUrl}/v1/clients` },
    { htm: 'DELETE' },
    { ath: athOf('another token') },
    { ath: undefined },
  ])
    expect([wrong, await call('DPoP', await proofOf(grantor, key, { ...right, ...wrong }))]).toEqual([wrong, 401])
})
