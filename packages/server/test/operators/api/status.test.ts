/** The state of the service over all nodes: in the admin API, on the first page of the console, and on the command line. */
import { hostname } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { launchForTest, newDatabase, run } from '../../app/run.ts'
import { adminCaller } from '../../support/admin.ts'
import { freePorts } from '../../support/free-ports.ts'
import { addressOf } from '../../support/postgres-database.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { connect } from '../../support/sql.ts'
import { type Grantor, startBeside, startGrantor, TEST_SECRET } from '../../support/start.ts'
import { ConsoleBrowser } from '../console/console-browser.ts'
import { addOperator, OWNER } from '../console/visit.ts'

type Status = {
  attention: { kind: string; subject: string; text: string; at: number; until: number | null }[]
  minutes: { at: number; requests: number | null; answers_5xx: number; answers_429: number; p50: number | null }[]
  refusals: { network: string; client_id: string | null; client: string; reason: string; requests: number }[]
  nodes: { machine: string; process_id: number; version: string; state: string; started_at: number }[]
}

/** A server for this test alone, which stops the server. */
async function startDatabase() {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  const sql = connect(server.urlOf('postgres'))
  await sql.unsafe('CREATE DATABASE status')
  await sql.end()
  return { server, url: server.urlOf('status') }
}

/** Two nodes in this process, with the clock of the test. */
async function startNodes(url: string): Promise<[Grantor, Grantor]> {
  const options = { postgres: addressOf(url), postgresClock: 'given' } as const
  const grantor = await startGrantor({ ...options, admin: true })
  const other = await startBeside(grantor, options)
  onTestFinished(async () => void (await Promise.all([grantor.close(), other.close()])))
  return [grantor, other]
}

/** Starts `grantor serve`, and kills the process after the first report. Returns the id of the process. */
async function killNode({ store }: Grantor, url: string): Promise<number> {
  const [auth = 0, login = 0] = await freePorts(2)
  const killed = launchForTest(['serve'], {
    GRANTOR_AUTH_URL: `http://localhost:${auth}`,
    GRANTOR_LOGIN_URL: `http://localhost:${login}`,
    GRANTOR_DATABASE_URL: url,
    GRANTOR_SECRET: TEST_SECRET,
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
  })
  const reported = async () => (await store.nodes.listNodes()).map(({ processId }) => processId)
  await expect.poll(reported, { timeout: 60_000 }).toContain(killed.child.pid)
  killed.child.kill('SIGKILL')
  await killed.ended()
  return killed.child.pid ?? 0
}

const requestPage = async ({ authUrl }: Grantor) => (await fetch(`${authUrl}/.well-known/openid-configuration`)).status
/** A request that needs the store. */
const requestClient = async ({ authUrl }: Grantor) =>
  (await fetch(`${authUrl}/oauth/authorize?client_id=7d0e3a26-54c6-4be0-9a8a-6f2f1c0d5e11`)).status

test('The status has the requests of all nodes, a node that was killed, and the 70 s for which the database was away', async () => {
  const { server, url } = await startDatabase()
  const nodes = await startNodes(url)
  const [grantor, other] = nodes
  const { clock } = grantor
  const processId = await killNode(grantor, url)
  for (let n = 0; n < 5; n++) await requestPage(grantor)
  for (let n = 0; n < 7; n++) await requestPage(other)
  clock.advance(60)
  for (const node of nodes) await node.report()

  await server.stop('fast')
  const away = clock.now()
  for (const node of nodes) expect(await requestClient(node)).toBe(503)
  clock.advance(70)
  for (const node of nodes) expect(await requestClient(node)).toBe(503)
  for (const node of nodes) await expect(node.report()).rejects.toThrow()
  await server.start()

  clock.advance(11)
  for (const node of nodes) await expect.poll(() => node.noticeChanges().then(() => 'works')).toBe('works')
  clock.advance(180)
  for (const node of nodes) await node.report()
  const caller = await adminCaller(grantor, 'owner')
  const status = (await caller.call('GET', '/v1/status')).json() as unknown as Status
  expect(status.attention.find(({ kind }) => kind === 'store_away')).toEqual({
    kind: 'store_away',
    subject: '',
    text: 'The store was away for 70 seconds.',
    at: away,
    until: away + 70,
  })
  expect(status.attention.find(({ kind }) => kind === 'node_silent')).toMatchObject({ subject: hostname(), until: null })
  expect(status.nodes.map(({ state, process_id: id }) => [state, id === processId])).toEqual(
    expect.arrayContaining([
      ['silent', true],
      ['running', false],
    ]),
  )
  expect(status.nodes).toHaveLength(3)
  const sumOf = (name: 'requests' | 'answers_5xx') => status.minutes.reduce((sum, minute) => sum + (minute[name] ?? 0), 0)
  expect([sumOf('requests'), sumOf('answers_5xx')]).toEqual([16, 4])

  await addOperator(grantor, OWNER, 'owner')
  const browser = new ConsoleBrowser(grantor, OWNER)
  await browser.signIn()
  const { body } = await browser.get('/console')
  const time = (at: number) => new Date(at * 1000).toISOString().slice(11, 19)
  const text = body.replaceAll(/<[^>]*>/g, '')
  expect(text).toContain(`The store was away for 70 seconds.${time(away)}–${time(away + 70)} UTC`)
  expect(text).toContain(`A process of ${hostname()} ended without a signal, or hangs.`)
  expect(text).toContain('16 requests in the last hour')
  expect(body).toContain('aria-label="4 answers 5xx and 0 answers 429 in the last hour, by minute."')

  const { out } = await run(['status', 'show'], { GRANTOR_DATABASE_URL: url }, clock.now())
  expect(out).toContain('The store was away for 70 seconds.')
  expect(out.split('\n').filter((line) => line.trim().startsWith('nodes '))).toHaveLength(3)
})

