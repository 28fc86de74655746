/** The key maintenance of a running service, for tests that change its keys as the upkeep and `grantor keys` do. */
import type { KeyKeeping } from '../../src/domain/maintenance/keep-keys.ts'
import { createKeyWrap } from '../../src/keys/key-wrap.ts'
import { type Grantor, TEST_SECRET } from './start.ts'

export function keepingOf(grantor: Grantor, more: Partial<KeyKeeping> = {}): KeyKeeping {
  return {
    store: grantor.store.keys,
    wrap: createKeyWrap(TEST_SECRET),
    signingAlgorithm: 'ES256',
    rotateAfter: 90 * 86_400,
    lifetimes: grantor.deps.settings.lifetimes,
    now: grantor.clock.now,
    ...more,
  }
}
