/**
 * Checks a chain from its first line to its last one, page by page, and names the first line at which the chain is broken.
 *
 * An attacker who can change the tables can also compute the hashes again. So the chain is also compared with the signed heads in it, and with
 * heads that an operator noted elsewhere.
 */
import { type FindKey, openAuditHead } from '../../protocol/keys/audit-head.ts'
import { shortenAddress } from '../../protocol/wallet/address.ts'
import { hashOfLine } from '../model/audit-chain.ts'
import { type AuditHead, type AuditLine, NO_LINE } from '../model/audit-store.ts'
import { shortenIfWallet } from '../model/audit-text.ts'
import { HEAD_SIGNED, LINES_DELETED } from './own-events.ts'

export type ChainedLine = Pick<AuditLine, 'seq' | 'line' | 'hash'>

/**
 * - `removed`: the line is missing
 * - `changed`: the text, the hash or a column of the line was changed. The row of a database has the number only as a column, so a row at the place
 *   of another one is also `changed`.
 * - `moved`: the text has the number of another line
 * - `not_signed_so`: a signed or noted head names another hash of this line
 * - `truncated`: the chain ends before this line, which a head names
 * - `head_forged`: the line contains a head that a key of the service did not sign
 */
export type FaultKind = 'removed' | 'changed' | 'moved' | 'not_signed_so' | 'truncated' | 'head_forged'
export type HashChainFault = { seq: number; kind: FaultKind }

export type ChainReport = {
  /** null if the chain is unbroken */
  fault: HashChainFault | null
  lines: number
  /** the number of the first line; 0 if there is none */
  first: number
  last: AuditHead
  /** the last line that a signed head covers whose signature was checked */
  signedThrough: { seq: number; at: number } | null
  /** the number of signed heads whose keys were deleted */
  unknownKeys: number
}

export type VerifyOptions = {
  pages: AsyncIterable<readonly ChainedLine[]>
  findKey: FindKey
  /** heads from outside of the chain, such as the last line of an earlier export */
  heads?: readonly AuditHead[]
  /** the chain may begin with any line, as an export of a part does; otherwise earlier lines must have been deleted by age */
  mayBePart?: boolean
}

/** A signed head is compared with the hash of a line at most this many lines before it. */
const REMEMBERED_AT_MOST = 100_000

export async function verifyChain({ pages, findKey, heads = [], mayBePart = false }: VerifyOptions): Promise<ChainReport> {
  const check = new ChainCheck({ findKey, heads, mayBePart })
  for await (const page of pages) {
    for (const line of page) {
      check.add(line)
      if (check.report.fault) return check.report
    }
  }
  check.end()
  return check.report
}

class ChainCheck {
  readonly report: ChainReport = {
    fault: null,
    lines: 0,
    first: 0,
    last: { seq: 0, hash: NO_LINE },
    signedThrough: null,
    unknownKeys: 0,
  }
  readonly #findKey: FindKey
  readonly #heads: Map<number, string>
  readonly #mayBePart: boolean
  /** hashes of the latest lines, in their order */
  readonly #hashes = new Map<number, string>()
  #firstLine: ChainedLine | null = null
  /** whether a later line records that the lines before the first one were deleted by age */
  #isStartRecorded = false

  constructor({ findKey, heads, mayBePart }: Required<Omit<VerifyOptions, 'pages'>>) {
    this.#findKey = findKey
    this.#heads = new Map(heads.map(({ seq, hash }) => [seq, hash]))
    this.#mayBePart = mayBePart
  }

