import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../../src/cli/main.ts'
import { newGrantId } from '../../../src/domain/model/grant-id.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import type { Address } from '../../../src/wallet/address.ts'
import { newGrant, someReceipt } from '../../store/contract/subject.ts'
import { launch, newDatabase, run } from '../run.ts'

const ALICE: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const BOB: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const NOW = 1_800_000_000

let path: string
let env: Record<string, string>
beforeEach(async () => {
  ;({ path, env } = await newDatabase())
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
      scopesByResource: null,
      refreshKeyId: 'k',
      dpopJkt: null,
      authTime: at,
      chainId: 1,
      sessionHash: null,
      sessionReceiptId: null,
      epoch: 0,
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
        scopes_by_resource: null,
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

describe('a long grants list', () => {
  const COUNT = 1203
  let newestFirst: string[]
  beforeEach(async () => {
    const store = openSqliteStore(path)
    const grants = Array.from({ length: COUNT }, (_, index) => newGrant({ id: newGrantId(NOW + index), clientId: 'app' }))
    await Promise.all(grants.map((grant, index) => store.grants.redeemCode(grant, randomUUID(), NOW + index)))
    await store.close()
    newestFirst = grants.map(({ id }) => id).toReversed()
  })

  test('is told to its end with --all, or to its limit, the newest first, as a table or as one JSON array', async () => {
    expect((await listed('--all')).map(({ grant_id }) => grant_id)).toEqual(newestFirst)
    expect((await listed('--limit', '701', '--client', 'app')).map(({ grant_id }) => grant_id)).toEqual(newestFirst.slice(0, 701))
    const { out } = await run(['grants', 'list', '--all'], env, NOW)
    const [headings, ...rows] = out.trimEnd().split('\n')
    expect(headings).toMatch(/^GRANT_ID +WALLET +CLIENT_ID +SCOPES +SINCE +STATE$/)
    expect(rows.map((row) => row.split(' ')[0])).toEqual(newestFirst)
    expect((await run(['grants', 'list', '--all', '--wallet', ALICE, '--json'], env)).out).toBe('[]\n')
  })

  test('is printed page by page and never gathered: when nobody reads on after the first, no other is read', async () => {
    for (const more of [[], ['--json']]) {
      let printed = 0
      const world = { env, print: () => void printed++, printError: () => {}, now: () => NOW, isRead: () => false }
      expect(await main(['grants', 'list', '--all', ...more], world)).toBe(0)
      expect(printed).toBeGreaterThan(1)
      expect(printed).toBeLessThan(COUNT / 2)
    }
  })

  test('that is cut off, as by head, ends without a word', async () => {
    const listing = launch(['grants', 'list', '--all'], env)
    listing.child.stdout?.once('data', () => listing.child.stdout?.destroy())
    expect(await listing.ended()).toMatchObject({ code: 0 })
    expect(listing.err()).toBe('')
  })

  test('asked for in two lengths at once is refused', async () => {
    expect(await run(['grants', 'list', '--all', '--limit', '5'], env)).toMatchObject({ exit: 2, out: '' })
  })
})

describe('grants revoke', () => {
  test('ends one grant and no other, and says so when it had ended before', async () => {
    const [one, other] = [await granted(ALICE, 'app'), await granted(ALICE, 'other')]
    expect(await run(['grants', 'revoke', '--grant', one], env, NOW)).toEqual({ exit: 0, out: 'Ended 1 grant.\n', err: '' })
    expect(await run(['grants', 'revoke', '--grant', one], env, NOW)).toMatchObject({
      exit: 0,
      out: 'There was nothing to end.\n',
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
    for (const receipt of [app, other, bobs]) await store.receipts.insertReceipt(receipt, 0)
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
