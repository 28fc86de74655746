/** The PostgreSQL commands of docs/operations.md, with PostgreSQL's own programs: `npm run test:backup`. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startApp, tokensOf } from '../support/app.ts'
import { machineIn } from '../support/operations-page.ts'
import { addressOf } from '../support/postgres.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { hangUp } from '../support/send.ts'
import { startGrantor, TEST_SECRET, TestClock } from '../support/start.ts'
import { Walk } from '../support/walk.ts'
import { newFolder, run } from './run.ts'

test.skipIf(!process.env.TEST_BACKUP)(
  'pg_dump while it runs, pg_restore into a new database, and the journal: only what ended since has ended',
  { timeout: 120_000 },
  async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const folder = newFolder()
    const machine = machineIn(folder)
    const journalFile = join(folder, 'journal.jsonl')
    const url = server.urlOf('postgres')
    const { username, password, port } = new URL(url)
    const shell = { GRANTOR_DATABASE_URL: url, PGHOST: '127.0.0.1', PGPORT: port, PGUSER: username, PGPASSWORD: password }

    // Half an hour ago, so that everything a journal does not tell of is over.
    const clock = new TestClock()
    clock.advance(-1800)
    const before = await startApp({ postgres: addressOf(url), journalFile, clock })
    const { walk, client } = before
    const [untouched, revoked, refreshed] = [await before.freshTokens(), await before.freshTokens(), await before.freshTokens()]
    expect(machine.paste('backup-postgres', shell)).toMatchObject({ exit: 0, err: '' })
    expect(statSync(join(folder, 'var/backups/grantor/grantor.dump')).mode & 0o777, 'for nobody else’s eyes').toBe(0o600)
    await walk.revoke(client, revoked.refresh_token)
    const next = tokensOf(await walk.refresh(client, refreshed.refresh_token))
    const { ports } = before.grantor
    hangUp()
    await before.close()

    expect(machine.paste('restore-postgres', shell)).toMatchObject({ exit: 0, err: '' })
    const env = { GRANTOR_DATABASE_URL: server.urlOf('grantor_restored'), GRANTOR_SECRET: TEST_SECRET }
    const restored = await run(['migrate', '--restored', '--yes', '--json', '--journal', journalFile], env)
    expect(restored.err).toBe('')
    expect(JSON.parse(restored.out)).toMatchObject({
      confirmed: true,
      journal: { accounts: true, faults: [], grants_moved_on: 1 },
      ended: { grants: 1, sessions: 0, keys: 0 },
    })
    const grantor = await startGrantor({ postgres: addressOf(env.GRANTOR_DATABASE_URL), clock, ports })
    onTestFinished(() => grantor.close())
    const after = new Walk(grantor)
    const statuses = [untouched, next, revoked, refreshed].map(
      async (token) => (await after.refresh(client, token.refresh_token)).status,
    )
    expect(await Promise.all(statuses.slice(0, 3))).toEqual([200, 200, 400])
    expect(await statuses[3], 'a used one is a replay').toBe(400)
  },
)
