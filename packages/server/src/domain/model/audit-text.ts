/**
 * The text of an audit line: the JSON text that is hashed and exported. The store makes the text again from the columns of a line, so neither the
 * order of the members nor the shortened form of a wallet may change: lines that are stored would no longer have their hashes.
 */
import { shortenAddress } from '../../protocol/wallet/address.ts'

type Optional<Value> = Value | null | undefined

/** `wallet` and `operator` are complete. Members without a value are left out of the text. */
export type LineMembers = {
  id: string
  at: number
  event: string
  result: string
  reason: Optional<string>
  operator: Optional<string>
  clientId: Optional<string>
  grantId: Optional<string>
  wallet: Optional<string>
  keyId: Optional<string>
  resource: Optional<string>
  requestId: Optional<string>
  network: Optional<string>
  details: Optional<object>
}

/** The text after the number of the line. */
export function textAfterNumber(members: LineMembers): string {
  const { operator, wallet } = members
  const text = JSON.stringify({
    id: members.id,
    at: members.at,
    event: members.event,
    result: members.result,
    reason: members.reason ?? undefined,
    operator: isGiven(operator) ? shortenIfWallet(operator) : undefined,
    client_id: members.clientId ?? undefined,
    grant_id: members.grantId ?? undefined,
    wallet: isGiven(wallet) ? shortenAddress(wallet) : undefined,
    key_id: members.keyId ?? undefined,
    resource: members.resource ?? undefined,
    request_id: members.requestId ?? undefined,
    network: members.network ?? undefined,
    details: members.details ?? undefined,
  })
  return text.slice(1)
}

const isGiven = (value: Optional<string>): value is string => value !== null && value !== undefined

export function textAt(seq: number, afterNumber: string): string {
  return `{"seq":${seq},${afterNumber}`
}

/** An operator may be a wallet. */
export function shortenIfWallet(operator: string): string {
  return /^0x[0-9a-fA-F]{40}$/.test(operator) ? shortenAddress(operator) : operator
}
