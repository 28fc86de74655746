/** What a store throws in place of an answer; every port may. */

/** The store cannot be reached, is read-only, full, or stayed locked for two seconds. Answered as 503. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The store's schema is not the one this program knows. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch'
}
