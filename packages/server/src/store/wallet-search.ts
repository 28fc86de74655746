/**
 * The statement that finds wallets by the beginning of their address, the same in both engines. Addresses are stored in the EIP-55 form, whose
 * capitals depend on the whole address. So a beginning has one range of the index for each way to write its letters.
 */

/** Ranges of one search. The digits beyond are compared in the rows that the ranges find. */
const RANGES_AT_MOST = 64

export type WalletSearch = {
  /** `0x` and hexadecimal digits, in lower case */
  prefix: string
  limit: number
  /** the last address of the previous page; empty for the first page */
  after: string
}

/** The statement with named values, and the values. `from`: the rows, with a column `address`, from the conditions of each range. */
export function walletSearchOf(
  { prefix, limit, after }: WalletSearch,
  from: (conditionsOn: (column: string) => string[]) => string,
): { sql: string; named: Record<string, string | number> } {
  const starts = startsOf(prefix)
  const bounds = starts.flatMap((start, n): [string, string][] => [
    // A page begins with the first address after `after`.
    [`from${n}`, after < start ? start : `${after} `],
    // The next character after the hexadecimal digits.
    [`to${n}`, `${start}g`],
  ])
  const conditionsOn = (column: string): string[] =>
    starts.map((_, n) => `${column} >= :from${n} AND ${column} < :to${n} AND lower(${column}) LIKE :beginning`)
  return {
    sql: `${from(conditionsOn)} ORDER BY address LIMIT :limit`,
    named: { ...Object.fromEntries(bounds), beginning: `${prefix}%`, limit },
  }
}

/** The ways to write the first digits. */
function startsOf(prefix: string): string[] {
  let starts = ['0x']
  for (const digit of prefix.slice(2)) {
    const forms = [...new Set([digit, digit.toUpperCase()])]
    if (starts.length * forms.length > RANGES_AT_MOST) break
    starts = starts.flatMap((start) => forms.map((form) => start + form))
  }
  return starts
}

const HAS_ENDS = 'wallet >= :from AND wallet < :to AND substr(wallet, 39) = :ending'

/** The rows of a wallet of whose address the first four digits and the last four are known. No index has the wallets of ended sessions. */
export const WITH_ENDS = [
  { table: 'sessions', rows: `sessions WHERE ended_at IS NULL AND ${HAS_ENDS}` },
  { table: 'grants', rows: `grants WHERE ${HAS_ENDS}` },
  { table: 'receipts', rows: `receipts WHERE ${HAS_ENDS}` },
]

/** The values of `WITH_ENDS` for a shortened address, such as `0x1F9a…90C5`; none for any other text. */
export function endsOfAddresses(shortened: string): { from: string; to: string; ending: string }[] {
  const [, from, ending] = /^(0x[0-9a-fA-F]{4})…([0-9a-fA-F]{4})$/.exec(shortened) ?? []
  return from === undefined || ending === undefined ? [] : [{ from, to: `${from}g`, ending }]
}
