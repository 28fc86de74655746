import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../../src/app/main.ts'
import { newGrantId } from '../../../src/domain/model/grant-id.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { newGrant } from '../../store/contract/subject.ts'
import { launch, newDatabase, run } from '../run.ts'

const ALICE: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const BOB: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const NOW = 1_800_000_000

let path: string
let env: Record<string, string>
beforeEach(async () => {
  ;({ path, env } = await newDatabase())
})

/** Stores a grant of `wallet` to `clientId`, as the exchange of a code does. Returns the id of the grant. */
async function storeGrant(wallet: Address, clientId: string, at = NOW): Promise<string> {
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
      signedLimit: null,
      epoch: 0,
      ...times,
    },
    randomUUID(),
    at,
  )
  await store.close()
  return id
}

async function listGrants(...more: string[]): Promise<{ grant_id: string; state: string }[]> {
  return JSON.parse((await run(['grants', 'list', '--json', ...more], env, NOW + 10)).out)
}

describe('The command grants list', () => {
  test('The command grants list prints the wallet, client, scopes, times and state of each grant', async () => {
    const id = await storeGrant(ALICE, 'app')
    expect(await listGrants()).toEqual([
      {
        grant_id: id,
        client_id: 'app',
        wallet: ALICE,
        scopes: ['enhancement'],
        resources: [],
        scopes_by_resource: null,
        limit: null,
        state: 'active',
        created_at: NOW,
        refreshed_at: NOW,
        expires_at: NOW + 1_209_600,
        ended_at: null,
        end_reason: null,
      },
    ])
    expect((await run(['grants', 'list'], env)).out).toMatch(new RegExp(`${id} +${ALICE} +app +enhancement`))
  })

  test('The command grants list filters by wallet in any letter case, by client and by active grants, and stops at --limit', async () => {
    const [first, second, old] = [
      await storeGrant(ALICE, 'app'),
      await storeGrant(BOB, 'app'),
      await storeGrant(ALICE, 'other', NOW - 3_000_000),
    ]
    const ids = async (...more: string[]) => (await listGrants(...more)).map(({ grant_id }) => grant_id).sort()
    expect(await ids('--wallet', ALICE.toLowerCase())).toEqual([first, old].sort())
    expect(await ids('--client', 'app')).toEqual([first, second].sort())
    expect(await ids('--living', '--wallet', ALICE)).toEqual([first])
    expect(await ids('--limit', '1')).toHaveLength(1)
  })

  test('The command grants list refuses a wallet address with a wrong checksum (EIP-55), an ENS name and a limit of 0', async () => {
    const { exit, err } = await run(['grants', 'list', '--wallet', ALICE.replace('Fd6', 'fd6')], env)
    expect([exit, err]).toEqual([2, expect.stringContaining('wrong checksum')])
    expect(await run(['grants', 'list', '--wallet', 'alice.eth'], env)).toMatchObject({ exit: 2 })
    expect(await run(['grants', 'list', '--limit', '0'], env)).toMatchObject({ exit: 2 })
  })
})

