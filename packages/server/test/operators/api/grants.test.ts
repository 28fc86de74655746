/** Grants and sessions of users, through the admin API. */
import { expect } from 'vitest'
import { readConsent } from '../../../src/protocol/wallet/read-consent.ts'
import { adminCaller } from '../../support/admin.ts'
import { signInApp } from '../../support/app.ts'
import { test as base } from '../../support/fixtures.ts'
import { expectRefusal } from '../../support/refusals.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'

const test = base.extend('options', { admin: true })

type Items = { items: Record<string, unknown>[]; next: string | null }

test('The grants of a wallet are listed, read and ended, and the tokens of an ended grant are inactive', async ({ grantor }) => {
  const app = await signInApp(grantor)
  const owner = await adminCaller(grantor, 'owner')
  const [first, second] = [await app.freshTokens(), await app.freshTokens()]
  const path = `/v1/grants?wallet=${app.walk.wallet.address.toLowerCase()}&client_id=${app.client.id}&active=true`
  const { items } = (await owner.call('GET', path)).json() as Items
  expect(items).toHaveLength(2)
  const id = String(items[0]?.grant_id)
  expect((await owner.call('GET', `/v1/grants/${id}`)).json()).toEqual(items[0])
  expect(items[0]).toMatchObject({ wallet: app.walk.wallet.address, client_id: app.client.id, state: 'active', end_reason: null })

  expect((await owner.call('DELETE', `/v1/grants/${id}`)).status).toBe(204)
  expect((await owner.call('DELETE', `/v1/grants/${id}`)).status).toBe(204)
  expect((await owner.call('GET', `/v1/grants/${id}`)).json()).toMatchObject({ state: 'ended', end_reason: 'operator' })
  const areActive = [await app.isActive(first.access_token), await app.isActive(second.access_token)]
  expect(areActive.filter((isActive) => isActive)).toHaveLength(1)

  const ended = await owner.call('POST', '/v1/grants/end', { wallet: app.walk.wallet.address })
  expect(ended.json()).toEqual({ grants_ended: 1 })
  expectRefusal(await app.walk.refresh(app.client, second.refresh_token), 'invalid_grant')
  const acts = grantor.events.filter(({ operator }) => operator === owner.client.id).map(({ event, wallet }) => [event, wallet])
  const shortened = expect.stringMatching(/^0x[0-9a-fA-F]{4}…[0-9a-fA-F]{4}$/)
  expect(acts).toEqual([
    ['grant_ended', shortened],
    ['grants_ended', shortened],
  ])
})

test('Every grant is listed once, page by page, newest first', async ({ grantor }) => {
  const app = await signInApp(grantor)
  const owner = await adminCaller(grantor, 'owner')
  for (let n = 0; n < 5; n++) await app.freshTokens()
  const seen: unknown[] = []
  for (let after = ''; ; ) {
    const page = (await owner.call('GET', `/v1/grants?client_id=${app.client.id}&limit=2${after}`)).json() as Items
    seen.push(...page.items.map(({ grant_id: id }) => id))
    if (page.next === null) break
    after = `&after=${page.next}`
  }
  const stored = await grantor.store.grants.listGrants({ clientId: app.client.id, limit: 50 })
  expect(seen).toEqual(stored.map(({ id }) => id))
  const cursor = ((await owner.call('GET', '/v1/clients?limit=1')).json() as Items).next
  expect((await owner.call('GET', `/v1/grants?after=${cursor}`)).status).toBe(422)
})

test('The receipt of a grant is the text that the wallet signed', async ({ grantor }) => {
  const owner = await adminCaller(grantor, 'owner')
  const client = await grantor.createClient({ consent: 'signed' })
  const walk = new Walk(grantor, testWallet(2))
  const { code } = await walk.signIn(requestOf(client))
  await walk.exchange(client, code)
  const { items } = (await owner.call('GET', `/v1/grants?client_id=${client.id}`)).json() as Items
  const receipt = await owner.call('GET', `/v1/grants/${String(items[0]?.grant_id)}/receipt`)
  expect(receipt.json()).toMatchObject({ wallet: walk.wallet.address, client_id: client.id, withdrawn_at: null })
  expect(readConsent(String(receipt.json().message))).toMatchObject({ clientId: client.id })
  expect((await owner.call('GET', '/v1/grants/unknown/receipt')).status).toBe(404)
})

test('The sessions of a wallet are listed and ended, and an ended session needs a new sign-in', async ({ grantor }) => {
  const app = await signInApp(grantor)
  const owner = await adminCaller(grantor, 'owner')
  const path = `/v1/sessions?wallet=${app.walk.wallet.address}`
  const { items } = (await owner.call('GET', path)).json() as Items
  expect(items.length).toBeGreaterThan(0)
  const sessionId = app.walk.cookies.get('grantor_session') ?? ''
  for (const { session_id: id } of items) {
    expect(sessionId).not.toContain(String(id))
    expect((await owner.call('DELETE', `/v1/sessions/${String(id)}`)).status).toBe(204)
  }
  expect(((await owner.call('GET', path)).json() as Items).items).toEqual([])
  expect((await app.walk.authorize(requestOf(app.client))).location).toContain('login_challenge')
  expect((await owner.call('DELETE', '/v1/sessions/unknown')).status).toBe(404)
})

test('A job ends all grants of a client, and the client stays as it is', async ({ grantor }) => {
  const app = await signInApp(grantor)
  const owner = await adminCaller(grantor, 'owner')
  const tokens = await app.freshTokens()
  expect((await owner.call('GET', `/v1/clients/${app.client.id}`)).json()).toMatchObject({ unended_grants: 1 })
  const job = await owner.call('POST', `/v1/clients/${app.client.id}/end-grants`)
  expect(job.json()).toMatchObject({ kind: 'end_grants_of_client', started_by: owner.client.id, done_at: null })
  await grantor.workOnJobs()
  expect((await owner.call('GET', `/v1/jobs/${String(job.json().job_id)}`)).json()).toMatchObject({ grants_ended: 1 })
  expect(await app.isActive(tokens.access_token)).toBe(false)
  expect((await owner.call('GET', `/v1/clients/${app.client.id}`)).json()).toMatchObject({ unended_grants: 0 })
  expect(grantor.events.at(-1)).toMatchObject({ event: 'grants_ended', operator: owner.client.id, grants: '1' })
})
