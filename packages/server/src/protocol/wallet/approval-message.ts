/**
 * Template 13: the text with which a wallet approves one action that an API is about to carry out (ERC-4361 with an ERC-5573 ReCap).
 *
 * The API chooses the summary and the digest of the action, so the text names the API as the author of the summary. The signed text is
 * kept as a receipt. The ReCap limits the scope to the action with this digest.
 */

import { isSummary } from '@grantor/protocol/approval'
import { writeClient, writeParty } from './client-words.ts'
import { composeLines, type MessageHeader, writeHost } from './message-lines.ts'
import { encodeRecap, translateRecap } from './recap.ts'

/** The number of the next template after those of `short-consent.ts`, which has the rules of numbers. */
export const APPROVAL_TEMPLATE = 13

/** The fields of the text. Times in epoch seconds. */
export type ApprovalFields = Omit<MessageHeader, 'requestId'> & {
  /** Number of the template, from the challenge. */
  template: number
  /** The app that called the API: a UUID; for an app that no operator registered, as in `ShortConsentFields`. */
  clientId: string
  /** As registered, any Unicode. */
  clientName: string
  /** The API: an absolute URI without quotes and percent signs. */
  resource: string
  /** `[A-Za-z0-9._-]{1,64}` */
  scope: string
  /** The words of the API about the action (`isSummary`). */
  summary: string
  /** SHA-256 of the action, base64url (`@grantor/protocol/canonical-json`). */
  digest: string
  /** Until when the signature can be used. */
  until: number
}

/**
 * Composes the text. The same fields always give the same bytes.
 *
 * @returns null if this version does not have the template: the caller responds with 410, never with "wrong signature".
 * @throws RangeError if a field does not fit the grammar: a defect, because the endpoint refuses values that the text cannot contain.
 */
export function composeApproval(fields: ApprovalFields): string | null {
  if (fields.template !== APPROVAL_TEMPLATE) return null
  const { domain, address, chainId, nonce, issuedAt, clientId, resource, scope, summary, digest, until } = fields
  if (!isSummary(summary)) throw new RangeError('summary does not fit the text to sign (ERC-4361)')
  const capability = { scopes: [scope], resources: [resource], digest }
  const action = `Once: '${summary}' (words of ${apiHostOf(resource)}), for ${writeClient({ clientId, clientName: fields.clientName })}.`
  return composeLines({
    domain,
    address,
    chainId,
    nonce,
    issuedAt,
    expiresAt: until,
    statement: `${action} No gas, no transfer. ${translateRecap(capability)}`,
    uri: writeParty(clientId),
    resources: [encodeRecap(capability)],
  })
}

/**
 * The API as the text and the pages name it: the host of its resource, with the port if any. A resource that is no web address has no host
 * that anyone proved, so the whole URI names it, except for characters that could end the words about the API early.
 */
export function apiHostOf(resource: string): string {
  if (/^https?:/i.test(resource) && URL.canParse(resource)) return writeHost(new URL(resource).host)
  return resource.replace(/[(),]/g, '_')
}
