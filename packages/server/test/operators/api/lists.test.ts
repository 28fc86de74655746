/** Lists of the admin API that are sorted, filtered, searched and read in both directions, and the command line over the same operations. */
import { expect } from 'vitest'
import { shortenAddress } from '../../../src/protocol/wallet/address.ts'
import { newDatabase, run } from '../../app/run.ts'
import { adminCaller } from '../../support/admin.ts'
import { signInApp } from '../../support/app.ts'
import { test as base, FILE } from '../../support/fixtures.ts'
import { ConsoleBrowser } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

const test = base.extend('options', { admin: true }).extend('owner', FILE, ({ grantor }) => adminCaller(grantor, 'owner'))

type Listed = {
  items: { name: string; [member: string]: unknown }[]
  next: string | null
  previous: string | null
  total: { number: number; kind: string }
}

test('GET /v1/clients takes the search, the order and the filters of its query, and cursors in both directions', async ({
  grantor,
  owner,
}) => {
  const list = async (query: string) => (await owner.call('GET', `/v1/clients?${query}`)).json() as Listed
  const names = ({ items }: Listed) => items.map(({ name }) => name)
  for (const name of ['delta app', 'Bravo app', 'charlie app']) await grantor.createClient({ name })
  const sorted = ['Bravo app', 'charlie app', 'delta app']
  expect(names(await list('search=APP&sort=name&order=descending&type=confidential'))).toEqual(sorted.toReversed())
  const first = await list('search=app&sort=name&limit=2')
  expect(first).toMatchObject({ previous: null, total: { number: 3, kind: 'exact' } })
  const second = await list(`search=app&sort=name&limit=2&after=${first.next}`)
  expect(names(second)).toEqual(sorted.slice(2))
  expect((await list(`search=app&sort=name&limit=2&before=${second.previous}`)).items).toEqual(first.items)
  expect((await owner.call('GET', `/v1/clients?after=${first.next}&before=${second.previous}`)).status).toBe(422)
  expect((await owner.call('GET', '/v1/clients?sort=secrets')).status).toBe(422)
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
  'A job is listed, watched and stopped by the API, by grantor jobs and by the console alike',
  async ({ grantor, owner }) => {
    const { client } = await signInApp(grantor)
    const start = async () =>
      (await owner.call('POST', '/v1/grants/end-matching', { client_id: client.id, scope: 'enhancement' })).json() as {
        job_id: string
      }
    const { job_id: id } = await start()
    const env = { GRANTOR_DATABASE_URL: `sqlite:${grantor.databasePath}` }
    const at = grantor.clock.now()
    expect((await run(['jobs', 'list'], env, at)).out).toMatch(new RegExp(`${id} +end_matching_grants .* under way`))
    expect((await run(['jobs', 'stop', id], env, at)).out).toContain('Stopped after 0 grants.')
    expect((await run(['jobs', 'watch', id], env, at)).out).toContain('0 grants ended in all: stopped.')
    await grantor.workOnJobs()
    expect((await owner.call('GET', `/v1/jobs/${id}`)).json()).toMatchObject({
      grants_ended: 0,
      stopped_by: expect.stringMatching(/^cli:/),
    })
    const second = await start()
    const path = `/console/jobs/${second.job_id}`
    await addOperator(grantor, OWNER, 'owner')
    const browser = new ConsoleBrowser(grantor, OWNER)
    await browser.signIn()
    expect((await browser.get(path)).body).toContain(`href="${path}/stop"`)
    const { body } = await browser.post(`${path}/stop`, { ...(await browser.fieldsAt(`${path}/stop`)), confirmed: 'yes' })
    expect(body).toContain('was stopped')
    expect(body).not.toContain(`${path}/stop`)
    expect(grantor.events.findLast(({ event }) => event === 'job_stopped')).toMatchObject({
      operator: shortenAddress(OWNER.address),
      kind: 'end_matching_grants',
    })
    expect((await owner.call('POST', `/v1/jobs/${second.job_id}/stop`)).json()).toMatchObject({ stopped_by: OWNER.address })
    expect((await owner.call('POST', '/v1/jobs/0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20/stop')).status).toBe(404)
  },
)

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
