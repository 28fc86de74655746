/** Wallets on SQLite: one row each, written at the first proof or the first ending. */
import type { Grant } from '../../domain/model/records.ts'
import type { WalletStore } from '../../domain/model/request-store.ts'
import { walletSearchOf } from '../wallet-search.ts'
import type { SqliteConnection } from './connection.ts'

export function createWalletStore(connection: SqliteConnection): WalletStore {
  const read = connection.prepareRead('SELECT epoch, proved_itself FROM wallets WHERE address = ?')
  const remember = connection.prepareWrite(`
    INSERT INTO wallets (address, epoch, proved_itself) VALUES (?, 0, 1)
    ON CONFLICT (address) DO UPDATE SET proved_itself = 1
    RETURNING epoch`)
  const raise = connection.prepareWrite(`
    INSERT INTO wallets (address, epoch, proved_itself) VALUES (?, 1, 0)
    ON CONFLICT (address) DO UPDATE SET epoch = epoch + 1
    RETURNING epoch`)
  const addressOf = (row: unknown): Grant['wallet'] => (row as { address: Grant['wallet'] }).address
  const epochOf = (row: unknown): number => (row as { epoch: number } | undefined)?.epoch ?? 0
  return {
    readWallet: (wallet) =>
      connection.read(() => {
        const row = read.get(wallet) as { epoch: number; proved_itself: number } | undefined
        return { epoch: row?.epoch ?? 0, provedItself: row?.proved_itself === 1 }
      }),
    readEpoch: (wallet) => connection.read(() => epochOf(read.get(wallet))),
    // A contract wallet may have receipts and no row of its own. SQLite reads the whole table for ranges that are joined by OR.
    findWallets(search) {
      const { sql, named } = walletSearchOf(search, (conditionsOn) =>
        [
          ...conditionsOn('address').map((condition) => `SELECT address FROM wallets WHERE ${condition}`),
          ...conditionsOn('wallet').map((condition) => `SELECT wallet FROM receipts WHERE ${condition}`),
        ].join(' UNION '),
      )
      return connection.read(() => connection.prepareRead(sql).all(named).map(addressOf))
    },
    rememberProof: (wallet) => connection.write(() => epochOf(remember.get(wallet))),
    raiseEpoch: (wallet) => connection.write(() => epochOf(raise.get(wallet))),
  }
}