test('A node that stops after a signal is not silent, and its requests stay in the last hour', async () => {
  const grantor = await startGrantor({ admin: true })
  onTestFinished(() => grantor.close())
  const other = await startBeside(grantor)
  for (let n = 0; n < 4; n++) await requestPage(other)
  grantor.clock.advance(60)
  await other.report()
  await other.close()
  grantor.clock.advance(600)
  const caller = await adminCaller(grantor, 'owner')
  const status = (await caller.call('GET', '/v1/status')).json() as unknown as Status
  expect(status.attention).toEqual([])
  expect(status.nodes.map(({ state }) => state).sort()).toEqual(['running', 'stopped'])
  expect(status.minutes.reduce((sum, { requests }) => sum + (requests ?? 0), 0)).toBe(4)
  if (grantor.databasePath === '') return
  const { out } = await run(['status', 'show'], { GRANTOR_DATABASE_URL: `sqlite:${grantor.databasePath}` }, grantor.clock.now())
  expect(out).toContain('4 requests, 0 answers 5xx, 0 answers 429')
  expect(out.split('\n').filter((line) => line.includes('stopped'))).toHaveLength(1)
})

test('An alarm, a webhook that fails and the previous secret of a client need attention, and the texts name the records', async () => {
  const grantor = await startGrantor({ admin: true })
  onTestFinished(() => grantor.close())
  const { store, clock, deps } = grantor
  const caller = await adminCaller(grantor, 'owner')
  const client = await grantor.createClient({ name: 'Aurora Notes' })
  await caller.call('POST', `/v1/clients/${client.id}/secrets`, { overlap: 3600 })
  await caller.call('POST', '/v1/webhooks', { url: 'https://siem.example.com/secret-path', events: ['grant_ended'] })
  for (const { id } of await store.webhooks.listWebhooks())
    await store.webhooks.changeWebhook(id, (present) => ({ ...present, failingSince: clock.now() - 60 }))
  for (let n = 0; n < 2; n++) await deps.audit({ event: 'store_lost_a_write', details: { missing: 'grant' } })
  await grantor.report()
  const { attention } = (await caller.call('GET', '/v1/status')).json() as unknown as Status
  expect(attention.map(({ kind, text }) => [kind, text])).toEqual([
    ['secret_ends', 'The previous secret of Aurora Notes ends.'],
    ['webhook_failing', 'The webhook to siem.example.com fails.'],
    ['alarm', 'The database lost an acknowledged write. 2 times.'],
  ])
})

test('The number of requests does not change the number of writes: a thousand refused requests in a minute are in one row', async () => {
  const grantor = await startGrantor({ admin: true })
  onTestFinished(() => grantor.close())
  await grantor.report()
  const [before] = await grantor.store.nodes.listNodes()
  for (let n = 0; n < 1000; n++) await grantor.authServer.inject({ url: '/oauth/authorize?client_id=unknown' })
  await grantor.report()
  expect(await grantor.store.nodes.listNodes()).toEqual([before])
  grantor.clock.advance(60)
  await grantor.report()
  expect(await grantor.store.nodes.listNodes()).toMatchObject([{ minutes: [{ requests: 1000 }], refused: [{ count: 1000 }] }])
})

test('grantor status show on a new database names no node and nothing that needs attention', async () => {
  const { env } = await newDatabase()
  const { out, exit } = await run(['status', 'show'], env)
  expect(exit).toBe(0)
  expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['attention', 'nothing'],
    ['last hour', '0 requests, 0 answers 5xx, 0 answers 429'],
    ['refused', 'none'],
    ['nodes', 'none'],
    [''],
  ])
})
