/** Lists of the admin API that are sorted, filtered, searched and read in both directions, and the command line over the same operations. */
import { expect } from 'vitest'
import { newDatabase, run } from '../cli/run.ts'
import { connectApp } from '../flows/account-visit.ts'
import { adminCaller } from '../support/admin.ts'
import { signInApp } from '../support/app.ts'
import { test as base, FILE } from '../support/fixtures.ts'
import { testWallet } from '../support/wallet.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

type Listed = {
  items: { name: string; [member: string]: unknown }[]
  next: string | null
  previous: string | null
  total: { number: number; kind: string }
}

test('GET /v1/clients sorts, filters and searches clients, counts them, and pages in both directions', async ({
  grantor,
  owner,
}) => {
  const list = async (query: string) => (await owner.call('GET', `/v1/clients?${query}`)).json() as Listed
  const names = async (query: string) => (await list(query)).items.map(({ name }) => name)
  for (const name of ['delta app', 'Bravo app', 'אפליקציה app', 'charlie app']) await grantor.createClient({ name })
  const native = await grantor.createClient({
    name: 'Alpha app',
    type: 'native',
    consent: 'signed',
    redirectUris: ['net.example:/callback'],
  })
  const sorted = ['Alpha app', 'Bravo app', 'charlie app', 'delta app', 'אפליקציה app']
  expect(await names('search=APP&sort=name')).toEqual(sorted)
  expect(await names('search=app&sort=name&order=descending')).toEqual(sorted.toReversed())
  expect(await names('type=native')).toEqual(['Alpha app'])
  await owner.call('PATCH', `/v1/clients/${native.id}`, { disabled: true })
  expect(await names('state=disabled')).toEqual(['Alpha app'])
  expect(await names('search=app&state=enabled&sort=name')).toEqual(sorted.slice(1))

  const first = await list('search=app&sort=name&limit=2')
  expect(first).toMatchObject({ previous: null, total: { number: 5, kind: 'exact' } })
  const second = await list(`search=app&sort=name&limit=2&after=${first.next}`)
  expect(second.items.map(({ name }) => name)).toEqual(sorted.slice(2, 4))
  const back = await list(`search=app&sort=name&limit=2&before=${second.previous}`)
  expect(back.items).toEqual(first.items)
  expect(back.previous).toBeNull()
  expect((await owner.call('GET', `/v1/clients?after=${first.next}&before=${second.previous}`)).status).toBe(422)
  expect((await owner.call('GET', '/v1/clients?sort=secrets')).status).toBe(422)

  // In the order of the ids, the store itself is read.
  const byId = await list('limit=3')
  expect(byId.total).toEqual({ number: await grantor.store.clients.countClients(), kind: 'exact' })
  const next = await list(`limit=3&after=${byId.next}`)
  expect((await list(`limit=3&before=${next.previous}`)).items).toEqual(byId.items)
})

test('GET /v1/resources, /v1/webhooks and /v1/operators are sorted and searched', async ({ owner }) => {
  for (const name of ['Zeta', 'alpha'])
    await owner.call('POST', '/v1/resources', {
      resource: `https://${name.toLowerCase()}.example.com/`,
      name,
      scopes: [{ name: 'read', description: 'read it' }],
    })
  const names = async (query: string) =>
    ((await owner.call('GET', `/v1/resources?${query}`)).json() as Listed).items.map(({ name }) => name)
  expect(await names('sort=name')).toEqual(['alpha', 'Zeta'])
  expect(await names('sort=name&order=descending')).toEqual(['Zeta', 'alpha'])
  expect(await names('search=ZETA')).toEqual(['Zeta'])
  for (const host of ['b', 'a']) await owner.call('POST', '/v1/webhooks', { url: `https://${host}.example.com/` })
  const webhooks = (await owner.call('GET', '/v1/webhooks?sort=url&search=example')).json() as Listed
  expect(webhooks.items.map(({ url }) => url)).toEqual(['https://a.example.com/', 'https://b.example.com/'])
  const operators = (await owner.call('GET', `/v1/operators?search=${owner.client.id}`)).json() as Listed
  expect(operators.items).toHaveLength(1)
})

