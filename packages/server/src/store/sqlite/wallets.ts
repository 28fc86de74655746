/** Wallets on SQLite: one row each, written at the first proof or the first ending. */
import type { Grant } from '../../domain/model/records.ts'
import type { WalletStore } from '../../domain/model/request-store.ts'
import { pack, unpack } from '../packed.ts'
import { inRange, walletSearchOf } from '../wallet-search.ts'
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
  // A contract wallet may have receipts and no row of its own.
  const find = connection.prepareRead(`
    SELECT address FROM wallets WHERE ${inRange('address')} UNION SELECT wallet FROM receipts WHERE ${inRange('wallet')}
    ORDER BY address LIMIT :limit`)
  const addressOf = (row: unknown): Grant['wallet'] => unpack((row as { address: Uint8Array }).address) as Grant['wallet']
  const epochOf = (row: unknown): number => (row as { epoch: number } | undefined)?.epoch ?? 0
  return {
    readWallet: (wallet) =>
      connection.read(() => {
        const row = read.get(pack(wallet)) as { epoch: number; proved_itself: number } | undefined
        return { epoch: row?.epoch ?? 0, provedItself: row?.proved_itself === 1 }
      }),
    readEpoch: (wallet) => connection.read(() => epochOf(read.get(pack(wallet)))),
    findWallets: (search) => connection.read(() => find.all(walletSearchOf(search)).map(addressOf)),
    rememberProof: (wallet) => connection.write(() => epochOf(remember.get(pack(wallet)))),
    raiseEpoch: (wallet) => connection.write(() => epochOf(raise.get(pack(wallet)))),
  }
}
