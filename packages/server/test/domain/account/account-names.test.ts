/** The names of accounts in memory: how long a request waits, and when another server is called again. */
import { expect, test } from 'vitest'
import { createAccountNames } from '../../../src/domain/account/account-names.ts'
import type { ClientAnswer, NameAnswer, SignedInAccount } from '../../../src/domain/model/deps.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { png } from '../../support/pictures.ts'

const WALLET: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const ALICE: SignedInAccount = { wallet: WALLET, walletKind: 'ordinary', chainId: 8453, receiptId: 'r' }
const AVATAR = 'https://example.com/alice.png'
const NAMED: NameAnswer = { kind: 'name', name: 'alice.eth', avatar: AVATAR }

/** `overdue()` ends every wait of 300 milliseconds that is under way. */
function namesOf({ answers, picture }: { answers: (NameAnswer | Promise<NameAnswer>)[]; picture?: ClientAnswer }) {
  const clock = { at: 1_000 }
  const waits: { milliseconds: number; end: () => void }[] = []
  const calls = { names: 0, pictures: [] as string[], hosts: [] as string[] }
  const names = createAccountNames({
    chainId: 1,
    readName: async () => answers[Math.min(calls.names++, answers.length - 1)] ?? { kind: 'none' },
    async fetch({ url }) {
      calls.pictures.push(url)
      return picture ?? { kind: 'unavailable', why: 'unreachable' }
    },
    countFetch: (host) => calls.hosts.push(host) <= 2,
    now: () => clock.at,
    pause: (milliseconds) => new Promise<void>((end) => void waits.push({ milliseconds, end })),
  })
  return { names, clock, calls, waits, overdue: () => waits.forEach(({ end }) => end()) }
}

test('A request waits for a name for 300 milliseconds at most, and the answer is kept for the next request', async () => {
  const { promise: slow, resolve: answer } = Promise.withResolvers<NameAnswer>()
  const { names, calls, waits, overdue } = namesOf({ answers: [slow] })
  const first = names.find(ALICE)
  overdue()
  expect(await first).toBeNull()
  expect(waits.map(({ milliseconds }) => milliseconds)).toEqual([300])
  answer(NAMED)
  expect(await names.find(ALICE)).toBe('alice.eth')
  expect(calls.names).toBe(1)
})

test('A name that a login has prepared is known without another look-up', async () => {
  const { names, calls } = namesOf({ answers: [NAMED] })
  names.prepare(ALICE)
  names.prepare(ALICE)
  expect(await names.find(ALICE)).toBe('alice.eth')
  expect(calls.names).toBe(1)
})

test.for<[NameAnswer, seconds: number]>([
  [NAMED, 3_600],
  [{ kind: 'none' }, 600],
  [{ kind: 'unavailable', why: 'rpc.example.com: timed_out' }, 60],
])('An answer is kept for its time, and then looked up again: %j', async ([answer, seconds]) => {
  const { names, calls, clock } = namesOf({ answers: [answer] })
  await names.find(ALICE)
  clock.at += seconds - 1
  await names.find(ALICE)
  expect(calls.names).toBe(1)
  clock.at += 1
  await names.find(ALICE)
  expect(calls.names).toBe(2)
})

test('At most 16 look-ups are under way: a further account is shown without a name at once, and looked up by its next request', async () => {
  const { promise: slow, resolve: answer } = Promise.withResolvers<NameAnswer>()
  const { names, calls } = namesOf({ answers: [slow] })
  const accounts = Array.from(
    { length: 17 },
    (_, i): SignedInAccount => ({ ...ALICE, wallet: `0x${String(i).padStart(40, '0')}` }),
  )
  const waiting = accounts.slice(0, 16).map((account) => names.find(account))
  expect(await names.find(accounts[16] as SignedInAccount)).toBeNull()
  expect(calls.names).toBe(16)
  answer(NAMED)
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['alice.eth']))
  expect(await names.find(accounts[16] as SignedInAccount)).toBe('alice.eth')
})

test('A picture is fetched once an hour, and an address without a picture once in five minutes', async () => {
  const good = namesOf({
    answers: [NAMED],
    picture: { kind: 'answered', status: 200, headers: {}, body: png().toString('latin1') },
  })
  expect(await good.names.findPicture(WALLET)).toEqual({ type: 'image/png', bytes: png() })
  good.clock.at += 3_599
  expect(await good.names.findPicture(WALLET)).toMatchObject({ type: 'image/png' })
  expect(good.calls.pictures).toEqual([AVATAR])
  good.clock.at += 1
  await good.names.findPicture(WALLET)
  expect(good.calls.pictures).toEqual([AVATAR, AVATAR])

  const bad = namesOf({ answers: [NAMED] })
  expect(await bad.names.findPicture(WALLET)).toBeNull()
  bad.clock.at += 299
  await bad.names.findPicture(WALLET)
  expect(bad.calls.pictures).toEqual([AVATAR])
  bad.clock.at += 1
  await bad.names.findPicture(WALLET)
  expect(bad.calls.pictures).toEqual([AVATAR, AVATAR])
})

test('A host that was called too often is not called for a picture', async () => {
  const { names, calls, clock } = namesOf({ answers: [NAMED] })
  for (let i = 0; i < 4; i++) {
    await names.findPicture(WALLET)
    clock.at += 300
  }
  expect(calls.hosts).toEqual(Array.from({ length: 4 }, () => 'example.com'))
  expect(calls.pictures).toHaveLength(2)
})

test.for<[string, Partial<SignedInAccount>, boolean]>([
  ['a key', {}, true],
  ['a contract on Ethereum', { walletKind: 'contract', chainId: 1 }, true],
  ['a contract on another chain, whose address can have another owner on Ethereum', { walletKind: 'contract' }, false],
  ['an account on Ethereum that the platform vouched for', { receiptId: null, chainId: 1 }, true],
  ['an account on another chain that the platform vouched for', { receiptId: null }, false],
])('The name of the address is looked up, or not, for %s (ENSIP-19)', async ([, account, isLookedUp]) => {
  const { names, calls } = namesOf({ answers: [NAMED] })
  names.prepare({ ...ALICE, ...account })
  expect(await names.find({ ...ALICE, ...account })).toBe(isLookedUp ? 'alice.eth' : null)
  expect(names.mayHaveName({ ...ALICE, ...account })).toBe(isLookedUp)
  expect(calls.names).toBe(isLookedUp ? 1 : 0)
})
