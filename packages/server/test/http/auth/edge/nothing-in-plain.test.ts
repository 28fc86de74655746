import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../../../src/observability/log/logger.ts'
import { capturedLog } from '../../../observability/log/captured-log.ts'
import { type App, startApp } from '../../../support/app.ts'
import { runEverything, type Secret, spellingsOf } from '../../../support/full-run.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from '../../../support/start.ts'

let folder: string
let app: App
let secrets: Secret[]
/** the output of the service's own logger at level `trace` */
const log = capturedLog()
/** every file of the data folder, while the service runs and after its store was closed */
const files = new Map<string, Buffer>()

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'grantor-plain-'))
  const logger = createLogger({ level: 'trace', destination: log.destination, secrets: [TEST_SECRET, TEST_LOGIN_SECRET] })
  app = await startApp({ databasePath: join(folder, 'grantor.sqlite'), logger })
  secrets = await runEverything(app)
  await keepFiles('while it runs')
  await app.grantor.store.close()
  await app.walk.introspect(app.client, secrets.find(({ what }) => what === 'access token')?.value ?? '')
  await keepFiles('after the store was closed')
  await app.close()
})
afterAll(() => rm(folder, { recursive: true }))

async function keepFiles(when: string): Promise<void> {
  for (const name of await readdir(folder)) files.set(`${name} ${when}`, await readFile(join(folder, name)))
}

/** The secrets that the bytes contain in any of their spellings. */
function secretsIn(bytes: Buffer): string[] {
  return secrets.filter((secret) => spellingsOf(secret).some((spelling) => bytes.includes(spelling))).map(({ what }) => what)
}

test('The run of the service creates secrets of every kind', () => {
  const kinds = new Set(secrets.map(({ what }) => what.split(' ').slice(-2).join(' ')))
  for (const kind of [
    'access token',
    'refresh token',
    'code',
    'client secret',
    'code verifier',
    'login challenge',
    'login verifier',
    'signature',
    'cookie grantor_session',
    'cookie grantor_browser',
    'confirmation',
  ]) {
    expect(kinds).toContain(kind)
  }
  expect(secrets.length).toBeGreaterThan(25)
})

describe('Secrets in the data folder', () => {
  test('The database file, its write-ahead log and the other files of the data folder contain no secret in plain', () => {
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['grantor.sqlite-wal while it runs', 'grantor.sqlite after the store was closed']),
    )
    for (const [name, bytes] of files) expect({ name, found: secretsIn(bytes) }).toEqual({ name, found: [] })
  })

  test('No database row contains a code, token, secret, cookie value or signature in plain, as text or as bytes', () => {
    const database = new DatabaseSync(join(folder, 'grantor.sqlite'), { readOnly: true })
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[]
    for (const { name } of tables) {
      for (const row of database.prepare(`SELECT * FROM ${name}`).all()) {
        const columns = Object.values(row).map((value) =>
          value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value)),
        )
        expect({ name, found: secretsIn(Buffer.concat(columns)) }).toEqual({ name, found: [] })
      }
    }
    database.close()
  })

  test('The search for secrets finds each secret in each of its spellings', () => {
    for (const secret of secrets) {
      for (const spelling of spellingsOf(secret))
        expect(secretsIn(Buffer.concat([Buffer.from('x'), spelling]))).toContain(secret.what)
    }
  })

  test('The mode of the database file lets only the owner read and write the file', async () => {
    expect((await stat(join(folder, 'grantor.sqlite'))).mode & 0o777).toBe(0o600)
  })
})

describe('Secrets in the logs', () => {
  const address = (): RegExp => new RegExp(app.walk.wallet.address.slice(2), 'i')

  test('The service’s log contains no secret and no full address, even at level trace', () => {
    const text = log.text()
    expect(log.lines().length).toBeGreaterThan(50)
    expect(secretsIn(Buffer.from(text))).toEqual([])
    expect(text).not.toMatch(address())
    expect(text).not.toContain('[redacted]')
  })

  test('The events of the audit log contain no secret and no full address, even before the logger’s redaction', () => {
    const text = app.grantor.events.map((event) => JSON.stringify(event)).join('\n')
    expect(app.grantor.events.length).toBeGreaterThan(20)
    expect(secretsIn(Buffer.from(text))).toEqual([])
    expect(text).not.toMatch(address())
    expect(text).toContain('0xf39F…2266')
  })

  test('The log line of a request has a fixed set of fields, and names the route instead of the path from the request', () => {
    const requests = log.lines().filter((line) => line.msg === 'request')
    for (const line of requests) {
      const fields = ['level', 'method', 'ms', 'msg', 'network', 'reqId', 'route', 'status', 'time']
      expect(Object.keys(line).sort()).toEqual('client_id' in line ? ['client_id', ...fields] : fields)
      expect(line.route).toMatch(/^(\/[a-z.-]+)+$|^unmatched$/)
    }
  })

  test('A failure of the store is logged as one error when the outage begins', () => {
    expect(log.lines()).toContainEqual(
      expect.objectContaining({ level: 'error', msg: expect.stringMatching(/^the store fails/) }),
    )
  })
})
