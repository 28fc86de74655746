/** A store: what `openSqliteStore` and `openPostgresStore` return, and what the contract in packages/server/test/store/contract tests. */
import type { OperatorStore } from './operator-store.ts'
import type { RequestStore } from './request-store.ts'

export type Store = RequestStore & OperatorStore & { close(): Promise<void> }
