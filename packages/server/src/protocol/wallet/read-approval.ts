/** Reads the fields of a signed approval (template 13), for receipts, as `read-consent.ts` reads a consent. */

import { parseAddress } from './address.ts'
import { APPROVAL_TEMPLATE, type ApprovalFields, apiHostOf, composeApproval } from './approval-message.ts'
import { readParty } from './client-words.ts'
import { composeAgain, LONGEST_TEXT, withoutRecap } from './compose-again.ts'
import { digestInRecap } from './recap.ts'

/** The action that the wallet's owner approved. Times in epoch seconds; every text is printable ASCII. */
export type ApprovedAction = Omit<ApprovalFields, 'template'> & {
  /** The API as the text names it. */
  apiHost: string
}

/** The action in the text; null if the text is not, byte for byte, an approval that this service composes. Never throws. */
export function readApproval(message: string): ApprovedAction | null {
  const read = readText(message)
  if (read === null || composeAgain(() => composeApproval(read)) !== message) return null
  const { template: _, ...action } = read
  return { ...action, apiHost: apiHostOf(action.resource) }
}

/** Whether the text is an approval except for its ReCap, as `recapContradicts` finds of a consent. */
export function approvalContradicts(message: string): boolean {
  const read = readText(message)
  // A ReCap without a digest contradicts every statement, so any digest will do.
  const again = read && composeAgain(() => composeApproval({ ...read, digest: read.digest || 'A'.repeat(43) }))
  return !!again && again !== message && withoutRecap(again) === withoutRecap(message)
}

/** The quotes divide a statement that names the app: `Once: 'summary' (words of …), for 'name'. … (1) 'oauth': 'scope' for 'resource'.` */
const PARTS_WITH_NAME = 11

/** Parses loosely: `readApproval` composes the text again and compares. */
function readText(message: string): ApprovalFields | null {
  if (typeof message !== 'string' || message.length > LONGEST_TEXT) return null
  const lines = message.split('\n')
  const [first = '', account = '', , statement = '', , uri = '', , chainId = '', nonce = '', issuedAt = '', until = ''] = lines
  const address = parseAddress(account)
  if (address.kind !== 'address' || !statement.startsWith("Once: '")) return null
  // No field of a statement contains a quote. The name of the app stands between quotes only if the text has one.
  const parts = statement.split("'")
  const [summary = '', clientName = ''] = [parts[1], parts.length === PARTS_WITH_NAME ? parts[3] : '']
  const [scope = '', resource = ''] = [parts.at(-4), parts.at(-2)]
  return {
    template: APPROVAL_TEMPLATE,
    domain: first.split(' ', 1)[0] ?? '',
    address: address.address,
    chainId: Number(valueOf(chainId)),
    nonce: valueOf(nonce),
    issuedAt: Date.parse(valueOf(issuedAt)) / 1000,
    clientId: readParty(valueOf(uri)).clientId,
    clientName,
    resource,
    scope,
    summary,
    digest: digestInRecap((lines[12] ?? '').slice('- '.length)),
    until: Date.parse(valueOf(until)) / 1000,
  }
}

/** `Nonce: abc` → `abc` */
function valueOf(line: string): string {
  return line.slice(line.indexOf(': ') + 2)
}
