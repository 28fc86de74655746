/**
 * Searches for wallets by the beginning or by the two ends of their address, the same in both engines. A packed address begins with the 20 bytes of
 * the address, so the addresses with one beginning are one range of an index. The order is that of the bytes, whatever the case of the digits.
 */
import type { Grant } from '../domain/model/records.ts'
import { pack, unpack } from './packed.ts'

const ADDRESS_BYTES = 20
const PACKED_BYTES = pack(`0x${'0'.repeat(40)}`).length

type Range = { from: Uint8Array; to: Uint8Array }

export type WalletSearch = {
  /** `0x` and hexadecimal digits, in lower case */
  prefix: string
  limit: number
  /** the last address of the previous page; empty for the first page */
  after: string
}

/** The condition for the values of `walletSearchOf`. */
export const inRange = (column: string): string => `${column} > :from AND ${column} <= :to`

/** A page begins after `after`, and the first page before the first address with the beginning: `from` is shorter than a packed address. */
export function walletSearchOf({ prefix, limit, after }: WalletSearch): Range & { limit: number } {
  const { from, to } = rangeOf(prefix)
  const last = after === '' ? from : pack(after)
  return { from: Buffer.compare(last, from) > 0 ? last : from, to, limit }
}

/** The packed addresses whose digits begin with those of `beginning`. An odd last digit is the first half of a byte. */
function rangeOf(beginning: string): Range {
  const digits = beginning.slice(2)
  return {
    from: Buffer.from(digits.padEnd(2 * ADDRESS_BYTES, '0'), 'hex'),
    to: Buffer.from(digits.padEnd(2 * PACKED_BYTES, 'f'), 'hex'),
  }
}

/** The last two bytes of the address follow the first 18, and the case of the digits follows them. */
const HAS_ENDS = `${inRange('wallet')} AND substr(wallet, ${ADDRESS_BYTES - 1}, 2) = :ending`

/** The rows of a wallet of whose address the first four digits and the last four are known. No index has the wallets of ended sessions. */
export const WITH_ENDS = [
  { table: 'sessions', rows: `sessions WHERE ended_at IS NULL AND ${HAS_ENDS}` },
  { table: 'grants', rows: `grants WHERE ${HAS_ENDS}` },
  { table: 'receipts', rows: `receipts WHERE ${HAS_ENDS}` },
]

/** The values of `WITH_ENDS` for a shortened address, such as `0x1F9a…90C5`; none for any other text. */
export function endsOfAddresses(shortened: string): (Range & { ending: Uint8Array })[] {
  const [, beginning, ending] = /^(0x[0-9a-fA-F]{4})…([0-9a-fA-F]{4})$/.exec(shortened) ?? []
  if (beginning === undefined || ending === undefined) return []
  return [{ ...rangeOf(beginning), ending: Buffer.from(ending, 'hex') }]
}

/** The wallets of the rows that `WITH_ENDS` found, each once. The rows match in any case of the digits; a wallet matches in the case that was given. */
export function walletsWithEnds(shortened: string, rows: readonly { wallet: Uint8Array }[]): Grant['wallet'][] {
  const [beginning = '', ending = ''] = shortened.split('…')
  const wallets = new Set(rows.map(({ wallet }) => unpack(wallet) as Grant['wallet']))
  return [...wallets].filter((wallet) => wallet.startsWith(beginning) && wallet.endsWith(ending))
}
