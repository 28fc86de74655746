/**
 * Runs the PostgreSQL backup commands of docs/operations.md against a real server with its own pg_dump and pg_restore, as
 * Debian's package `postgresql` installs them. Where there are none it says so and passes.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const INSTALLED = '/usr/lib/postgresql'
const NEEDED = ['postgres', 'initdb', 'pg_dump', 'pg_restore', 'createdb']

const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED).map(Number).filter(Boolean) : []
const newest = versions
  .toSorted((a, b) => b - a)
  .map((version) => join(INSTALLED, String(version)))
  .find((folder) => NEEDED.every((program) => existsSync(join(folder, 'bin', program))))

if (newest === undefined) console.log(`skipped: there is no PostgreSQL in ${INSTALLED}; apt-get install postgresql brings it`)
else {
  const env = { ...process.env, TEST_BACKUP: '1', TEST_POSTGRES: newest, PATH: `${newest}/bin:${process.env.PATH ?? ''}` }
  const files = ['test/cli/postgres-backup.test.ts', 'test/cli/restored.test.ts']
  process.exitCode = spawnSync('npx', ['vitest', 'run', ...files], { stdio: 'inherit', env }).status ?? 1
}
