/** The account page of a wallet with many apps, sessions and receipts: pagination by links, without script. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { NewGrant } from '../../../../src/domain/model/request-store.ts'
import type { Address } from '../../../../src/protocol/wallet/address.ts'
import { newGrant, someReceipt, someSession } from '../../../store/contract/subject.ts'
import type { App } from '../../../support/app.ts'
import { signInToAccount, startSignedApp, vouchFor } from '../../../support/signed-app.ts'
import { type Answer, requestOf, Walk } from '../../../support/walk.ts'
import { testWallet } from '../../../support/wallet.ts'

const DAY = 86_400

let app: App
let wallet: Address
beforeEach(async () => {
  app = await startSignedApp()
  wallet = app.walk.wallet.address as Address
  await signInToAccount(app.walk)
})
afterEach(() => app.close())

const now = () => app.grantor.clock.now()

/** Stores a grant of the wallet that is in force, as a code exchange would. */
async function allow(grant: Partial<NewGrant> = {}, at = now()): Promise<NewGrant> {
  const times = { expiresAt: now() + 30 * DAY, refreshExpiresAt: now() + 14 * DAY }
  const born = newGrant({ wallet, scopes: ['enhancement'], ...times, ...grant })
  await app.grantor.store.grants.redeemCode(born, randomUUID(), at)
  return born
}

const sign = (clientId: string, issuedAt: number) => {
  const receipt = someReceipt({ wallet, clientId, issuedAt, expiresAt: now() + 30 * DAY })
  return app.grantor.store.receipts.insertReceipt(receipt, 0).then(() => receipt)
}

const clientsOn = ({ body }: Answer) => [...body.matchAll(/name="client_id" value="([^"]+)"/g)].map(([, id = '']) => id)
const sessionsOn = ({ body }: Answer) => [...body.matchAll(/name="session" value="([^"]+)"/g)].map(([, handle = '']) => handle)
const receiptsOn = ({ body }: Answer) =>
  [...body.matchAll(/href="\/account\/receipts\/([0-9a-f-]{36})"/g)].map(([, id = '']) => id)

/** The address of a page's link to the next page, or '' if there is no link. */
const linkOn = ({ body }: Answer, label: string) =>
  new RegExp(`<a href="(/account\\?page=[^"]+)"[^>]*>${label}</a>`).exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''

/** The first page and every page after it, found by the links with this label. */
async function pagesBy(label: string, walk = app.walk, path = '/account'): Promise<Answer[]> {
  const pages = [await walk.browse({ path })]
  for (let next = linkOn(pages[0] as Answer, label); next !== ''; ) {
    const page = await walk.browse({ path: next })
    expect(page.status).toBe(200)
    pages.push(page)
    next = linkOn(page, label)
  }
  return pages
}

test('The account page lists fifty apps per page, each app once, and its links lead to every app', async () => {
  const clients = Array.from({ length: 120 }, () => randomUUID())
  for (const clientId of clients) await allow({ clientId })
  const signed = randomUUID()
  await sign(signed, now())
  const pages = await pagesBy('More apps')
  expect(pages.map((page) => clientsOn(page).length)).toEqual([50, 50, 21])
  expect(pages.flatMap(clientsOn).sort()).toEqual([...clients, signed].sort())
  const [first, second] = pages as [Answer, Answer]
  expect(first.body).toContain('id="sessions-title"')
  expect(second.body).not.toContain('id="sessions-title"')
  expect(second.body).toContain('<a href="/account" id="back">')
})

