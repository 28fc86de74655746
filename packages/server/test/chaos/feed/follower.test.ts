/** The check of the promise "complete until": it finds an ending that the feed skips, and accepts a feed that is late. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type FeedMessage, wordsOf } from '../../../../resource/src/feed/message.ts'
import { entryOf } from './book.ts'
import { type Acknowledged, Promised } from './follower.ts'

const AT = 1_800_000_000_000
const entriesOf = (...ids: string[]) => wordsOf(Buffer.concat(ids.map(entryOf.uuid))) ?? new Uint32Array()

/** A message that was signed at once, `seconds` after the beginning, with these entries. */
function message(seconds: number, ids: string[], more: Partial<FeedMessage> = {}): FeedMessage {
  const until = AT + seconds * 1000
  const ended = [{ forgetAt: until / 1000 + 700, entries: entriesOf(...ids) }]
  return {
    at: until,
    feed: 'run',
    from: until - 500,
    until,
    lifetime: 600,
    part: undefined,
    keys: [],
    ended,
    clients: [],
    ...more,
  }
}
const part = (index: number, of: number): Partial<FeedMessage> => ({ from: null, part: { index, of } })

/** A connection with a snapshot without endings, from an exact clock. */
function connected(ledger: Acknowledged[]): Promised {
  const promised = new Promised(ledger)
  promised.begin({ at: AT }, AT)
  promised.take(message(0, [], part(1, 1)))
  return promised
}

test('An ending that is in no message is missing once `until` is later than its response', () => {
  const [known, skipped] = [randomUUID(), randomUUID()]
  const ledger = [{ at: AT + 2000, entries: entriesOf(known, skipped) }]
  const promised = connected(ledger)
  promised.take(message(2, [known]))
  expect([promised.missing, promised.isUpToDate]).toEqual([0, false])
  promised.take(message(4, []))
  expect([promised.missing, promised.found, promised.isUpToDate]).toEqual([1, 1, true])
})

test('An ending that arrives before `until` is later than its response is not missing', () => {
  const id = randomUUID()
  const promised = connected([{ at: AT + 2000, entries: entriesOf(id) }])
  promised.take(message(2.5, []))
  promised.take(message(4, [id]))
  expect([promised.missing, promised.isUpToDate]).toEqual([0, true])
})

test('A node whose clock is ahead promises nothing about the future', () => {
  const id = randomUUID()
  const promised = new Promised([{ at: AT + 2000, entries: entriesOf(id) }])
  promised.begin({ at: AT + 60_000 }, AT)
  promised.take(message(60, [], part(1, 1)))
  promised.take(message(62.5, []))
  expect(promised.missing).toBe(0)
  promised.take(message(64, [id]))
  expect([promised.missing, promised.found]).toEqual([0, 1])
})

test('A later snapshot must have every ending of the last lifetime of an access token again', () => {
  const [old, recent] = [randomUUID(), randomUUID()]
  const ledger = [
    { at: AT + 1000, entries: entriesOf(old) },
    { at: AT + 500_000, entries: entriesOf(recent) },
  ]
  const promised = connected(ledger)
  promised.take(message(3, [old]))
  promised.take(message(502, [recent]))
  promised.begin({ at: AT + 700_000 }, AT + 700_000)
  promised.take(message(700, [], part(1, 2)))
  expect(promised.missing, 'the earlier entries are in use until the snapshot is complete').toBe(0)
  promised.take(message(700, [], part(2, 2)))
  expect(promised.missing).toBe(1)
})
