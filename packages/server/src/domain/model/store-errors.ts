/** The errors that every method of a store may throw. */

/** The store cannot be reached, is read-only or full, or was locked for two seconds. The HTTP status is 503. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** This program does not support the schema of the store. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch'
}
