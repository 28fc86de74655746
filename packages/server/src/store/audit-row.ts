/**
 * The row of an audit line, the same in both engines. The row has no copy of the text that is hashed: a read makes the text again from the columns.
 * Before a line is stored, this is tried. If the text would differ in any byte, the row has the whole text.
 */
import type { AuditLine, UnplacedLine } from '../domain/model/audit-store.ts'
import { textAfterNumber, textAt } from '../domain/model/audit-text.ts'
import { pack, packNullable, unpack, unpackNullable } from './packed.ts'

/** The columns of a line that are known before its place in the chain. */
export type UnplacedRow = {
  at: number
  event: string
  reason: string | null
  client_id: Uint8Array | null
  grant_id: Uint8Array | null
  wallet: Uint8Array | null
  operator: string | null
  /** null if `rest` is the whole text after the number */
  id: Uint8Array | null
  request_id: Uint8Array | null
  network: string | null
  /** the members of the text that have no column, as the JSON text of an object; null if there are none */
  rest: string | null
}

export type LineRow = UnplacedRow & { seq: number; hash: Uint8Array }

export const LINE_COLUMNS = 'seq, at, event, reason, client_id, grant_id, wallet, operator, id, request_id, network, rest, hash'

export function rowOf({ rest: text, ...line }: UnplacedLine): UnplacedRow {
  const columns = {
    at: line.at,
    event: line.event,
    reason: line.reason,
    client_id: packNullable(line.clientId),
    grant_id: packNullable(line.grantId),
    wallet: packNullable(line.wallet),
    operator: line.operator,
  }
  const { id, result, key_id, resource, request_id, network, details } = parseObject(`{${text}`) ?? {}
  const others = JSON.stringify({ result: result === 'done' ? undefined : result, key_id, resource, details })
  const row = {
    ...columns,
    id: typeof id === 'string' ? pack(id) : null,
    request_id: typeof request_id === 'string' ? pack(request_id) : null,
    network: typeof network === 'string' ? network : null,
    rest: others === '{}' ? null : others,
  }
  return textOf(row) === text ? row : { ...columns, id: null, request_id: null, network: null, rest: text }
}

export function lineOf(row: LineRow): AuditLine {
  const { seq, at, event, reason, operator } = row
  const [clientId, grantId] = [unpackNullable(row.client_id), unpackNullable(row.grant_id)]
  const wallet = unpackNullable(row.wallet) as AuditLine['wallet']
  const line = textAt(seq, textOf(row))
  return { seq, at, event, reason, clientId, grantId, wallet, operator, line, hash: unpack(row.hash) }
}

/** The text after the number. Any row has a text, also a row that was changed: the check of the chain must be able to read the row. */
function textOf(row: UnplacedRow): string {
  const others = row.rest === null ? {} : parseObject(row.rest)
  if (row.id === null || others === null) return row.rest ?? ''
  return textAfterNumber({
    id: unpack(row.id),
    at: row.at,
    event: row.event,
    result: (others.result ?? 'done') as string,
    reason: row.reason,
    operator: row.operator,
    clientId: unpackNullable(row.client_id),
    grantId: unpackNullable(row.grant_id),
    wallet: unpackNullable(row.wallet),
    keyId: others.key_id as string | undefined,
    resource: others.resource as string | undefined,
    requestId: unpackNullable(row.request_id),
    network: row.network,
    details: others.details as object | undefined,
  })
}

/** Null if the text is not the JSON text of an object. */
function parseObject(text: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Record<string, unknown>) : null
  } catch {
    return null
  }
}
