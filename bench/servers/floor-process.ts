/**
 * The floor: the least that an operation can cost in a Fastify server. Each path answers a form post without reading the form. `/` does
 * nothing else. The other paths perform the one signature or verification of an operation, and its one write or read, on a database that
 * `grantor migrate` made (`FILE`). Writes of one turn of the event loop share a commit.
 */
import { generateKeyPairSync, randomBytes, randomUUID, sign, verify } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import Fastify from 'fastify'

const ROWS = 2000
const TOKENS = 1000

const server = Fastify({ logger: false })
server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
  done(null, body),
)
const headers = { 'content-type': 'application/json' }
server.post('/', (_request, reply) => void reply.headers(headers).send('{}'))

if (process.env.FILE) addOperations(process.env.FILE)
await server.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.send?.('ready')

function addOperations(file: string): void {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // As long as an access token with its header.
  const inputs = Array.from({ length: TOKENS }, (_, index) => Buffer.from(`${index}.${'x'.repeat(600)}`))
  const signatures = inputs.map((input) => sign('sha256', input, privateKey))
  const { insert, rotate, read, write } = openGrants(file)
  let count = 0
  const one = <Item>(items: Item[]): Item => items[count++ % items.length] as Item
  const ids = Array.from({ length: ROWS }, () => insert())

  server.post('/code', async (_request, reply) => {
    await write(insert)
    sign('sha256', one(inputs), privateKey)
    return reply.headers(headers).send('{}')
  })
  server.post('/refresh', async (_request, reply) => {
    await write(() => rotate(one(ids)))
    sign('sha256', one(inputs), privateKey)
    return reply.headers(headers).send('{}')
  })
  server.post('/same', async (_request, reply) => {
    await read(one(ids))
    return reply.headers(headers).send('{}')
  })
  server.post('/other', async (_request, reply) => {
    const index = count % TOKENS
    verify('sha256', inputs[index] as Buffer, publicKey, signatures[index] as Buffer)
    await read(one(ids))
    return reply.headers(headers).send('{}')
  })
}

type Grants = {
  insert(): Buffer
  rotate(id: Buffer): void
  /** Runs a write in the transaction of this turn. Resolves after the commit. */
  write(step: () => unknown): Promise<void>
  /** Reads a row in the read transaction of this turn. */
  read(id: Buffer): Promise<void>
}

const valueOf = { TEXT: () => randomUUID(), BLOB: () => randomBytes(16), INTEGER: () => 1 }

/** The table of grants, with durable commits, as the service has it. */
function openGrants(file: string): Grants {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  const columns = database.prepare('PRAGMA table_info(grants)').all() as { name: string; type: keyof typeof valueOf }[]
  const names = columns.map(({ name }) => name)
  const inserted = database.prepare(`INSERT INTO grants VALUES (${names.map((name) => `:${name}`).join(', ')})`)
  const rotated = database.prepare(
    'UPDATE grants SET generation = generation + 1, rotated_at = 1, attempt_id = :attempt WHERE id = :id',
  )
  const found = database.prepare('SELECT * FROM grants WHERE id = :id')
  found.setReturnArrays(true)
  const write = inOneTransaction(database, 'BEGIN IMMEDIATE')
  const read = inOneTransaction(database, 'BEGIN')
  return {
    insert() {
      // Ids in ascending order, as the service's ids are.
      const digits = [Date.now().toString(16).padStart(12, '0'), process.hrtime.bigint().toString(16).padStart(20, '0')]
      const id = Buffer.from(digits.join(''), 'hex')
      inserted.run(Object.fromEntries(columns.map(({ name, type }) => [name, name === 'id' ? id : valueOf[type]()])))
      return id
    },
    rotate: (id) => void rotated.run({ id, attempt: randomBytes(16) }),
    write,
    read: (id) => read(() => found.get({ id })),
  }
}

/** Runs the steps of one turn of the event loop in one transaction. */
function inOneTransaction(database: DatabaseSync, beginning: string): (step: () => unknown) => Promise<void> {
  const [begin, commit] = [database.prepare(beginning), database.prepare('COMMIT')]
  let waiting: { step: () => unknown; resolve: () => void }[] = []
  function runAll(): void {
    const all = waiting
    waiting = []
    begin.run()
    for (const { step } of all) step()
    commit.run()
    for (const { resolve } of all) resolve()
  }
  return (step) =>
    new Promise((resolve) => {
      if (waiting.push({ step, resolve }) === 1) setImmediate(runAll)
    })
}
