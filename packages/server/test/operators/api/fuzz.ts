/**
 * Runs Schemathesis (a Python program) against the admin API, as an owner: `npm run test:admin-fuzz -- --max-examples 100`. Each finding is
 * printed with a command that repeats it. The program `schemathesis` must be on PATH: `pip install schemathesis`.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adminCaller } from '../../support/admin.ts'
import { startGrantor } from '../../support/start.ts'

/**
 * A schema cannot express every rule: whether a checksum of an address is right (422), or whether a record has changed (412). These refusals
 * of requests that fit the schema are no findings.
 */
const CONFIGURATION = `
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "412", "422"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "413", "414", "415", "422", "428", "431"]
`

async function main(): Promise<number> {
  const grantor = await startGrantor({ admin: true, lifetimes: { accessToken: 3600 } })
  const owner = await adminCaller(grantor, 'owner')
  const folder = mkdtempSync(join(tmpdir(), 'grantor-fuzz-'))
  const config = join(folder, 'schemathesis.toml')
  writeFileSync(config, CONFIGURATION)
  const errors = () => grantor.logLines.filter((line) => line.includes('"level":"error"') && line.includes('"err"'))
  try {
    const failed = await run(folder, [
      '--config-file',
      config,
      'run',
      `${grantor.adminUrl}/openapi.json`,
      '--header',
      `Authorization: Bearer ${owner.token}`,
      '--checks',
      'all',
      '--phases',
      'examples,coverage,fuzzing,stateful',
      // The caller must stay an owner.
      '--exclude-path',
      '/v1/operators/{id}',
      ...process.argv.slice(2),
    ])
    for (const line of errors().slice(0, 5)) console.error(line.slice(0, 2000))
    return failed || (errors().length > 0 ? 1 : 0)
  } finally {
    await grantor.close()
  }
}

function run(cwd: string, options: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn('schemathesis', options, { cwd, stdio: 'inherit' })
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 1))
  })
}

process.exitCode = await main()
