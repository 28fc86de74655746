/** The PostgreSQL backup commands of docs/operating/recover.md, run with PostgreSQL's own programs: `npm run test:backup`. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startApp, tokensOf } from '../../support/app.ts'
import { machineIn } from '../../support/operations-page.ts'
import { addressOf } from '../../support/postgres.ts'
import { startPostgres } from '../../support/postgres-server.ts'
import { hangUp } from '../../support/send.ts'
import { startGrantor, TEST_SECRET } from '../../support/start.ts'
import { Walk } from '../../support/walk.ts'
import { newFolder, run } from '../run.ts'

test.skipIf(!process.env.TEST_BACKUP)(
  'After pg_restore of a dump of a running service, migrate --restored ends all grants, sessions and keys, and no refresh token works',
  async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const folder = newFolder()
    const machine = machineIn(folder)
    const url = server.urlOf('postgres')
    const { username, password, port } = new URL(url)
    const shell = { GRANTOR_DATABASE_URL: url, PGHOST: '127.0.0.1', PGPORT: port, PGUSER: username, PGPASSWORD: password }

    const before = await startApp({ postgres: addressOf(url) })
    onTestFinished(() => before.close())
    const { walk, client, grantor } = before
    const [untouched, revoked, refreshed] = [await before.freshTokens(), await before.freshTokens(), await before.freshTokens()]
    expect(machine.paste('backup-postgres', shell)).toMatchObject({ exit: 0, err: '' })
    expect(statSync(join(folder, 'var/backups/grantor/grantor.dump')).mode & 0o777, 'readable by its owner only').toBe(0o600)
    await walk.revoke(client, revoked.refresh_token)
    const next = tokensOf(await walk.refresh(client, refreshed.refresh_token))
    hangUp()
    await before.close()

    expect(machine.paste('restore-postgres', shell)).toMatchObject({ exit: 0, err: '' })
    const env = { GRANTOR_DATABASE_URL: server.urlOf('grantor_restored'), GRANTOR_SECRET: TEST_SECRET }
    const restored = await run(['migrate', '--restored', '--yes', '--json'], env)
    expect(restored.err).toBe('')
    expect(JSON.parse(restored.out)).toMatchObject({ confirmed: true, ended: { grants: 3, sessions: 1, keys: 6 } })

    const { clock, ports } = grantor
    const after = await startGrantor({ postgres: addressOf(env.GRANTOR_DATABASE_URL), clock, ports })
    onTestFinished(() => after.close())
    const app = new Walk(after)
    for (const tokens of [untouched, revoked, refreshed, next])
      expect((await app.refresh(client, tokens.refresh_token)).json().error).toBe('invalid_grant')
  },
)
