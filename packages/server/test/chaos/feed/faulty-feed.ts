/** A feed as a node on PostgreSQL makes it, without the rule that no ending is skipped. The check of a run must find it out. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { loadPlacement } from '../../../src/app/compose/database.ts'
import { EndingFeed } from '../../../src/domain/endings/feed.ts'
import { BEGUN_BEFORE, type beginOfScan } from '../../../src/store/postgres/ending-history.ts'
import { createEndingStore } from '../../../src/store/postgres/endings.ts'
import { storeOn } from '../../../src/store/postgres/index.ts'
import { PostgresConnection } from '../../../src/store/postgres/statements/connection.ts'
import { keepingOn, loadRing } from '../../support/key-keeping.ts'
import { addressOf } from '../../support/postgres-database.ts'
import { LIFETIMES, TestClock } from '../../support/start.ts'
import { type Acknowledged, type Expected, followFeed } from './follower.ts'

/** A rule that would be right if endings became visible in the order of their times: it continues at the time of the latest read. */
export const atLatestRead: typeof beginOfScan = ({ positions }) => (positions.at(-1)?.at ?? 0) + BEGUN_BEFORE

export async function followFaultyFeed(databaseUrl: string, expected: Expected, ledger: readonly Acknowledged[]) {
  const connection = new PostgresConnection(addressOf(databaseUrl), { clock: 'database', loadPlacement })
  const store = storeOn(connection)
  const keys = await loadRing(keepingOn(store, new TestClock()))
  const feed = new EndingFeed({
    store: { clients: store.clients, endings: createEndingStore(connection, atLatestRead) },
    keys,
    settings: { authUrl: expected.issuer, defaultResource: expected.issuer, lifetimes: LIFETIMES },
    clock: () => Date.now() / 1000,
    nextTurn: () => nextTurn(),
    note: () => undefined,
  })
  const follower = followFeed(feed, expected, ledger)
  async function close(): Promise<void> {
    follower.close()
    await store.close()
  }
  return { ...follower, close }
}