  add(line: ChainedLine): void {
    const { report } = this
    const fields = fieldsOf(line.line)
    const isFirst = report.lines === 0
    if (isFirst) this.#begin(line)
    const expected = isFirst ? line.seq : report.last.seq + 1
    if (line.seq > expected) return this.#fail(expected, 'removed')
    if (line.seq < expected) return this.#fail(expected, 'moved')
    if (fields?.seq !== line.seq) return this.#fail(line.seq, fields === null ? 'changed' : 'moved')
    // The hash of the line before the first one is unknown, unless the chain begins with line 1.
    const isChained = (isFirst && line.seq > 1) || hashOfLine(report.last.hash, line.line) === line.hash
    if (!isChained) return this.#fail(line.seq, 'changed')
    if (this.#heads.has(line.seq) && this.#heads.get(line.seq) !== line.hash) return this.#fail(line.seq, 'not_signed_so')
    report.last = { seq: line.seq, hash: line.hash }
    report.lines++
    this.#remember(line)
    if (fields.event === HEAD_SIGNED) this.#compareHead(line.seq, fields.details)
    if (fields.event === LINES_DELETED) this.#noteDeletion(fields.details)
  }

  end(): void {
    const { first, last } = this.report
    if (first > 1 && !this.#isStartRecorded && !this.#mayBePart) return this.#fail(1, 'removed')
    if ([...this.#heads.keys()].some((seq) => seq > last.seq)) this.#fail(last.seq + 1, 'truncated')
  }

  #begin(line: ChainedLine): void {
    this.report.first = line.seq
    this.#firstLine = line
  }

  #fail(seq: number, kind: FaultKind): void {
    this.report.fault ??= { seq, kind }
  }

  #remember({ seq, hash }: ChainedLine): void {
    this.#hashes.set(seq, hash)
    if (this.#hashes.size <= REMEMBERED_AT_MOST) return
    const [oldest] = this.#hashes.keys()
    if (oldest !== undefined) this.#hashes.delete(oldest)
  }

  #compareHead(seq: number, { head }: LineDetails): void {
    if (typeof head !== 'string') return this.#fail(seq, 'head_forged')
    const claims = openAuditHead(this.#findKey, head)
    if (claims === 'forged') return this.#fail(seq, 'head_forged')
    if (claims === 'unknown_key') return void this.report.unknownKeys++
    const hash = this.#hashes.get(claims.seq)
    // The line is before the part of the chain that is checked, or too far back.
    if (hash === undefined && claims.seq <= seq) return
    if (hash !== claims.hash) return this.#fail(claims.seq, 'not_signed_so')
    this.report.signedThrough = { seq: claims.seq, at: claims.iat }
  }

  /** The line names the last deleted line and its hash, from which the first remaining line follows. */
  #noteDeletion({ through, hash }: LineDetails): void {
    const first = this.#firstLine
    if (!first || typeof through !== 'number' || typeof hash !== 'string') return
    // An interrupted deletion leaves some of the lines.
    if (through >= first.seq) this.#isStartRecorded = true
    else if (through === first.seq - 1) {
      if (hashOfLine(hash, first.line) !== first.hash) return this.#fail(first.seq, 'changed')
      this.#isStartRecorded = true
    }
  }
}

type LineDetails = Readonly<Record<string, unknown>>
type LineFields = Readonly<Record<string, unknown>> & { details: LineDetails }

/** The members of a line; null if the text is not the JSON text of an object. */
export function fieldsOf(line: string): LineFields | null {
  try {
    const fields = JSON.parse(line) as Record<string, unknown> | null
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return null
    return { ...fields, details: (fields.details ?? {}) as LineDetails }
  } catch {
    return null
  }
}

/** Whether the search columns of a stored line agree with its text, which is what the hash covers. */
export function columnsAgree({ line, at, event, reason, clientId, grantId, wallet, operator }: AuditLine): boolean {
  const fields = fieldsOf(line)
  return (
    fields !== null &&
    fields.at === at &&
    fields.event === event &&
    (fields.reason ?? null) === reason &&
    (fields.client_id ?? null) === clientId &&
    (fields.grant_id ?? null) === grantId &&
    (fields.wallet ?? null) === (wallet && shortenAddress(wallet)) &&
    (fields.operator ?? null) === (operator && shortenIfWallet(operator))
  )
}
