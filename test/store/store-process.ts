/**
 * A process of its own on a SQLite file, or (to migrate) on PostgreSQL: `node store-process.ts TASK PATH_OR_URL`. It says `ready`, waits for a line, does
 * its task, and tells what came of it, line by line.
 */
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { databaseUrl } from '../../src/config/database-url.ts'
import { migratePostgres } from '../../src/store/postgres/index.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'
import { NOW, newGrant } from './contract/subject.ts'

const [task = '', path = ''] = process.argv.slice(2)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const told = async (): Promise<void> => void (await once(process.stdin, 'data'))

const tasks: Record<string, () => Promise<void>> = {
  /** holds the write lock until it is told to let go */
  async hold() {
    const database = new DatabaseSync(path)
    database.exec('BEGIN IMMEDIATE')
    say('ready')
    await told()
    database.close()
  },
  /** redeems the codes 0 to 199, all at once */
  async redeem() {
    const store = openSqliteStore(path)
    say('ready')
    await told()
    const codes = Array.from({ length: 200 }, (_, index) => newGrant({ id: `code-${index}`, clientId: String(process.pid) }))
    const outcomes = await Promise.all(codes.map((code) => store.grants.redeemCode(code, `${process.pid}`, NOW)))
    say(JSON.stringify(outcomes.map(({ kind }) => kind)))
    await store.close()
  },
  /** redeems one code after the other and tells each as it is acknowledged, until it is killed */
  async write() {
    const store = openSqliteStore(path)
    say('ready')
    await told()
    const redeemOn = async (): Promise<void> => {
      const grant = newGrant()
      await store.grants.redeemCode(grant, 'attempt', NOW)
      say(grant.id)
      return redeemOn()
    }
    await Promise.all(Array.from({ length: 8 }, redeemOn))
  },
  /** redeems one code after the other until that fails, tells how and what was acknowledged, and tries once more when told */
  async fill() {
    const store = openSqliteStore(path)
    say('ready')
    await told()
    const done: string[] = []
    for (let failure = ''; failure === ''; ) {
      const grant = newGrant()
      const redeemed = store.grants.redeemCode(grant, 'attempt', NOW)
      failure = await redeemed.then(
        () => '',
        (error: Error) => error.name,
      )
      if (failure === '') done.push(grant.id)
      else say(failure)
    }
    say(JSON.stringify(done))
    await told()
    say((await store.grants.redeemCode(newGrant(), 'attempt', NOW)).kind)
    await store.close()
  },
  async migrate() {
    say('ready')
    await told()
    const parsed = databaseUrl(path)
    if ('value' in parsed && parsed.value.kind === 'postgres') {
      say(String((await migratePostgres(parsed.value, NOW)).length))
      return
    }
    say(String((await migrateSqlite(path, NOW)).length))
    await openSqliteStore(path).close()
  },
}

await tasks[task]?.()
process.exit()
