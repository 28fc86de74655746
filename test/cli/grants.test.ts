import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/index.ts'
import type { Address } from '../../src/wallet/address.ts'
import { someReceipt } from '../store/contract/subject.ts'
import { newFolder, run } from './run.ts'

const ALICE: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const BOB: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const NOW = 1_800_000_000

let path: string
let env: Record<string, string>
beforeEach(async () => {
  path = join(newFolder(), 'grantor.sqlite')
  env = { GRANTOR_DATABASE_URL: `sqlite:${path}` }
  await run(['migrate'], env)
})

/** What `wallet` allowed `clientId`, as redeeming a code leaves it. Returns the grant's id. */
async function granted(wallet: Address, clientId: string, at = NOW): Promise<string> {
  const store = openSqliteStore(path)
  const id = randomUUID()
  const times = { expiresAt: at + 2_592_000, refreshExpiresAt: at + 1_209_600 }
  await store.grants.redeemCode(
    {
      id,
      clientId,
      wallet,
      walletKind: 'ordinary',
      receiptId: null,
      consented: false,
      scopes: ['enhancement'],
      resources: [],
      refreshKeyId: 'k',
      dpopJkt: null,
      authTime: at,
      chainId: 1,
      sessionHash: null,
      ...times,
    },
    randomUUID(),
    at,
  )
  await store.close()
  return id
}

async function listed(...more: string[]): Promise<{ grant_id: string; state: string }[]> {
  return JSON.parse((await run(['grants', 'list', '--json', ...more], env, NOW + 10)).out)
}

describe('grants list', () => {
  test('tells who allowed what to whom, since when, until when, and how it stands', async () => {
    const id = await granted(ALICE, 'app')
    expect(await listed()).toEqual([
      {
        grant_id: id,
        client_id: 'app',
        wallet: ALICE,
        scopes: ['enhancement'],
        resources: [],
        state: 'living',
        created_at: NOW,
        refreshed_at: NOW,
        expires_at: NOW + 1_209_600,
        ended_at: null,
        end_reason: null,
      },
    ])
    expect((await run(['grants', 'list'], env)).out).toMatch(new RegExp(`${id} +${ALICE} +app +enhancement`))
  })

  test('filters by wallet in any spelling, by client, and by what still lives', async () => {
    const [first, second, old] = [
      await granted(ALICE, 'app'),
      await granted(BOB, 'app'),
      await granted(ALICE, 'other', NOW - 3_000_000),
    ]
    const ids = async (...more: string[]) => (await listed(...more)).map(({ grant_id }) => grant_id).sort()
    expect(await ids('--wallet', ALICE.toLowerCase())).toEqual([first, old].sort())
    expect(await ids('--client', 'app')).toEqual([first, second].sort())
    expect(await ids('--living', '--wallet', ALICE)).toEqual([first])
    expect(await ids('--limit', '1')).toHaveLength(1)
  })

  test('a wallet with a mistyped letter is refused by its checksum (EIP-55), not looked up in vain', async () => {
    const { exit, err } = await run(['grants', 'list', '--wallet', ALICE.replace('Fd6', 'fd6')], env)
    expect([exit, err]).toEqual([2, expect.stringContaining('wrong checksum')])
    expect(await run(['grants', 'list', '--wallet', 'alice.eth'], env)).toMatchObject({ exit: 2 })
    expect(await run(['grants', 'list', '--limit', '0'], env)).toMatchObject({ exit: 2 })
  })
})

describe('grants revoke', () => {
  test('ends one grant and no other, and says so when it had ended before', async () => {
    const [one, other] = [await granted(ALICE, 'app'), await granted(ALICE, 'other')]
    expect(await run(['grants', 'revoke', '--grant', one], env, NOW)).toEqual({ exit: 0, out: 'Ended 1 grant.\n', err: '' })
    expect(await run(['grants', 'revoke', '--grant', one], env, NOW)).toMatchObject({
      exit: 0,
      out: 'Nothing was left to end.\n',
    })
    expect(await listed('--living')).toEqual([expect.objectContaining({ grant_id: other })])
    expect((await listed()).find(({ grant_id }) => grant_id === one)).toMatchObject({ state: 'operator', ended_at: NOW })
  })

  test('withdraws what the wallet signed too, for the one client or for all: no consent is left to give the next code', async () => {
    const [app, other, bobs] = [
      someReceipt({ wallet: ALICE, clientId: 'app' }),
      someReceipt({ wallet: ALICE, clientId: 'other' }),
      someReceipt({ wallet: BOB, clientId: 'app' }),
    ]
    const store = openSqliteStore(path)
    for (const receipt of [app, other, bobs]) await store.receipts.insertReceipt(receipt)
    const standing = async () => {
      const receipts = await Promise.all([ALICE, BOB].map((wallet) => store.receipts.listReceipts(wallet, { limit: 10 })))
      return receipts.flat().flatMap(({ id, withdrawnAt }) => (withdrawnAt === null ? [id] : []))
    }
    await run(['grants', 'revoke', '--wallet', ALICE, '--client', 'app'], env)
    expect(await standing()).toEqual([other.id, bobs.id])
    await run(['grants', 'revoke', '--wallet', ALICE], env)
    expect(await standing()).toEqual([bobs.id])
    await store.close()
  })

  test('ends everything a wallet allowed, and voids its codes under way by raising its epoch', async () => {
    await granted(ALICE, 'app')
    await granted(ALICE, 'other')
    await granted(BOB, 'app')
    expect((await run(['grants', 'revoke', '--wallet', ALICE, '--json'], env)).out).toBe('{"grants_ended":2}\n')
    expect(await listed('--living')).toEqual([expect.objectContaining({ wallet: BOB })])
    const store = openSqliteStore(path)
    expect(await store.wallets.readEpoch(ALICE)).toBeGreaterThan(0)
    expect(await store.wallets.readEpoch(BOB)).toBe(0)
    await store.close()
  })

  test('with --client ends only what the wallet allowed to that client', async () => {
    await granted(ALICE, 'app')
    const other = await granted(ALICE, 'other')
    expect((await run(['grants', 'revoke', '--wallet', ALICE, '--client', 'app'], env)).out).toBe('Ended 1 grant.\n')
    expect(await listed('--living')).toEqual([expect.objectContaining({ grant_id: other })])
  })

  test.each([[[]], [['--grant', 'g', '--wallet', ALICE]], [['--client', 'app']], [['--grant', 'g', '--client', 'app']]])(
    '%j leaves open what is meant, so nothing is done',
    async (more) => {
      expect(await run(['grants', 'revoke', ...more], env)).toMatchObject({ exit: 2, out: '' })
    },
  )

  test('a grant that is not there is told', async () => {
    expect(await run(['grants', 'revoke', '--grant', randomUUID()], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('there is no grant'),
    })
  })
})