describe('A long list of grants', () => {
  const COUNT = 1203
  let newestFirst: string[]
  beforeEach(async () => {
    const store = openSqliteStore(path)
    const grants = Array.from({ length: COUNT }, (_, index) => newGrant({ id: newGrantId(NOW + index), clientId: 'app' }))
    await Promise.all(grants.map((grant, index) => store.grants.redeemCode(grant, randomUUID(), NOW + index)))
    await store.close()
    newestFirst = grants.map(({ id }) => id).toReversed()
  })

  test('The command grants list prints all grants with --all, or as many as --limit, newest first, as a table or as one JSON array', async () => {
    expect((await listGrants('--all')).map(({ grant_id }) => grant_id)).toEqual(newestFirst)
    expect((await listGrants('--limit', '701', '--client', 'app')).map(({ grant_id }) => grant_id)).toEqual(
      newestFirst.slice(0, 701),
    )
    const { out } = await run(['grants', 'list', '--all'], env, NOW)
    const [headings, ...rows] = out.trimEnd().split('\n')
    expect(headings).toMatch(/^GRANT_ID +WALLET +CLIENT_ID +SCOPES +LEFT +SINCE +STATE$/)
    expect(rows.map((row) => row.split(' ')[0])).toEqual(newestFirst)
    expect((await run(['grants', 'list', '--all', '--wallet', ALICE, '--json'], env)).out).toBe('[]\n')
  })

  test('The command grants list --all prints page by page, and reads no further page when its output is no longer read', async () => {
    for (const more of [[], ['--json']]) {
      let printed = 0
      const world = { env, print: () => void printed++, printError: () => {}, now: () => NOW, isRead: () => false }
      expect(await main(['grants', 'list', '--all', ...more], world)).toBe(0)
      expect(printed).toBeGreaterThan(1)
      expect(printed).toBeLessThan(COUNT / 2)
    }
  })

  test('If the reader of its output closes the pipe, grants list --all exits with 0 and prints no error', async () => {
    const listing = launch(['grants', 'list', '--all'], env)
    listing.child.stdout?.once('data', () => listing.child.stdout?.destroy())
    expect(await listing.ended()).toMatchObject({ code: 0 })
    expect(listing.err()).toBe('')
  })

  test('The options --all and --limit of grants list are refused together', async () => {
    expect(await run(['grants', 'list', '--all', '--limit', '5'], env)).toMatchObject({ exit: 2, out: '' })
  })
})

describe('The command grants revoke', () => {
  test('The command grants revoke --grant ends only that grant, and when repeated reports that there was nothing to end', async () => {
    const [one, other] = [await storeGrant(ALICE, 'app'), await storeGrant(ALICE, 'other')]
    expect(await run(['grants', 'revoke', '--grant', one], env, NOW)).toEqual({ exit: 0, out: 'Ended 1 grant.\n', err: '' })
    expect(await run(['grants', 'revoke', '--grant', one], env, NOW)).toMatchObject({
      exit: 0,
      out: 'There was nothing to end.\n',
    })
    expect(await listGrants('--living')).toEqual([expect.objectContaining({ grant_id: other })])
    expect((await listGrants()).find(({ grant_id }) => grant_id === one)).toMatchObject({
      state: 'ended',
      end_reason: 'operator',
      ended_at: NOW,
    })
    expect((await run(['grants', 'list'], env, NOW)).out).toMatch(new RegExp(`${one} .* ended: operator$`, 'm'))
    expect((await run(['grants', 'show', one], env, NOW)).out).toMatch(/^ {2}ended_at +\d{4}-\d\d-\d\dT[\d:]+Z$/m)
  })

  test('The command grants revoke --wallet ends all grants of that wallet, and with --client those to that client', async () => {
    await storeGrant(ALICE, 'app')
    await storeGrant(ALICE, 'other')
    await storeGrant(BOB, 'app')
    expect((await run(['grants', 'revoke', '--wallet', ALICE, '--client', 'app'], env)).out).toBe('Ended 1 grant.\n')
    expect((await run(['grants', 'revoke', '--wallet', ALICE, '--json'], env)).out).toBe('{"grants_ended":1}\n')
    expect(await listGrants('--living')).toEqual([expect.objectContaining({ wallet: BOB })])
  })

  test.each([[[]], [['--grant', 'g', '--wallet', ALICE]], [['--client', 'app']], [['--grant', 'g', '--client', 'app']]])(
    'The options %j of grants revoke are incomplete or contradict each other, and are refused',
    async (more) => {
      expect(await run(['grants', 'revoke', ...more], env)).toMatchObject({ exit: 2, out: '' })
    },
  )

  test('The command grants revoke with an unknown grant id exits with 1 and reports that there is no such grant', async () => {
    expect(await run(['grants', 'revoke', '--grant', randomUUID()], env)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('there is no grant'),
    })
  })
})
