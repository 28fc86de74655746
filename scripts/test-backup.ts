/**
 * Runs the backup commands of docs/operating/recover.md: on PostgreSQL with a real server and its own programs, as Debian's package
 * `postgresql` installs them; on SQLite with Litestream, if `TEST_LITESTREAM` names its program. It reports what it skips.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const INSTALLED = '/usr/lib/postgresql'
const NEEDED = [
  'postgres',
  'initdb',
  'psql',
  'createdb',
  'pg_dump',
  'pg_restore',
  'pg_basebackup',
  'pg_receivewal',
  'pg_verifybackup',
  'pg_archivecleanup',
]

const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).map(Number).filter(Boolean) : []
const newest = versions
  .toSorted((a, b) => b - a)
  .map((version) => join(INSTALLED, String(version)))
  .find((folder) => NEEDED.every((program) => existsSync(join(folder, 'bin', program))))

const files = ['packages/server/test/app/backup/restored.test.ts', 'packages/server/test/app/backup/sqlite-wal-copy.test.ts']
if (process.env.TEST_LITESTREAM) files.push('packages/server/test/app/backup/litestream.test.ts')
else console.log('skipped: Litestream; TEST_LITESTREAM=/path/to/litestream runs its tests')
const env = { ...process.env }
if (newest !== undefined) {
  files.push(
    'packages/server/test/app/backup/postgres-backup.test.ts',
    'packages/server/test/app/backup/postgres-recovery.test.ts',
  )
  Object.assign(env, { TEST_BACKUP: '1', TEST_POSTGRES: newest, PATH: `${newest}/bin:${process.env.PATH ?? ''}` })
} else console.log(`skipped: there is no PostgreSQL in ${INSTALLED}; apt-get install postgresql brings it`)
process.exitCode = spawnSync('npx', ['vitest', 'run', ...files], { stdio: 'inherit', env }).status ?? 1
