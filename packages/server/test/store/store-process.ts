/**
 * A process of its own on a SQLite file, or (to migrate) on PostgreSQL: `node store-process.ts TASK PATH_OR_URL`. The process
 * prints `ready`, waits for a line, runs its task, and prints the results line by line.
 */
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { databaseUrl } from '../../src/config/database-url.ts'
import { migratePostgres } from '../../src/store/postgres/index.ts'
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts'
import { NOW, newGrant } from './contract/subject.ts'

const [task = '', path = ''] = process.argv.slice(2)
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const lineArrived = async (): Promise<void> => void (await once(process.stdin, 'data'))

const tasks: Record<string, () => Promise<void>> = {
  /** holds the write lock until a line arrives */
  async hold() {
    const database = new DatabaseSync(path)
    database.exec('BEGIN IMMEDIATE')
    print('ready')
    await lineArrived()
    database.close()
  },
  /** redeems the codes 0 to 199 concurrently */
  async redeem() {
    const store = openSqliteStore(path)
    print('ready')
    await lineArrived()
    const codes = Array.from({ length: 200 }, (_, index) => newGrant({ id: `code-${index}`, clientId: String(process.pid) }))
    const outcomes = await Promise.all(codes.map((code) => store.grants.redeemCode(code, `${process.pid}`, NOW)))
    print(JSON.stringify(outcomes.map(({ kind }) => kind)))
    await store.close()
  },
  /** redeems codes until the process is killed, and prints each code when its redemption is acknowledged */
  async write() {
    const store = openSqliteStore(path)
    print('ready')
    await lineArrived()
    const redeemOn = async (): Promise<void> => {
      const grant = newGrant()
      await store.grants.redeemCode(grant, 'attempt', NOW)
      print(grant.id)
      return redeemOn()
    }
    await Promise.all(Array.from({ length: 8 }, redeemOn))
  },
  /** redeems codes until one fails, prints the error and the acknowledged codes, and redeems one more after the next line */
  async fill() {
    const store = openSqliteStore(path)
    print('ready')
    await lineArrived()
    const done: string[] = []
    for (let failure = ''; failure === ''; ) {
      const grant = newGrant()
      const redeemed = store.grants.redeemCode(grant, 'attempt', NOW)
      failure = await redeemed.then(
        () => '',
        (error: Error) => error.name,
      )
      if (failure === '') done.push(grant.id)
      else print(failure)
    }
    print(JSON.stringify(done))
    await lineArrived()
    print((await store.grants.redeemCode(newGrant(), 'attempt', NOW)).kind)
    await store.close()
  },
  async migrate() {
    print('ready')
    await lineArrived()
    const parsed = databaseUrl(path)
    if ('value' in parsed && parsed.value.kind === 'postgres') {
      print(String((await migratePostgres(parsed.value, NOW)).length))
      return
    }
    print(String((await migrateSqlite(path, NOW)).length))
    await openSqliteStore(path).close()
  },
}

await tasks[task]?.()
process.exit()
