/**
 * The members of client metadata that a client relies on: how its tokens and responses are signed, and which requests are refused (RFC 7591
 * §2, OpenID Connect Dynamic Client Registration §2, RFC 9449 §5.2, RFC 9126 §6, RFC 9101 §10.5). To ignore such a member would break or
 * weaken the client, so a value that the service does not offer is a fault.
 */
import { SIGNING_ALGORITHMS } from '../../protocol/keys/signing-key.ts'
import { CLIENT_DEFAULTS } from '../model/client-record.ts'
import type { Client } from '../model/records.ts'

const FLAG = [false, true]

const GUARANTEES = {
  idTokenAlgorithm: { member: 'id_token_signed_response_alg', values: SIGNING_ALGORITHMS },
  authorizationAlgorithm: { member: 'authorization_signed_response_alg', values: SIGNING_ALGORITHMS },
  dpopBound: { member: 'dpop_bound_access_tokens', values: FLAG },
  requirePushedRequests: { member: 'require_pushed_authorization_requests', values: FLAG },
  requestObjectSigned: { member: 'require_signed_request_object', values: FLAG },
} as const

/** Members with the one value that the service offers. OpenID Connect Core §8: every client reads the same `sub`. */
const FIXED = { subject_type: 'public', tls_client_certificate_bound_access_tokens: false } as const

type Property = keyof typeof GUARANTEES
export type Guarantees = Pick<Client, Property>

const PROPERTIES = Object.keys(GUARANTEES) as Property[]

/** The values of a client whose metadata have none of the members. */
export const USUAL_GUARANTEES = Object.fromEntries(PROPERTIES.map((each) => [each, CLIENT_DEFAULTS[each]])) as Guarantees

/** The values in the metadata; null if the service does not offer one of them. */
export function readGuarantees(metadata: Record<string, unknown>): Guarantees | null {
  const isOther = Object.entries(FIXED).some(([member, only]) => (metadata[member] ?? only) !== only)
  if (isOther) return null
  const read = PROPERTIES.map(
    (property) => [property, metadata[GUARANTEES[property].member] ?? USUAL_GUARANTEES[property]] as const,
  )
  const isOffered = read.every(([property, value]) => (GUARANTEES[property].values as readonly unknown[]).includes(value))
  return isOffered ? (Object.fromEntries(read) as Guarantees) : null
}

/** The members for the response to a registration (RFC 7591 §3.2.1: with the values that the service chose). */
export function statedGuarantees(guarantees: Guarantees): Record<string, unknown> {
  const { subject_type } = FIXED
  return { subject_type, ...Object.fromEntries(PROPERTIES.map((each) => [GUARANTEES[each].member, guarantees[each]])) }
}

/** The values that differ from the usual ones, for a short text. */
export function unusualGuarantees(guarantees: Guarantees): Partial<Guarantees> {
  return Object.fromEntries(
    PROPERTIES.filter((each) => guarantees[each] !== USUAL_GUARANTEES[each]).map((each) => [each, guarantees[each]]),
  )
}
