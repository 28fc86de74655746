/** Wallets and their epoch; sessions and the once-only gate of a login. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/domain/model/records.ts'
import { NOW, race, type Subject, someSession, someWallet } from './subject.ts'

export function walletsContract(subject: Subject): void {
  test('a wallet never seen has epoch 0, and reading it leaves no trace', async () => {
    const [store] = subject().nodes
    const wallet = someWallet()
    expect(await store.wallets.readWallet(wallet)).toEqual({ epoch: 0, provedItself: false })
    expect(await store.wallets.readEpoch(wallet)).toBe(0)
    expect(await store.wallets.raiseEpoch(wallet)).toBe(1)
  })

  test('a proof is remembered and tells the epoch, without raising it', async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    expect(await store.wallets.rememberProof(wallet)).toBe(0)
    expect(await store.wallets.rememberProof(wallet)).toBe(0)
    await other.wallets.raiseEpoch(wallet)
    expect(await store.wallets.rememberProof(wallet)).toBe(1)
    expect(await store.wallets.readEpoch(wallet)).toBe(1)
  })

  test('a wallet that proved itself as an ordinary one has done so for ever, whatever ends', async () => {
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

  test('fifty endings at once raise a wallet’s epoch fifty times, each to a number of its own', async () => {
    const [store] = subject().nodes
    const [wallet, bystander] = [someWallet(), someWallet()]
    const epochs = await race(subject(), 50, (node) => node.wallets.raiseEpoch(wallet))
    expect(epochs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
    expect(await store.wallets.readEpoch(wallet)).toBe(50)
    expect(await store.wallets.readEpoch(bystander)).toBe(0)
  })
}

export function sessionsContract(subject: Subject): void {
  test('a session is kept as it was started', async () => {
    const [store, other] = subject().nodes
    const session = someSession({ method: 'vouched', lastSeenAt: NOW + 1 })
    expect(await store.sessions.startSession(session, randomUUID())).toBe('started')
    expect(await other.sessions.readSession(session.hash)).toEqual(session)
    expect(await other.sessions.readSession(someSession().hash)).toBeNull()
  })

  test('one login completed by fifty requests at once, on two nodes, starts one session', async () => {
    const session = someSession()
    const outcomes = await race(subject(), 50, (store) => store.sessions.startSession(session, randomUUID()))
    expect(outcomes.filter((outcome) => outcome === 'started')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(49)
  })

  test('a login spent once stays spent: a later start changes nothing in the session, ended or not', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    expect(await store.sessions.startSession({ ...session, wallet: someWallet() }, randomUUID())).toBe('taken')
    await store.sessions.endSession(session.hash, randomUUID(), NOW + 1)
    expect(await store.sessions.startSession(session, randomUUID())).toBe('taken')
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, endedAt: NOW + 1 })
  })

  test('a start asked for again by its own attempt, after a lost answer, reads as started, on any node', async () => {
    const [store, other] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, 'attempt-1')
    expect(await other.sessions.startSession(session, 'attempt-1')).toBe('started')
    expect(await other.sessions.startSession(session, 'attempt-2')).toBe('taken')
  })

  test('a visit moves the last visit forward, never back', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    await store.sessions.touchSession(session.hash, NOW + 700)
    await store.sessions.touchSession(session.hash, NOW + 650)
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, lastSeenAt: NOW + 700 })
  })

  test('an ended session stays ended: visits and later endings change nothing', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    await store.sessions.endSession(session.hash, randomUUID(), NOW + 10)
    await store.sessions.touchSession(session.hash, NOW + 20)
    await store.sessions.endSession(session.hash, randomUUID(), NOW + 30)
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, endedAt: NOW + 10 })
  })

  test('a visit to, or the ending of, a session nobody started makes none', async () => {
    const [store] = subject().nodes
    const { hash } = someSession()
    await store.sessions.touchSession(hash, NOW)
    await store.sessions.endSession(hash, randomUUID(), NOW)
    expect(await store.sessions.readSession(hash)).toBeNull()
  })

  test('a wallet’s list of sessions holds those that live, the youngest first, and nobody else’s', async () => {
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

  test('of any number of attempts to end one session at once exactly one reads that it did', async () => {
    const [store] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, randomUUID())
    const outcomes = await race(subject(), 20, (node) => node.sessions.endSession(session.hash, randomUUID(), NOW))
    expect(outcomes.filter((outcome) => outcome === 'ended')).toHaveLength(1)
    expect(await store.sessions.endSession(session.hash, randomUUID(), NOW)).toBe('ended_before')
    expect(await store.sessions.endSession('nobody’s', randomUUID(), NOW)).toBe('ended_before')
  })

  test('an ending that is repeated by its own attempt, after a lost answer, reads as ended, on any node, and keeps its moment', async () => {
    const [store, other] = subject().nodes
    const session = someSession()
    await store.sessions.startSession(session, 'attempt-0')
    expect(await store.sessions.endSession(session.hash, 'attempt-1', NOW + 5)).toBe('ended')
    expect(await other.sessions.endSession(session.hash, 'attempt-1', NOW + 9)).toBe('ended')
    expect(await other.sessions.endSession(session.hash, 'attempt-2', NOW + 9)).toBe('ended_before')
    expect(await store.sessions.endSession(session.hash, 'attempt-1', NOW + 9), 'another attempt changes nothing').toBe('ended')
    expect(await store.sessions.readSession(session.hash)).toEqual({ ...session, endedAt: NOW + 5 })
  })

  test('ending several sessions ends those that live and names them, and names them again to its own attempt', async () => {
    const [store, other] = subject().nodes
    const [ended, first, second, bystander] = [someSession(), someSession(), someSession(), someSession()]
    for (const session of [ended, first, second, bystander]) await store.sessions.startSession(session, randomUUID())
    await store.sessions.endSession(ended.hash, randomUUID(), NOW)
    const hashes = [ended, first, second].map(({ hash }) => hash)
    const told = [first.hash, second.hash].sort()
    expect((await store.sessions.endSessions([...hashes, 'nobody’s'], 'attempt-1', NOW + 5)).sort()).toEqual(told)
    expect((await other.sessions.endSessions(hashes, 'attempt-1', NOW + 9)).sort()).toEqual(told)
    expect(await other.sessions.endSessions(hashes, 'attempt-2', NOW + 9)).toEqual([])
    expect(await store.sessions.endSessions([], 'attempt-3', NOW + 9)).toEqual([])
    expect(await store.sessions.readSession(ended.hash)).toMatchObject({ endedAt: NOW })
    expect(await store.sessions.readSession(second.hash)).toMatchObject({ endedAt: NOW + 5 })
    expect(await store.sessions.readSession(bystander.hash)).toEqual(bystander)
  })

  test('a wallet’s sessions are listed page by page: each goes on where the one before ended, whatever ends meanwhile', async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    // More in one second than a page holds, so that the moment alone does not say where a page ended.
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
