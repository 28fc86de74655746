import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/ops/logger.ts'
import { capturedLog } from '../ops/captured-log.ts'
import { type App, startApp } from '../support/app.ts'
import { runEverything, type Secret, spellingsOf } from '../support/full-run.ts'
import { TEST_LOGIN_SECRET, TEST_SECRET } from '../support/start.ts'

let folder: string
let app: App
let secrets: Secret[]
/** what the service's own logger wrote, at its most talkative */
const log = capturedLog()
/** every file of the data folder, while the service runs and after it has stopped */
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

/** Which secrets lie in some bytes, in any of their spellings. */
function secretsIn(bytes: Buffer): string[] {
  return secrets.filter((secret) => spellingsOf(secret).some((spelling) => bytes.includes(spelling))).map(({ what }) => what)
}

test('the run had secrets of every kind to lose', () => {
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

describe('the data folder holds no code, token, secret, cookie value or signature in plain', () => {
  test('not in the database file, its write-ahead log, or anything beside them', () => {
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['grantor.sqlite-wal while it runs', 'grantor.sqlite after the store was closed']),
    )
    for (const [name, bytes] of files) expect({ name, found: secretsIn(bytes) }).toEqual({ name, found: [] })
  })

  test('not in any row, as text or as bytes', () => {
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

  test('the search would find them: a row that held one is recognised, in each spelling', () => {
    for (const secret of secrets) {
      for (const spelling of spellingsOf(secret))
        expect(secretsIn(Buffer.concat([Buffer.from('x'), spelling]))).toContain(secret.what)
    }
  })

  test('and the database is readable by its owner alone', async () => {
    expect((await stat(join(folder, 'grantor.sqlite'))).mode & 0o777).toBe(0o600)
  })
})

describe('the logs hold no code, token, secret, cookie value, signature or full address', () => {
  const address = (): RegExp => new RegExp(app.walk.wallet.address.slice(2), 'i')

  test('not the service’s log with its real logger, at its most talkative', () => {
    const text = log.text()
    expect(log.lines().length).toBeGreaterThan(50)
    expect(secretsIn(Buffer.from(text))).toEqual([])
    expect(text).not.toMatch(address())
    expect(text).not.toContain('[redacted]')
  })

  test('not the audit log’s events, even before the logger’s redaction', () => {
    const text = app.grantor.events.map((event) => JSON.stringify(event)).join('\n')
    expect(app.grantor.events.length).toBeGreaterThan(20)
    expect(secretsIn(Buffer.from(text))).toEqual([])
    expect(text).not.toMatch(address())
    expect(text).toContain('0xf39F…2266')
  })

  test('every request has one line, with a route and no path of the caller’s choosing', () => {
    const requests = log.lines().filter((line) => line.msg === 'request')
    for (const line of requests) {
      expect(Object.keys(line).sort()).toEqual(['level', 'method', 'ms', 'msg', 'reqId', 'route', 'status', 'time'])
      expect(line.route).toMatch(/^(\/[a-z.-]+)+$|^unmatched$/)
    }
  })

  test('a store that failed is told as what it is', () => {
    expect(log.lines()).toContainEqual(expect.objectContaining({ level: 'error', msg: 'store_unavailable' }))
  })
})
