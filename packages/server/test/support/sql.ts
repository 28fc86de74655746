/**
 * A connection of a test to a PostgreSQL server, with the driver of the service. A statement is a template: each value becomes a
 * parameter. `unsafe` takes a text, which may have several statements.
 *
 * The first statement opens the connection. If the server closed the connection, the next statement opens another one.
 */
import pg from 'pg'
import { databaseUrl, type PostgresUrl } from '../../src/config/database-url.ts'

/** The test knows the columns of its statements. */
export type SqlRow = Record<string, any>

export type Sql = {
  <Rows extends readonly unknown[] = SqlRow[]>(text: TemplateStringsArray, ...values: unknown[]): Promise<Rows>
  unsafe<Rows extends readonly unknown[] = SqlRow[]>(text: string, values?: readonly unknown[]): Promise<Rows>
  /** Runs a transaction. Other statements of this connection wait for its end. */
  begin<Result>(work: (transaction: Sql) => Promise<Result>): Promise<Result>
  /** Closes the connection when the statements that were started have ended. */
  end(): Promise<void>
}

const BIGINT = 20
const BIGINT_AS_NUMBER: pg.CustomTypesConfig = {
  getTypeParser: (type: number, format?: 'text' | 'binary') => (type === BIGINT ? Number : pg.types.getTypeParser(type, format)),
}

/** A connection to the server of the URL. If the URL names several servers, it is a connection to the first one that qualifies. */
export function connect(url: string, applicationName = 'test'): Sql {
  const { value } = databaseUrl(url) as { value: PostgresUrl }
  let open: pg.Client | null = null
  const take = async (): Promise<pg.Client> => {
    if (open) return open
    const client = await openClient(value, applicationName)
    client.on('end', () => {
      if (open === client) open = null
    })
    open = client
    return client
  }
  const { inTurn, idle } = aQueue()
  return sqlOf(
    (work) => inTurn(async () => work(await take())),
    async () => {
      await idle()
      await open?.end()
    },
  )
}

type Run = <Result>(work: (client: pg.Client) => Promise<Result>) => Promise<Result>

function sqlOf(run: Run, end: () => Promise<void>): Sql {
  const query = <Rows>(text: string, values?: readonly unknown[]): Promise<Rows> =>
    run((client) => rowsOf<Rows>(client, text, values))
  const withParameters = <Rows>(text: TemplateStringsArray, ...values: unknown[]) =>
    query<Rows>(
      text.reduce((before, after, index) => `${before}$${index}${after}`),
      values,
    )
  return Object.assign(withParameters, {
    unsafe: query,
    begin: <Result>(work: (transaction: Sql) => Promise<Result>) => run((client) => runTransaction(client, work)),
    end,
  })
}

async function rowsOf<Rows>(client: pg.Client, text: string, values?: readonly unknown[]): Promise<Rows> {
  const result = (await client.query(text, values && [...values])) as pg.QueryResult | pg.QueryResult[]
  // The results of several statements
  return (Array.isArray(result) ? result.at(-1) : result)?.rows as Rows
}

async function runTransaction<Result>(client: pg.Client, work: (transaction: Sql) => Promise<Result>): Promise<Result> {
  const { inTurn, idle } = aQueue()
  await client.query('BEGIN')
  try {
    const result = await work(sqlOf((statement) => inTurn(() => statement(client)), idle))
    await idle()
    await client.query('COMMIT')
    return result
  } catch (error) {
    // The connection may have been lost.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** Runs tasks one after the other. */
function aQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return {
    inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
      const result = last.then(task)
      last = result.catch(() => undefined)
      return result
    },
    idle: async () => void (await last),
  }
}

async function openClient(
  { servers, user, password = '', database, target }: PostgresUrl,
  applicationName: string,
): Promise<pg.Client> {
  let problem: unknown = new Error('no server takes writes')
  for (const server of servers) {
    const client = new pg.Client({
      ...server,
      user,
      password: () => password,
      database,
      application_name: applicationName,
      types: BIGINT_AS_NUMBER,
      // If both are set, `pg` does not read PGSSLMODE and PGSSLNEGOTIATION.
      ssl: false,
      sslnegotiation: 'postgres',
    })
    // The statement that runs, or the next one, fails with the same error.
    client.on('error', () => undefined)
    try {
      await client.connect()
      if (target === 'any' || !(await isStandby(client))) return client
      await client.end()
    } catch (error) {
      problem = error
    }
  }
  throw problem
}

async function isStandby(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
  return rows[0]?.standby === true
}
