/** The maintenance of keys, for tests that change keys as the upkeep and `grantor keys` do. */
import type { KeyKeeping } from '../../src/domain/maintenance/keep-keys.ts'
import type { Store } from '../../src/domain/model/store.ts'
import { createKeyWrap } from '../../src/keys/key-wrap.ts'
import { type Grantor, LIFETIMES, TEST_SECRET, type TestClock } from './start.ts'

export function keepingOn({ keys }: Pick<Store, 'keys'>, clock: TestClock, more: Partial<KeyKeeping> = {}): KeyKeeping {
  return {
    store: keys,
    wrap: createKeyWrap(TEST_SECRET),
    signingAlgorithm: 'ES256',
    rotateAfter: 90 * 86_400,
    lifetimes: LIFETIMES,
    now: clock.now,
    ...more,
  }
}

/** That of a running service. */
export function keepingOf({ store, clock, deps }: Grantor, more: Partial<KeyKeeping> = {}): KeyKeeping {
  return keepingOn(store, clock, { lifetimes: deps.settings.lifetimes, ...more })
}
