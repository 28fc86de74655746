/** Wallets with their epochs, and sessions, each of which starts once per login. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/domain/model/records.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { NOW, race, type Subject, someReceipt, someSession, someWallet } from './subject.ts'

export function walletsContract(subject: Subject): void {
  test('An unknown wallet has epoch 0, and reading it stores nothing', async () => {
    const [store] = subject().nodes
    const wallet = someWallet()
    expect(await store.wallets.readWallet(wallet)).toEqual({ epoch: 0, provedItself: false })
    expect(await store.wallets.readEpoch(wallet)).toBe(0)
    expect(await store.wallets.raiseEpoch(wallet)).toBe(1)
  })

  test("Recording a wallet's proof returns its epoch and does not raise it", async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    expect(await store.wallets.rememberProof(wallet)).toBe(0)
    expect(await store.wallets.rememberProof(wallet)).toBe(0)
    await other.wallets.raiseEpoch(wallet)
    expect(await store.wallets.rememberProof(wallet)).toBe(1)
    expect(await store.wallets.readEpoch(wallet)).toBe(1)
  })

  test('A wallet that has proved to be an ordinary wallet stays recorded as such, however often its epoch is raised', async () => {
    const [store, other] = subject().nodes
    const [wallet, unproven] = [someWallet(), someWallet()]
    await store.wallets.raiseEpoch(wallet)
    expect(await other.wallets.readWallet(wallet)).toEqual({ epoch: 1, provedItself: false })
    await store.wallets.rememberProof(wallet)
    await other.wallets.raiseEpoch(wallet)
    await other.wallets.raiseEpoch(unproven)
    expect(await store.wallets.readWallet(wallet)).toEqual({ epoch: 2, provedItself: true })
    expect(await store.wallets.readWallet(unproven)).toEqual({ epoch: 1, provedItself: false })
  })

  test("Fifty concurrent endings raise a wallet's epoch fifty times, each to a different number", async () => {
    const [store] = subject().nodes
    const [wallet, bystander] = [someWallet(), someWallet()]
    const epochs = await race(subject(), 50, (node) => node.wallets.raiseEpoch(wallet))
    expect(epochs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
    expect(await store.wallets.readEpoch(wallet)).toBe(50)
    expect(await store.wallets.readEpoch(bystander)).toBe(0)
  })
}

export function findWalletsContract(subject: Subject): void {
  const address = (start: string): Address => `0x${start}${someWallet().slice(2 + start.length)}`

  test('Wallets are found by the beginning of their address, in capitals or not, page by page, each once', async () => {
    const [store, other] = subject().nodes
    const wanted = ['abCdEf12', 'ABcDef12', 'abcdef12', 'AbCdEf1F'].map(address)
    for (const wallet of [...wanted, address('abcdee12'), address('0bcdef12')]) await store.wallets.rememberProof(wallet)
    const find = (prefix: string, limit = 10, after = '') => other.wallets.findWallets({ prefix, limit, after })
    const found = await find('0xabcdef1')
    const inLowerCase = (wallet: string) => wallet.toLowerCase()
    expect(found.map(inLowerCase), 'in the order of the digits').toEqual(wanted.map(inLowerCase).toSorted())
    expect(found.toSorted()).toEqual(wanted.toSorted())
    expect(await find('0xabcdef12')).toHaveLength(3)
    expect(await find('0xabcdef123456789')).toEqual(wanted.filter((each) => each.toLowerCase().startsWith('0xabcdef123456789')))
    expect(await find('0x1')).toEqual([])
    const first = await find('0xabcdef', 3)
    expect([...first, ...(await find('0xabcdef', 3, first.at(-1)))]).toEqual(found)
    const [one = ''] = wanted
    expect(await find(one.toLowerCase())).toEqual([one])
  })

  test('A wallet that only has a receipt, and one that only ended everything, are found by the beginning of their address', async () => {
    const [store, other] = subject().nodes
    const [contract, ended] = [address('c0ffee01'), address('c0ffee02')]
    await store.receipts.insertReceipt(someReceipt({ wallet: contract, walletKind: 'contract' }), 0)
    await store.wallets.raiseEpoch(ended)
    expect(await other.wallets.findWallets({ prefix: '0xc0ffee', limit: 10, after: '' })).toEqual([contract, ended])
  })
}

export function sessionsContract(subject: Subject): void {
  test('A session reads exactly as it was started', async () => {
    const [store, other] = subject().nodes
    const session = someSession({ method: 'vouched', lastSeenAt: NOW + 1 })
    expect(await store.sessions.startSession(session, randomUUID())).toBe('started')
    expect(await other.sessions.readSession(session.hash)).toEqual(session)
    expect(await other.sessions.readSession(someSession().hash)).toBeNull()
  })

  test('A login that fifty requests complete at once, on two nodes, starts one session', async () => {
    const session = someSession()
    const outcomes = await race(subject(), 50, (store) => store.sessions.startSession(session, randomUUID()))
    expect(outcomes.filter((outcome) => outcome === 'started')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(49)
  })

  test('A login cannot start a second session, and trying does not change the first one, ended or not', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    expect(await store.sessions.startSession({ ...session, wallet: someWallet() }, randomUUID())).toBe('taken')
    await store.sessions.endSession(session.hash, randomUUID(), NOW + 1)
    expect(await store.sessions.startSession(session, randomUUID())).toBe('taken')
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, endedAt: NOW + 1 })
  })

  test('A session start that the same attempt repeats after a lost response reads as started, on any node', async () => {
    const [store, other] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, 'attempt-1')
    expect(await other.sessions.startSession(session, 'attempt-1')).toBe('started')
    expect(await other.sessions.startSession(session, 'attempt-2')).toBe('taken')
  })

  test('Using a session moves the time of its last use forward, never back', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    await store.sessions.touchSession(session.hash, NOW + 700)
    await store.sessions.touchSession(session.hash, NOW + 650)
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, lastSeenAt: NOW + 700 })
  })

  test('An ended session stays ended: later uses and endings do not change it', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    await store.sessions.endSession(session.hash, randomUUID(), NOW + 10)
    await store.sessions.touchSession(session.hash, NOW + 20)
    await store.sessions.endSession(session.hash, randomUUID(), NOW + 30)
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, endedAt: NOW + 10 })
  })

  test('Using or ending an unknown session creates none', async () => {
    const [store] = subject().nodes
    const { hash } = someSession()
    await store.sessions.touchSession(hash, NOW)
    await store.sessions.endSession(hash, randomUUID(), NOW)
    expect(await store.sessions.readSession(hash)).toBeNull()
  })

  test("The list of a wallet's sessions contains its valid sessions only, the newest first", async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    const older = someSession({ wallet, authTime: NOW, walletKind: 'contract', receiptId: randomUUID() })
    const younger = someSession({ wallet, authTime: NOW + 5 })
    const [ended, expired] = [someSession({ wallet }), someSession({ wallet, expiresAt: NOW + 10 })]
    for (const session of [older, younger, ended, expired, someSession()])
      await store.sessions.startSession(session, randomUUID())
    await store.sessions.endSession(ended.hash, randomUUID(), NOW)
    expect(await other.sessions.listSessions(wallet, { at: NOW + 10, limit: 100 })).toEqual([younger, older])
    expect(await other.sessions.listSessions(wallet, { at: NOW + 9, limit: 100 })).toHaveLength(3)
    expect(await other.sessions.listSessions(someWallet(), { at: NOW, limit: 100 })).toEqual([])
  })

  test('Of twenty concurrent attempts to end one session, exactly one returns that it ended the session', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    const outcomes = await race(subject(), 20, (node) => node.sessions.endSession(session.hash, randomUUID(), NOW))
    expect(outcomes.filter((outcome) => outcome === 'ended')).toHaveLength(1)
    expect(await store.sessions.endSession(session.hash, randomUUID(), NOW)).toBe('ended_before')
    expect(await store.sessions.endSession('unknown', randomUUID(), NOW)).toBe('ended_before')
  })

  test('An ending of a session that the same attempt repeats after a lost response reads as ended, on any node, at the first time', async () => {
    const [store, other] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, 'attempt-0')
    expect(await store.sessions.endSession(session.hash, 'attempt-1', NOW + 5)).toBe('ended')
    expect(await other.sessions.endSession(session.hash, 'attempt-1', NOW + 9)).toBe('ended')
    expect(await other.sessions.endSession(session.hash, 'attempt-2', NOW + 9)).toBe('ended_before')
    expect(await store.sessions.endSession(session.hash, 'attempt-1', NOW + 9), 'another attempt changes nothing').toBe('ended')
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, endedAt: NOW + 5 })
  })

  test('Ending several sessions returns those that it ended, and returns them again to a retry of the same attempt', async () => {
    const [store, other] = subject().nodes
    const [ended, first, second, bystander] = [someSession(), someSession(), someSession(), someSession()]
    for (const session of [ended, first, second, bystander]) await store.sessions.startSession(session, randomUUID())
    await store.sessions.endSession(ended.hash, randomUUID(), NOW)
    const hashes = [ended, first, second].map(({ hash }) => hash)
    const endedNow = [first.hash, second.hash].sort()
    expect((await store.sessions.endSessions([...hashes, 'unknown'], 'attempt-1', NOW + 5)).sort()).toEqual(endedNow)
    expect((await other.sessions.endSessions(hashes, 'attempt-1', NOW + 9)).sort()).toEqual(endedNow)
    expect(await other.sessions.endSessions(hashes, 'attempt-2', NOW + 9)).toEqual([])
    expect(await store.sessions.endSessions([], 'attempt-3', NOW + 9)).toEqual([])
    expect(await store.sessions.readSession(ended.hash)).toMatchObject({ endedAt: NOW })
    expect(await store.sessions.readSession(second.hash)).toMatchObject({ endedAt: NOW + 5 })
    expect(await store.sessions.readSession(bystander.hash)).toEqual(bystander)
  })

  test("A wallet's sessions read page by page have no duplicates and no gaps if sessions end meanwhile", async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    // More sessions in one second than a page holds, so that the time alone does not identify the end of a page.
    const sessions = Array.from({ length: 30 }, (_, index) => someSession({ wallet, authTime: NOW + Math.floor(index / 9) }))
    await Promise.all(sessions.map((session) => store.sessions.startSession(session, randomUUID())))
    const all = await store.sessions.listSessions(wallet, { at: NOW, limit: 100 })
    expect(all.map(({ authTime }) => authTime)).toEqual(all.map(({ authTime }) => authTime).toSorted((a, b) => b - a))
    const paged: Session[] = []
    for (let page = all.slice(0, 4); page.length > 0; paged.push(...page)) {
      page = await other.sessions.listSessions(wallet, { at: NOW, limit: 4, after: paged.at(-1) })
      await store.sessions.endSessions(
        page.slice(0, 1).map(({ hash }) => hash),
        randomUUID(),
        NOW,
      )
    }
    expect(paged).toHaveLength(30)
    expect(paged.map(({ hash }) => hash)).toEqual(all.map(({ hash }) => hash))
  })
}
