/** Totals over all nodes, through the admin API, on the first page of the console, and on the command line. */
import { expect } from 'vitest'
import { newDatabase, run } from '../../app/run.ts'
import { adminCaller } from '../../support/admin.ts'
import { signInApp } from '../../support/app.ts'
import { test as base } from '../../support/fixtures.ts'
import { startGrantor } from '../../support/start.ts'
import { ConsoleBrowser } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

const test = base.extend('options', { admin: true })

type Totals = {
  clients: number
  grants: { number: number; kind: string }
  active_wallets: { day: number; thirty_days: number }
  sign_ins: { day: string; sign_ins: number }[]
}

// The second node opens the file of the first one.
test.skipIf(process.env.TEST_ENGINE === 'citus')(
  'GET /v1/totals counts clients, grants, active wallets and sign-ins of two nodes on one database',
  async ({ grantor }) => {
    const other = await startGrantor({ databasePath: grantor.databasePath, clock: grantor.clock })
    try {
      const owner = await adminCaller(grantor, 'owner')
      const [first, second] = [await signInApp(grantor), await signInApp(other)]
      await first.freshTokens()
      const tokens = await second.freshTokens()
      for (const node of [grantor, other]) await node.storeActivity()
      const totals = (await owner.call('GET', '/v1/totals?days=3')).json() as Totals
      // Both apps have the same wallet. The caller of the API is a client too.
      expect(totals).toMatchObject({ clients: 3, active_wallets: { day: 1, thirty_days: 1 } })
      expect(totals.grants).toEqual({ number: (await grantor.store.grants.listGrants({ limit: 100 })).length, kind: 'exact' })
      expect(totals.sign_ins.map(({ sign_ins: count }) => count)).toEqual([0, 0, 2])
      expect(totals.sign_ins.at(-1)?.day).toBe(new Date(grantor.clock.now() * 1000).toISOString().slice(0, 10))

      // A refresh keeps a wallet active without a sign-in.
      grantor.clock.advance(25 * 3600)
      await second.walk.refresh(second.client, tokens.refresh_token)
      for (const node of [grantor, other]) await node.storeActivity()
      const later = (await (await adminCaller(grantor, 'owner')).call('GET', '/v1/totals?days=1')).json() as Totals
      expect(later.active_wallets).toEqual({ day: 1, thirty_days: 1 })
    } finally {
      await other.close()
    }
  },
)

test('The first page of the console has the totals and a chart of the sign-ins', async ({ grantor }) => {
  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  await grantor.storeActivity()
  // The page reads the totals once a minute.
  grantor.clock.advance(60)
  const { body } = await browser.get('/console')
  expect(body).toMatch(/\d sign-ins? in 30 days, 1 of them today \(UTC\)/)
  expect(body).toMatch(/<path class="bars" d="M/)
})

test('grantor totals show prints the totals of the store', async () => {
  const { env } = await newDatabase()
  const { out, exit } = await run(['totals', 'show', '--days', '2'], env)
  expect(exit).toBe(0)
  expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['clients', '0'],
    ['grants', '0'],
    ['active wallets, 24 hours', '0'],
    ['active wallets, 30 days', '0'],
    ['sign-ins', '2027-01-14', '0'],
    ['sign-ins', '2027-01-15', '0'],
    [''],
  ])
  expect((await run(['totals', 'show', '--days', '401'], env)).exit).toBe(2)
})