test('GET /v1/sessions without a wallet lists the sessions of all wallets in both directions, and counts them', async ({
  grantor,
  owner,
}) => {
  const client = await grantor.createClient()
  for (const number of [0, 1, 2] as const) {
    await connectApp(grantor, client, testWallet(number))
    grantor.clock.advance(1)
  }
  const list = async (query: string) => (await owner.call('GET', `/v1/sessions?${query}`)).json() as Listed
  const wallets = ({ items }: Listed) => items.map(({ wallet }) => wallet)
  const newest = ([2, 1, 0] as const).map((number) => testWallet(number).address)
  const all = await list('')
  expect(wallets(all).slice(0, 3)).toEqual(newest)
  expect(all.total).toEqual({ number: all.items.length, kind: 'exact' })
  expect(wallets(await list('order=oldest'))).toEqual(wallets(all).toReversed())
  const first = await list('limit=1')
  const second = await list(`limit=1&after=${first.next}`)
  expect(wallets(second)).toEqual([newest[1]])
  expect(wallets(await list(`limit=1&before=${second.previous}`))).toEqual([newest[0]])
})

test('POST /v1/grants/end-matching ends exactly the grants that match, in a job', async ({ grantor, owner }) => {
  const app = await signInApp(grantor)
  const scope = (name: string) => ({ scope: name })
  const [old, kept] = [await app.freshTokens(scope('enhancement')), await app.freshTokens(scope('profile'))]
  grantor.clock.advance(100)
  const young = await app.freshTokens(scope('enhancement'))
  const before = grantor.clock.now() - 50
  const given = { client_id: app.client.id, scope: 'enhancement', created_before: before }
  const started = await owner.call('POST', '/v1/grants/end-matching', given)
  expect(started.status).toBe(202)
  const job = started.json() as { job_id: string }
  await grantor.workOnJobs()
  expect((await owner.call('GET', `/v1/jobs/${job.job_id}`)).json()).toMatchObject({
    ...given,
    kind: 'end_matching_grants',
    grants_ended: 1,
  })
  const areActive = [
    await app.isActive(old.access_token),
    await app.isActive(kept.access_token),
    await app.isActive(young.access_token),
  ]
  expect(areActive).toEqual([false, true, true])
  const act = grantor.events.findLast(({ event }) => event === 'grants_ended')
  expect(act).toMatchObject({ client_id: app.client.id, scope: 'enhancement', grants: '1' })

  expect((await owner.call('POST', '/v1/grants/end-matching', {})).status).toBe(422)
  const reader = await adminCaller(grantor, 'owner', ['admin.read'])
  expect((await reader.call('POST', '/v1/grants/end-matching', given)).status).toBe(403)
})

// The command opens the file of the service.
test.skipIf(process.env.TEST_ENGINE === 'citus')(
  'grantor grants end-matching counts the grants in its question and ends them at once, also those of all clients',
  async ({ grantor }) => {
    const app = await signInApp(grantor)
    await app.freshTokens({ scope: 'profile' })
    const env = { GRANTOR_DATABASE_URL: `sqlite:${grantor.databasePath}` }
    const at = grantor.clock.now()
    const argv = ['grants', 'end-matching', '--scope', 'profile', '--client', app.client.id]
    const asked = await run(argv, env, at, async () => 'no')
    expect(asked.out).toContain('It ends 1 grant of MyApp.')
    expect(asked.exit).toBe(1)
    const all = await run(['grants', 'end-matching', '--scope', 'profile', '--yes', '--json'], env, at + 1)
    expect((JSON.parse(all.out) as { grants_ended: number }).grants_ended).toBeGreaterThanOrEqual(1)
    expect(await grantor.store.grants.countUnendedGrants({ clientId: app.client.id }, 10)).toBe(0)
    expect((await run(['grants', 'end-matching', '--yes'], env, at)).exit).toBe(2)
  },
)

test('grantor clients list takes the same order, search and filters', async () => {
  const { env } = await newDatabase()
  for (const name of ['Mnop', 'Klm', 'Opq'])
    await run(['clients', 'create', '--name', name, '--redirect-uri', 'https://a.example.net/'], env)
  const { out } = await run(['clients', 'list', '--sort', 'name', '--order', 'descending', '--json'], env)
  expect((JSON.parse(out) as { name: string }[]).map(({ name }) => name)).toEqual(['Opq', 'Mnop', 'Klm'])
  const found = await run(['clients', 'list', '--search', 'KLM', '--json'], env)
  expect(JSON.parse(found.out)).toHaveLength(1)
  expect((await run(['clients', 'list', '--state', 'gone'], env)).exit).toBe(2)
})
