/**
 * Runs the tests on a real Citus cluster. `TEST_CITUS_PG_BIN` names the folder with the programs of a PostgreSQL 15 or newer in which the
 * extension is installed. Each run under load and failures lasts `TEST_CHAOS_SECONDS`, 30 seconds if it is not set.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const bin = process.env.TEST_CITUS_PG_BIN ?? ''
const { stdout } = spawnSync(join(bin, 'pg_config'), ['--sharedir'], { encoding: 'utf8' })
if (bin === '' || !stdout || !existsSync(join(stdout.trim(), 'extension/citus.control'))) {
  console.error(
    'TEST_CITUS_PG_BIN must name the folder with the programs of a PostgreSQL in which the extension citus is installed.',
  )
  process.exitCode = 1
} else {
  process.exitCode = spawnSync('npx', ['vitest', 'run', '--project', 'citus'], { stdio: 'inherit' }).status ?? 1
}
