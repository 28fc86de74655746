import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newDatabase, run } from '../run.ts'

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

test('wallets find prints the wallets whose address begins with the digits, and refuses fewer than four digits and names', async () => {
  const { env, path } = await newDatabase()
  const store = openSqliteStore(path)
  for (const wallet of [WALLET, OTHER] as const) await store.wallets.rememberProof(wallet)
  await store.close()
  expect((await run(['wallets', 'find', '0xF39f'], env)).out).toBe(`WALLET\n${WALLET}\n`)
  expect(JSON.parse((await run(['wallets', 'find', OTHER.toLowerCase(), '--json'], env)).out)).toEqual([{ wallet: OTHER }])
  expect((await run(['wallets', 'find', '0x1234'], env)).out).toBe('No wallet that has signed in begins with these digits.\n')
  for (const text of ['0xf39', 'f39f', '0xf39g', 'alice'])
    expect(await run(['wallets', 'find', text], env)).toMatchObject({ exit: 2, err: expect.stringContaining('at least 4') })
  const named = await run(['wallets', 'find', 'alice.eth'], env)
  expect([named.exit, named.err]).toEqual([1, expect.stringContaining('GRANTOR_ENS_NAMES')])
  expect((await run(['wallets', 'find'], env)).exit).toBe(2)
})
