/** Finding a wallet by its ENS name: with names on, and two endpoints that must agree. */
import { expect } from 'vitest'
import { adminCaller } from '../../support/admin.ts'
import { ensTest } from '../../support/ens.ts'
import { FILE } from '../../support/fixtures.ts'
import { owner } from '../../support/wallet-contracts.ts'
import { ConsoleBrowser } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

const test = ensTest.extend('options', FILE, ({ chain, beside }) => ({
  admin: true,
  chains: [{ chainId: 1, name: 'Ethereum', rpc: [chain.url, beside.url], home: true }],
  ensNames: true,
}))

const { address: alice } = owner('alice')

test('With names on, an ENS name leads to its wallet in the admin API and in the console; a failing endpoint is no answer', async ({
  grantor,
  ens,
  beside,
}) => {
  await ens.setAddress('alice.eth', alice)
  const auditor = await adminCaller(grantor, 'auditor')
  const find = (name: string) => auditor.call('GET', `/v1/wallets?search=${name}`)
  expect((await find('Alice.eth')).json()).toEqual({ items: [{ wallet: alice }], next: null })
  expect((await find('nobody.eth')).json()).toEqual({ items: [], next: null })
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const found = (await browser.get('/console/wallet?wallet=alice.eth')).body
  expect(found).toContain('or an ENS name')
  expect(found).toContain(`href="/console/wallet?wallet=${alice}"`)
  beside.setFault('cut')
  expect(await find('alice.eth')).toMatchObject({ status: 409, body: expect.stringContaining('could not be looked up') })
  expect((await browser.get('/console/wallet?wallet=alice.eth')).body).toContain('could not be looked up')
})
