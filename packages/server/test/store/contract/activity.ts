/** The activity of each hour and day: counted by several nodes at once, and bounded. */
import { expect, test } from 'vitest'
import { ActivityCounter, KEPT } from '../../../src/domain/activity/activity-counter.ts'
import { readActivityTotals } from '../../../src/domain/activity/activity-totals.ts'
import { DAY, NOW, type Subject } from './subject.ts'

const HOUR = 3600

/** The same wallets in each run: an estimate of random wallets can differ by one. */
function walletsOf(prefix: string): () => string {
  let number = 0
  return () => `${prefix}${++number}`
}

export function activityContract(subject: Subject): void {
  test('Two nodes that count at once lose nothing, and count a wallet of both once', async () => {
    const counters = subject().nodes.map(({ activity }) => new ActivityCounter(activity, () => NOW))
    const someWallet = walletsOf('0xa')
    const both = someWallet()
    for (const counter of counters) {
      counter.noteSignIn(both)
      for (let n = 0; n < 4; n++) counter.noteSignIn(someWallet())
      for (let n = 0; n < 5; n++) counter.noteTokens(someWallet())
    }
    await Promise.all(counters.map((counter) => counter.store()))
    for (const counter of counters) counter.noteSignIn(both)
    await Promise.all(counters.map((counter) => counter.store()))
    const [, other] = subject().nodes
    const totals = await readActivityTotals(other.activity, { at: NOW, days: 2 })
    expect(totals.activeWallets).toEqual({ day: 19, thirtyDays: 19 })
    expect(totals.signIns.map(({ signIns }) => signIns)).toEqual([0, 12])
  })

  test('Wallets of the last 24 hours and of the last 30 days are counted, and those before are not', async () => {
    const [store] = subject().nodes
    const someWallet = walletsOf('0xb')
    let at = NOW - 40 * DAY
    const counter = new ActivityCounter(store.activity, () => at)
    for (; at <= NOW; at += 12 * HOUR) {
      counter.noteSignIn(someWallet())
      await counter.store()
    }
    const totals = await readActivityTotals(store.activity, { at: NOW, days: 30 })
    const sinceMidnight = Math.floor((NOW % DAY) / (12 * HOUR)) + 1
    expect(totals.activeWallets).toEqual({ day: 2, thirtyDays: 58 + sinceMidnight })
    expect(totals.signIns).toHaveLength(30)
    expect(totals.signIns.slice(0, 29).every(({ signIns }) => signIns === 2)).toBe(true)
  })

  test('Rows older than 48 hours and 400 days are deleted, so their number is bounded', async () => {
    const [store, other] = subject().nodes
    const someWallet = walletsOf('0xc')
    let at = NOW - 3 * DAY
    const counter = new ActivityCounter(store.activity, () => at)
    for (const period of ['d2020-01-01', 'd2020-01-02', 'h2020-01-01T00'])
      await store.activity.insertActivity({ period, signIns: 1, sketch: new Uint8Array(8) })
    for (; at <= NOW; at += HOUR) {
      counter.noteSignIn(someWallet())
      await counter.store()
    }
    const entries = await other.activity.readActivityEntries({ after: '', limit: 1000 })
    const [days, hours] = ['d', 'h'].map((kind) =>
      entries.filter(({ period }) => period.startsWith(kind)).map(({ period }) => period),
    )
    expect(hours).toHaveLength(KEPT.hours)
    expect(days).toHaveLength(4)
    expect(days).not.toContain('d2020-01-02')
  })

  test('What is counted while the counts are being stored is counted once, by that call or by the next one', async () => {
    const [store, other] = subject().nodes
    const someWallet = walletsOf('0xe')
    const counter = new ActivityCounter(store.activity, () => NOW)
    let noted = 0
    const note = (): number => {
      counter.noteSignIn(someWallet())
      return ++noted
    }
    for (let round = 0; round < 3; round++) {
      note()
      const progress = { isOver: false }
      const storing = counter.store().finally(() => (progress.isOver = true))
      // In between the rows of the hour and of the day.
      while (!progress.isOver && note() < 60) await new Promise((resolve) => setImmediate(resolve))
      await storing
    }
    await counter.store()
    const { signIns } = await readActivityTotals(other.activity, { at: NOW, days: 1 })
    const [hour] = await other.activity.readActivity({ after: 'h', limit: 1 })
    expect([signIns[0]?.signIns, hour?.signIns]).toEqual([noted, noted])
  })

  test('Counts that could not be stored are stored by the next call', async () => {
    const [store, other] = subject().nodes
    const someWallet = walletsOf('0xd')
    const counter = new ActivityCounter(store.activity, () => NOW)
    counter.noteSignIn(someWallet())
    const accept = await subject().refuseWrites()
    await expect(counter.store()).rejects.toThrow()
    counter.noteSignIn(someWallet())
    await accept()
    await counter.store()
    const { signIns, activeWallets } = await readActivityTotals(other.activity, { at: NOW, days: 1 })
    expect({ signIns: signIns[0]?.signIns, ...activeWallets }).toEqual({ signIns: 2, day: 2, thirtyDays: 2 })
  })
}