test('The account page shows all permissions and dates of an app, even if its grants are far apart among those of other apps', async () => {
  const [heavy, light] = [randomUUID(), randomUUID()]
  for (let index = 0; index < 260; index++) {
    const clientId = index % 2 === 0 ? heavy : light
    const oldest = index === 0 ? { scopes: ['profile'], expiresAt: now() + 40 * DAY } : {}
    await allow({ clientId, ...oldest }, now() - 300 + index)
  }
  for (let index = 0; index < 300; index++) await allow({ clientId: randomUUID() })
  const pages = await pagesBy('More apps')
  const shown = pages.flatMap(clientsOn)
  expect(new Set(shown).size, 'lists each app once').toBe(shown.length)
  expect(shown).toHaveLength(302)
  const page = pages.find((each) => clientsOn(each).includes(heavy))
  const slip = page?.body.split('<tbody>').find((each) => each.includes(heavy)) ?? ''
  expect(slip).toContain('See your profile')
  expect(slip).toContain(new Date((now() - 300) * 1000).toISOString())
  expect(slip).toContain(new Date((now() + 40 * DAY) * 1000).toISOString())
})

test('The account page lists an app that still has access, even behind 600 expired grants', async () => {
  const clientId = randomUUID()
  await allow({ clientId })
  const over = Array.from({ length: 600 }, () => allow({ clientId: '~', refreshExpiresAt: now() - 1 }))
  await Promise.all(over)
  expect((await pagesBy('More apps')).flatMap(clientsOn)).toEqual([clientId])
})

test('The account page lists fifty sessions per page, and its buttons can end a session on any page', async () => {
  const hashes: string[] = []
  for (let index = 0; index < 120; index++) {
    const at = now() - Math.floor(index / 7)
    const session = someSession({ wallet, authTime: at, lastSeenAt: at, expiresAt: now() + DAY })
    await app.grantor.store.sessions.startSession(session, randomUUID())
    hashes.push(session.hash)
  }
  const pages = await pagesBy('Earlier sign-ins')
  expect(pages).toHaveLength(3)
  const handles = pages.flatMap(sessionsOn)
  expect(handles.toSorted()).toEqual(hashes.map((hash) => hash.slice(0, 16)).sort())
  expect(clientsOn(pages[1] as Answer)).toEqual([])
  const last = handles.at(-1) ?? ''
  const place = { at: '19', cursor: /name="cursor" value="([^"]+)"/.exec(pages[2]?.body ?? '')?.[1] ?? '' }
  const ended = await app.walk.postForm('/account/sessions/end', { session: handles.at(-2) ?? '', ...place })
  const shown = await app.walk.browse({ path: ended.location.replace('#done', '') })
  expect(sessionsOn(shown), 'the page on which the session was listed').toEqual(
    sessionsOn(pages[2] as Answer).filter((handle) => handle !== handles.at(-2)),
  )
  expect(shown.body.indexOf('id="done"')).toBeGreaterThan(shown.body.indexOf(String(handles.at(-3))))
  expect((await app.walk.postForm('/account/sessions/end', { session: last })).location).toBe('/account?done=session_ended#done')
  expect((await pagesBy('Earlier sign-ins')).flatMap(sessionsOn)).not.toContain(last)
  await app.walk.postForm('/account/sessions/end-others', {})
  expect((await pagesBy('Earlier sign-ins')).flatMap(sessionsOn)).toEqual([])
})

test('The receipts of an app are listed fifty at a time, those in force before those withdrawn, the newest first, and links lead to all', async () => {
  const [clientId, other] = [randomUUID(), randomUUID()]
  await sign(other, now())
  const receipts: string[] = []
  for (let index = 0; index < 120; index++) receipts.unshift((await sign(clientId, now() - 500 + index)).id)
  // Withdrawn receipts come last.
  const withdrawn = receipts.splice(5, 60)
  await app.grantor.store.receipts.withdrawReceipts(wallet, withdrawn, now())
  receipts.push(...withdrawn)
  const pages = await pagesBy('Older receipts')
  expect(pages).toHaveLength(3)
  expect(pages.slice(1).map(clientsOn)).toEqual([[clientId], [clientId]])
  expect(pages.map(({ body }) => body.includes('<details class="fold" open>'))).toEqual([false, true, true])
  expect(pages.flatMap(receiptsOn).filter((id) => receipts.includes(id))).toEqual(receipts)
  // If the app is ended in the meantime, the page of its older receipts no longer lists it.
  const older = linkOn(pages[0] as Answer, 'Older receipts')
  await app.walk.postForm('/account/apps/end', { client_id: clientId })
  expect(clientsOn(await app.walk.browse({ path: older }))).toEqual([])
})

