/** The checker itself: it finds each kind of violation, and accepts valid histories. */
import { describe, expect, test } from 'vitest'
import { checkFeed, type Ending, type Sighting } from './check-feed.ts'

const EXPIRY = 600_000

/** What is found for one token that one API saw. The API accepts a feed of one second. */
function check(endings: Ending[], sighting: Partial<Sighting>): string[] {
  const nothing = { checks: 1, acceptedByFeed: null, acceptedByIntrospection: null, oldestFeed: 0, refused: null }
  const token = { id: 'a', expiresAt: EXPIRY, endings }
  return checkFeed([token], [{ api: 'API 1', token: 'a', ...nothing, ...sighting }], () => 1000).map(({ rule }) => rule)
}

const ended: Ending = { begun: 9000, acknowledged: 10_000 }
const lost: Ending = { begun: 9000, acknowledged: null }
const refusedAt = (at: number) => ({ refused: { at, reason: 'ended' } })

describe('Histories without a violation', () => {
  test.each<[string, Ending[], Partial<Sighting>]>([
    ['a token that did not end is accepted', [], { acceptedByFeed: 50_000, acceptedByIntrospection: 50_000 }],
    ['the feed has the ending within a second', [ended], { acceptedByFeed: 11_000, ...refusedAt(11_001) }],
    ['an introspection began before the response to the ending', [ended], { acceptedByIntrospection: 10_000 }],
    ['a token is refused before the response to its ending', [ended], refusedAt(9000)],
    ['an ending without a response took effect', [lost], refusedAt(9001)],
    ['an ending without a response did not take effect', [lost], { acceptedByFeed: 50_000 }],
    ['the feed was as old as it may be', [], { acceptedByFeed: 1, oldestFeed: 1000 }],
    ['a token that expires is refused', [], refusedAt(EXPIRY - 2000)],
    ['of two endings the later one has no response', [ended, { ...lost, begun: 20_000 }], refusedAt(9500)],
  ])('%s', (_, endings, sighting) => {
    expect(check(endings, sighting)).toEqual([])
  })
})

describe('Violations', () => {
  test.each<[string, Ending[], Partial<Sighting>, string]>([
    [
      'accepted by the feed more than a second after an ending',
      [ended],
      { acceptedByFeed: 11_001 },
      'an ended token was accepted',
    ],
    [
      'accepted by the feed after the first of two endings',
      [{ begun: 20_000, acknowledged: 21_000 }, ended],
      { acceptedByFeed: 11_001 },
      'an ended token was accepted',
    ],
    ['accepted by introspection after an ending', [ended], { acceptedByIntrospection: 10_001 }, 'an ended token was accepted'],
    [
      'accepted although the feed was too old',
      [],
      { acceptedByFeed: 1, oldestFeed: 1001 },
      'a token was accepted on an old feed',
    ],
    ['refused without an ending', [], refusedAt(50_000), 'a valid token was refused'],
    ['refused before the request that ended it', [ended], refusedAt(8999), 'a valid token was refused'],
  ])('%s', (_, endings, sighting, rule) => {
    expect(check(endings, sighting)).toEqual([rule])
  })

  test('A sighting of a token of which nothing is known is no valid history', () => {
    expect(() => checkFeed([], [{ token: 'a' } as Sighting], () => 1000)).toThrow('a')
  })
})
