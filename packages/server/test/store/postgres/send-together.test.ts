/** Several statements in one message: `statements/send-together.ts`. */
import { expect, onTestFinished, test } from 'vitest'
import { clientOptions } from '../../../src/store/postgres/address.ts'
import { CheckedClient } from '../../../src/store/postgres/connection/client.ts'
import { sendTogether } from '../../../src/store/postgres/statements/send-together.ts'
import { newPostgresDatabase } from '../../support/postgres.ts'

test('A statement that was prepared in a transaction can be prepared alone on the same connection, and the reverse', async () => {
  const database = await newPostgresDatabase()
  const [server] = database.address.servers
  if (!server) throw new Error('an address has a server')
  const client = new CheckedClient(clientOptions({ ...database.address, ...server, purpose: 'store' }))
  onTestFinished(() => client.end())
  await client.connect()
  const one = { name: 'one', text: 'SELECT $1::int AS n', values: ['1'] }
  const two = { name: 'two', text: 'SELECT $1::int + 1 AS n', values: ['1'] }
  const together = () => sendTogether(client, { before: [], statements: [one, two].map((each) => ({ ...each, columns: 'n' })) })
  expect((await together()).firstRows).toEqual([{ n: 1 }, { n: 2 }])
  expect((await client.query({ ...one })).rows).toEqual([{ n: 1 }])
  expect((await together()).firstRows).toEqual([{ n: 1 }, { n: 2 }])
  expect((await client.query({ ...two })).rows).toEqual([{ n: 2 }])
  expect((await together()).firstRows).toEqual([{ n: 1 }, { n: 2 }])
})
