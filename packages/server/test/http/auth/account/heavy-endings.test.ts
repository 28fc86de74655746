/** The ending of a wallet with more grants than one request ends: the request says that the work is under way, and a job ends the others. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ENDED_AT_ONCE } from '../../../../src/domain/consent/end-grants.ts'
import type { Address } from '../../../../src/protocol/wallet/address.ts'
import { newGrant } from '../../../store/contract/subject.ts'
import { adminCaller } from '../../../support/admin.ts'
import { type App, startApp, tokensOf } from '../../../support/app.ts'
import { endEverything } from '../../../support/signed-app.ts'
import type { Grantor } from '../../../support/start.ts'
import { noticeOf, requestOf, Walk } from '../../../support/walk.ts'

/** One page of grants more than a request ends, besides those of the app. */
const MANY = ENDED_AT_ONCE + 60

let app: App
let grantor: Grantor
let wallet: Address

beforeEach(async () => {
  app = await startApp({ admin: true })
  ;({ grantor } = app)
  wallet = app.walk.wallet.address as Address
  const at = grantor.clock.now()
  const of = { wallet, expiresAt: at + 86_400, refreshExpiresAt: at + 86_400 }
  for (const clientId of [app.client.id, `${app.client.id}-other`])
    await Promise.all(
      Array.from({ length: MANY }, () => grantor.store.grants.redeemCode(newGrant({ ...of, clientId }), randomUUID(), at)),
    )
})
afterEach(() => app.close())

const countUnended = () => grantor.store.grants.countUnendedGrants({ wallet }, 10_000)

test('Ending everything for a wallet with very many grants leads to a page that says that the work is under way, until a job has ended all', async () => {
  const walk = new Walk(grantor)
  const answer = await endEverything(walk)
  expect([answer.status, answer.location]).toEqual([303, expect.stringContaining('/account/ending?job=')])
  const path = answer.location.slice(grantor.authUrl.length)
  const page = await walk.browse({ path })
  expect(noticeOf(page)).toBe('ending_under_way')
  expect(page.body).toContain('1,000 grants')
  expect(await countUnended()).toBe(2 * MANY - ENDED_AT_ONCE)
  expect((await app.walk.browse({ path: '/account' })).status, 'the sessions have ended').toBe(302)

  await grantor.workOnEndings()
  expect(await countUnended()).toBe(0)
  expect(noticeOf(await walk.browse({ path }))).toBe('ending_done')
  expect(
    grantor.events.filter(({ event }) => /^(everything|grants)_ended$/.test(event)).map(({ event, reason }) => [event, reason]),
  ).toEqual([
    ['everything_ended', undefined],
    ['grants_ended', 'user'],
  ])
  expect((await walk.browse({ path: `${path}x` })).status).toBe(404)
})

test('A grant that the user allows while a job ends the earlier grants of the wallet stays valid', async () => {
  await endEverything(new Walk(grantor))
  const walk = new Walk(grantor)
  const { code } = await walk.signIn(requestOf(app.client))
  const tokens = tokensOf(await walk.exchange(app.client, code))
  await grantor.workOnEndings()
  expect(await countUnended()).toBe(1)
  expect(await app.isActive(tokens.access_token)).toBe(true)
  expect((await walk.refresh(app.client, tokens.refresh_token)).status).toBe(200)
})

test('An ending that is repeated while it is under way also ends what was allowed since', async () => {
  await endEverything(new Walk(grantor))
  const walk = new Walk(grantor)
  const { code } = await walk.signIn(requestOf(app.client))
  const tokens = tokensOf(await walk.exchange(app.client, code))
  const { grants } = grantor.store
  const endGrants = grants.endGrants.bind(grants)
  // The job has begun with the first ending when the second one comes.
  grants.endGrants = async (...ending) => {
    grants.endGrants = endGrants
    await endEverything(new Walk(grantor))
    return endGrants(...ending)
  }
  await grantor.workOnEndings()
  await grantor.workOnEndings()
  expect(await app.isActive(tokens.access_token)).toBe(false)
  expect(await countUnended()).toBe(0)
  expect((await grantor.store.lists.readList('endings')).map(({ doneAt }) => doneAt)).not.toContain(null)
})

test('Ending an app with very many grants leads to the same page, and the other apps of the wallet stay', async () => {
  const answer = await app.walk.postForm('/account/apps/end', { client_id: app.client.id })
  expect([answer.status, answer.location]).toEqual([303, expect.stringMatching(/\/account\/ending\?job=/)])
  await grantor.workOnEndings()
  expect(await countUnended()).toBe(MANY)
})

test('The admin API answers an ending of very many grants with 202 and the job, and with 200 if all have ended', async () => {
  const owner = await adminCaller(grantor, 'owner')
  const answer = await owner.call('POST', '/v1/grants/end', { wallet: wallet })
  expect(answer.status).toBe(202)
  const job = answer.json()
  expect(job).toMatchObject({ kind: 'end_grants_of_wallet', wallet: wallet, client_id: '', grants_ended: 1000, done_at: null })
  expect(answer.headers.location).toBe(`/v1/jobs/${String(job.job_id)}`)
  expect((await owner.call('GET', '/v1/jobs')).json()).toMatchObject({ items: [{ job_id: job.job_id }] })
  await grantor.workOnEndings()
  const done = (await owner.call('GET', `/v1/jobs/${String(job.job_id)}`)).json()
  expect(done).toMatchObject({ grants_ended: 2 * MANY, done_at: grantor.clock.now() })
  expect((await owner.call('POST', '/v1/grants/end', { wallet: wallet })).json()).toEqual({ grants_ended: 0 })
})

test('If too many endings are under way, the request itself ends all grants', async () => {
  const ofWallet = { epoch: 1, reason: 'user' } as const
  for (let number = 0; number < 50; number++)
    await grantor.deps.endings.add(
      { ...ofWallet, wallet: `0x${String(number).padStart(40, '0')}`, clientId: '', startedBy: '', grantsEnded: 0 },
      grantor.clock.now(),
    )
  const owner = await adminCaller(grantor, 'owner')
  const answer = await owner.call('POST', '/v1/grants/end', { wallet: wallet })
  expect([answer.status, answer.json()]).toEqual([200, { grants_ended: 2 * MANY }])
  expect(await countUnended()).toBe(0)
})
