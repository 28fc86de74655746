/** Wallets on PostgreSQL: one row each, inserted at the first proof or the first ending. */
import type { Grant } from '../../domain/model/records.ts'
import type { WalletStore } from '../../domain/model/request-store.ts'
import { unpack } from '../packed.ts'
import { inRange, walletSearchOf } from '../wallet-search.ts'
import type { PostgresConnection } from './statements/connection.ts'

const WALLET = { table: 'wallets', key: 'wallet' } as const

const FIND = `SELECT address FROM wallets WHERE ${inRange('address')} ORDER BY address LIMIT :limit`

type WalletRow = { address: Uint8Array; epoch: number; proved_itself: boolean }

export function createWalletStore(connection: PostgresConnection): WalletStore {
  const read = connection.prepareBatched<WalletRow>({
    kind: 'read',
    one: 'SELECT address, epoch, proved_itself FROM wallets WHERE address = :wallet::packed',
    forMany: ' SELECT address, epoch, proved_itself FROM input JOIN wallets ON address = :wallet::packed',
    parameters: { wallet: 'packed' },
    place: WALLET,
    column: 'address',
    skipsLocked: false,
  })
  const remember = connection.prepare<Pick<WalletRow, 'epoch'>>(
    'move',
    `INSERT INTO wallets (address, epoch, proved_itself) VALUES (:wallet::packed, 0, true)
     ON CONFLICT (address) DO UPDATE SET proved_itself = true
     RETURNING epoch`,
    WALLET,
  )
  // Repeated after a lost response, this raises the epoch twice, which has the same effect. The lock makes the statement wait for the redemptions
  // that read the epoch before.
  const raise = connection.prepare<Pick<WalletRow, 'epoch'>>(
    'move',
    `INSERT INTO wallets (address, epoch, proved_itself) VALUES (:wallet::packed, 1, false)
     ON CONFLICT (address) DO UPDATE SET epoch = wallets.epoch + 1
     RETURNING epoch`,
    { ...WALLET, lock: { mode: 'alone', wallet: 'wallet' } },
  )
  const epochOf = ([row]: Pick<WalletRow, 'epoch'>[]): number => row?.epoch ?? 0
  return {
    async readWallet(wallet) {
      const [row] = await read({ wallet })
      return { epoch: row?.epoch ?? 0, provedItself: row?.proved_itself ?? false }
    },
    readEpoch: async (wallet) => epochOf(await read({ wallet })),
    async findWallets(search) {
      const find = connection.prepare<{ address: Uint8Array }>('read', FIND, { table: 'wallets' })
      return (await find(walletSearchOf(search))).map(({ address }) => unpack(address) as Grant['wallet'])
    },
    rememberProof: async (wallet) => epochOf(await remember({ wallet })),
    async raiseEpoch(wallet) {
      await connection.placement.settle()
      return epochOf(await raise({ wallet }))
    },
  }
}
