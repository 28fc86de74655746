/** Finding wallets, and the refused sign-ins of a wallet, through the admin API and the console. */
import { expect } from 'vitest'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { adminCaller } from '../../support/admin.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import type { Grantor } from '../../support/start.ts'
import { requestOf, Walk } from '../../support/walk.ts'
import { testWallet } from '../../support/wallet.ts'
import { ConsoleBrowser } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

const WALLET = testWallet(1)

/** Sends a proof for the wallet whose signature is of another wallet. */
async function forge(grantor: Grantor, clientIp: string): Promise<void> {
  const walk = new Walk(grantor)
  walk.clientIp = clientIp
  const client = await grantor.createClient()
  const proof = await walk.proof(await walk.challenge(requestOf(client)), WALLET)
  const forged = { ...proof, signature: testWallet(2).sign('something else') }
  expect((await walk.loginApi('/login/accept', forged)).status).toBe(401)
}

test('Wallets are found by the beginning of their address, page by page, and an auditor may search', async ({ grantor }) => {
  const auditor = await adminCaller(grantor, 'auditor')
  const ends = ['a', 'b', 'c'].map((end) => `0xbeef${end.repeat(36)}` as const)
  for (const wallet of ends) await grantor.store.wallets.rememberProof(wallet)
  const first = await auditor.call('GET', '/v1/wallets?search=0xBEEF&limit=2')
  expect(first.json()).toEqual({ items: ends.slice(0, 2).map((wallet) => ({ wallet })), next: expect.any(String) })
  const second = await auditor.call('GET', `/v1/wallets?search=0xBEEF&limit=2&after=${String(first.json().next)}`)
  expect(second.json()).toEqual({ items: [{ wallet: ends[2] }], next: null })
  expect((await auditor.call('GET', '/v1/wallets?search=0xbee')).status).toBe(422)
  const named = await auditor.call('GET', '/v1/wallets?search=alice.eth')
  expect([named.status, named.body]).toEqual([409, expect.stringContaining('GRANTOR_ENS_NAMES')])
})

test('The reasons for which sign-ins of a wallet were refused are read by its address, with their network and number', async ({
  grantor,
  owner,
}) => {
  for (const ip of ['203.0.113.7', '203.0.113.9', '198.51.100.1']) await forge(grantor, ip)
  const read = await owner.call('GET', `/v1/wallets/${WALLET.address.toLowerCase()}`)
  const at = grantor.clock.at
  expect(read.json()).toEqual({
    wallet: WALLET.address,
    refused_sign_ins: expect.arrayContaining([
      { at, reason: 'signature_of_another', network: '203.0.113', count: 2 },
      { at, reason: 'signature_of_another', network: '198.51.100', count: 1 },
    ]),
    refused_since: expect.any(Number),
  })
  expect((await owner.call('GET', `/v1/wallets/${testWallet(2).address}`)).json()).toMatchObject({ refused_sign_ins: [] })
  expect((await owner.call('GET', '/v1/wallets/0x12')).status).toBe(422)
  expect(JSON.stringify(grantor.events)).not.toContain(WALLET.address)
})

test('The console finds a wallet by the beginning of its address, and its page has the refused sign-ins', async ({ grantor }) => {
  await addOperator(grantor, OWNER, 'owner')
  await forge(grantor, '203.0.113.7')
  await grantor.store.wallets.rememberProof(WALLET.address as Address)
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const found = await browser.get(`/console/wallet?wallet=${WALLET.address.slice(0, 8)}`)
  expect(found.body).toContain(`href="/console/wallet?wallet=${WALLET.address}"`)
  const page = (await browser.get(`/console/wallet?wallet=${WALLET.address}`)).body
  expect(page).toContain('Refused sign-ins of the last day')
  expect(page).toContain('signature_of_another')
  expect((await browser.get('/console/wallet?wallet=0x12')).body).toContain('Enter 0x and at least 4 hexadecimal digits')
  expect((await browser.get(`/console/wallet?wallet=${WALLET.address.replace(/[a-f]/, (c) => c.toUpperCase())}`)).body).toContain(
    'wrong checksum',
  )
  expect((await browser.get('/console/wallet?wallet=%3Cscript%3E.eth')).body).not.toContain('<script>.eth')
})
