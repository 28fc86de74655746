/** The commands of docs/operating/recover.md that dump and restore a database, on a Citus cluster and between Citus and plain PostgreSQL. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { newFolder, run } from '../app/run.ts'
import { startApp } from '../support/app.ts'
import { machineIn } from '../support/operations-page.ts'
import { addressOf } from '../support/postgres.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { hangUp } from '../support/send.ts'
import { startGrantor, TEST_SECRET } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { type Cluster, startCluster, using } from './cluster.ts'

const BIN = process.env.TEST_CITUS_PG_BIN ?? ''

let cluster: Cluster
let plain: PostgresServer
beforeAll(async () => {
  ;[cluster, plain] = await Promise.all([startCluster(2), startPostgres({}, BIN)])
})
afterAll(() => Promise.all([cluster.close(), plain.remove()]))

test.for([
  { from: 'Citus', to: 'Citus' },
  { from: 'Citus', to: 'PostgreSQL' },
  { from: 'PostgreSQL', to: 'Citus' },
])(
  'A dump from $from is restored into $to, and migrate --restored ends everything',
  { timeout: 120_000 },
  async ({ from, to }) => {
    const machine = machineIn(newFolder())
    const source = from === 'Citus' ? (await cluster.newDatabase()).url : plain.urlOf('postgres')
    const shellFor = (url: string) => {
      const { username, password, port } = new URL(url)
      const path = `${BIN}:${process.env.PATH ?? ''}`
      return { GRANTOR_DATABASE_URL: url, PGHOST: '127.0.0.1', PGPORT: port, PGUSER: username, PGPASSWORD: password, PATH: path }
    }

    const before = await startApp({ postgres: addressOf(source) })
    onTestFinished(() => before.close())
    const { client, grantor } = before
    const [first, second] = [await before.freshTokens(), await before.freshTokens()]
    expect(machine.paste('backup-postgres', shellFor(source))).toMatchObject({ exit: 0, err: '' })
    hangUp()
    await before.close()

    const target = to === 'Citus' ? cluster.coordinator : plain
    const restoredUrl = target.urlOf('grantor_restored')
    const drop = async () => {
      for (const server of to === 'Citus' ? [cluster.coordinator, ...cluster.workers] : [plain])
        await using(server.urlOf('postgres'), (sql) => sql.unsafe('DROP DATABASE IF EXISTS grantor_restored WITH (FORCE)'))
    }
    await drop()
    if (to === 'Citus') await cluster.newDatabase({ name: 'grantor_restored' })
    expect(machine.paste(to === 'Citus' ? 'restore-citus' : 'restore-postgres', shellFor(restoredUrl))).toMatchObject({
      exit: 0,
      err: '',
    })
    const env = { GRANTOR_DATABASE_URL: restoredUrl, GRANTOR_SECRET: TEST_SECRET }
    const restored = await run(['migrate', '--restored', '--yes', '--json'], env)
    // The progress of the distribution is not an error.
    expect(restored.err.replace(/^Distributed \w+ in [0-9.]+ s\.\n/gm, '')).toBe('')
    expect(JSON.parse(restored.out)).toMatchObject({ confirmed: true, ended: { grants: 2, sessions: 1, keys: 6 } })
    if (to === 'Citus') {
      const places = await using(
        restoredUrl,
        (sql) => sql`SELECT count(DISTINCT nodeport)::integer AS workers FROM citus_shards WHERE table_name = 'grants'::regclass`,
      )
      expect(places).toEqual([{ workers: 2 }])
    }

    const { clock, ports } = grantor
    const after = await startGrantor({ postgres: addressOf(restoredUrl), clock, ports })
    onTestFinished(async () => {
      await after.close()
      await drop()
    })
    const app = new Walk(after)
    for (const tokens of [first, second])
      expect((await app.refresh(client, tokens.refresh_token)).json().error).toBe('invalid_grant')
  },
)