test('The receipts of ended apps are listed fifty at a time, and those of an app that still has access are with that app', async () => {
  const [connected, ...ended] = Array.from({ length: 4 }, () => randomUUID()) as [string, ...string[]]
  const signed: Record<string, string[]> = {}
  for (const clientId of [connected, ...ended]) {
    signed[clientId] = []
    for (let index = 0; index < 30; index++) signed[clientId].push((await sign(clientId, now() - 500 + index)).id)
    await app.grantor.store.receipts.withdrawReceipts(wallet, signed[clientId], now())
  }
  await allow({ clientId: connected })
  const endedOn = (page: Answer) => {
    const [, part = ''] = /aria-labelledby="ended-title">([^]*?)<\/section>/.exec(page.body) ?? []
    return receiptsOn({ ...page, body: part })
  }
  const linkOnEnded = ({ body }: Answer) =>
    /<a href="(\/account\?page=[^"]+)" id="more-ended"/.exec(body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const pages = [await app.walk.browse({ path: '/account' })]
  for (let next = linkOnEnded(pages[0] as Answer); next !== ''; next = linkOnEnded(pages.at(-1) as Answer))
    pages.push(await app.walk.browse({ path: next }))
  expect(pages).toHaveLength(3)
  expect(pages.slice(1).map(({ body }) => body.includes('id="sessions-title"') || body.includes('id="apps-title"'))).toEqual([
    false,
    false,
  ])
  expect(pages.flatMap(endedOn).toSorted()).toEqual(ended.flatMap((clientId) => signed[clientId] ?? []).toSorted())
  const slip = (pages[0] as Answer).body.split('</tbody>').find((each) => each.includes(connected)) ?? ''
  expect(receiptsOn({ ...(pages[0] as Answer), body: slip })).toHaveLength(30)
})

test('A page cursor of the account page is sealed and names no wallet; with a changed or foreign cursor the first page is shown', async () => {
  for (let index = 0; index < 60; index++) await allow()
  const first = await app.walk.browse({ path: '/account' })
  const next = linkOn(first, 'More apps')
  expect(Buffer.from(next.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toMatch(new RegExp(wallet.slice(2, 12), 'i'))
  const expected = clientsOn(first)
  const stranger = new Walk(app.grantor, testWallet(1))
  await signInToAccount(stranger)
  expect(clientsOn(await stranger.browse({ path: next }))).toEqual([])
  expect((await stranger.browse({ path: next })).body).toContain('id="no-apps"')
  const changed = [
    next.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    next.replace('page=', 'page=x'),
    '/account?page=',
    '/account?page=grc.0123456789.AAAA',
    `/account?page=${'a'.repeat(8000)}`,
    `${next}&page=x`,
    '/account?page[]=x',
    "/account?page=' OR 1=1 --",
  ]
  for (const path of changed) {
    const page = await app.walk.browse({ path: encodeURI(decodeURI(path)) })
    expect([path.slice(0, 40), page.status, clientsOn(page)]).toEqual([path.slice(0, 40), 200, expected])
  }
})

test('A session that the login server vouched for sees no receipts, even through a page link of a session that signed', async () => {
  const clientId = randomUUID()
  for (let index = 0; index < 60; index++) await sign(clientId, now() - index)
  await allow({ clientId })
  const older = linkOn(await app.walk.browse({ path: '/account' }), 'Older receipts')
  expect(receiptsOn(await app.walk.browse({ path: older }))).toHaveLength(10)
  const client = await app.grantor.createClient()
  const vouched = new Walk(app.grantor)
  await vouchFor(vouched, client)
  await vouched.authorize(requestOf(client))
  const page = await vouched.browse({ path: older })
  expect([clientsOn(page), receiptsOn(page)]).toEqual([[clientId], []])
})
