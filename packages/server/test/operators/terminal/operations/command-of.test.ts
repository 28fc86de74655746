import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../../src/store/sqlite/index.ts'
import { newDatabase, run } from '../../../app/run.ts'
import { livingGrant } from '../../../store/contract/subject.ts'

const NOW = 1_800_000_000

test('At a terminal, clients delete prints how many grants end before it asks, and any answer but yes changes nothing', async () => {
  const { env, path } = await newDatabase()
  const created = await run(['clients', 'create', '--name', 'A', '--redirect-uri', 'https://a.example/cb', '--json'], env)
  const { client_id: id } = JSON.parse(created.out) as { client_id: string }
  const store = openSqliteStore(path)
  for (let count = 0; count < 2; count++) await livingGrant(store, { clientId: id })
  await store.close()
  const deleteClient = (answer: string) => run(['clients', 'delete', id], env, NOW, async () => answer)
  const refused = await deleteClient('y')
  expect(refused).toMatchObject({ exit: 1, err: 'grantor: nothing was changed\n' })
  expect(refused.out).toContain('It ends 2 grants and deletes the client.\n')
  expect((await run(['clients', 'show', id], env)).exit).toBe(0)
  expect(await deleteClient('yes')).toMatchObject({ exit: 0, out: expect.stringContaining('ended 2 grants') })
  expect((await run(['clients', 'show', id], env)).exit).toBe(1)
})

test('An option and the option that removes the same value are refused together', async () => {
  const { env } = await newDatabase()
  const off = ['--no-response-modes', '--response-mode', 'query']
  const { exit, err } = await run(['clients', 'update', 'any', ...off], env)
  expect([exit, err]).toEqual([2, 'grantor: --no-response-modes and --response-mode are both given: keep one\n'])
})
