/**
 * A verdict on a receipt in plain words, for the command line and for the page that checks one offline.
 *
 * Of the receipt itself, words repeat nothing but what a wallet signed, which is printable ASCII; of one that does not hold, nothing at all.
 */

import { privateUseScheme } from './consent-message.ts'
import type { Consent } from './read-consent.ts'
import type { ReceiptFault, ReceiptMalformation, ReceiptVerdict } from './receipt.ts'

export type ReceiptWords = {
  /** One sentence: does it hold? */
  title: string
  /** What follows from it; each a sentence or two. */
  remarks: string[]
  /** Who allowed what to whom until when; empty unless the receipt holds. */
  facts: [name: string, value: string][]
}

/** `chainAsked`: whether a chain would have been asked about a contract wallet. */
export function describeVerdict(verdict: ReceiptVerdict, chainAsked: boolean): ReceiptWords {
  switch (verdict.kind) {
    case 'holds':
      return describeConsent(verdict)
    case 'does_not_hold': {
      const advice = verdict.why === 'not_signed' && !chainAsked ? [askTheChain] : []
      return { title: 'This receipt does not hold.', remarks: [faults[verdict.why], ...advice], facts: [] }
    }
    case 'could_not_check':
      return { title: 'This receipt could not be checked.', remarks: describeSilence(verdict.why), facts: [] }
    case 'malformed':
      return { title: 'This is not a receipt.', remarks: [malformations[verdict.why]], facts: [] }
  }
}

function describeConsent({ consent, expired, wallet }: Extract<ReceiptVerdict, { kind: 'holds' }>): ReceiptWords {
  const proof =
    wallet === 'ordinary'
      ? 'The key of this wallet signed exactly what follows.'
      : 'This is a contract wallet, and its chain says now that it accepts the signature under exactly what follows.'
  return {
    title: expired ? 'This receipt holds, and what it allowed is over.' : 'This receipt holds.',
    remarks: [proof, 'It proves what was allowed, not that it still is: the owner may have ended it since.'],
    facts: listFacts(consent),
  }
}

function listFacts(consent: Consent): [string, string][] {
  const app = consent.clientName === '' ? 'an app' : `'${consent.clientName}'`
  return [
    ['Who', `${consent.address} (chain ${consent.chainId})`],
    ['Allowed', `${app} ${placeOf(consent)}`],
    ...consent.grants.map(({ resource, scopes }): [string, string] => ['To use', `${scopes.join(', ')} at ${resource}`]),
    ['From', writeMoment(consent.issuedAt)],
    ['Until', writeMoment(consent.until)],
    ['Answers go to', consent.redirectUri],
    ['Client id', consent.clientId],
    ...(consent.keyThumbprint === undefined ? [] : [['Bound to key', consent.keyThumbprint] satisfies [string, string]]),
    ['Asked by', consent.domain],
  ]
}

/** Template 2 wrote a private-use scheme as if it were a host. */
function placeOf({ redirectUri, clientHost }: Consent): string {
  const scheme = privateUseScheme(redirectUri)
  return scheme === null ? `at ${clientHost}` : `(an app on the device that opens ${scheme}: links)`
}

const askTheChain =
  'Contract wallets are the exception: of theirs only the chain can tell. To ask it: grantor verify-receipt FILE --rpc URL'

const faults: Record<ReceiptFault, string> = {
  recap_contradicts:
    'The words of its text and the part for machines (the line with urn:recap) say different things, so it proves neither.',
  not_a_consent: 'Its text is not a consent as Grantor writes it, to the letter. One changed character is enough for that.',
  address_differs: 'It names another wallet than its text does.',
  chain_differs: 'It names another chain than its text does.',
  not_signed: 'The signature is not one of this wallet under this text: one of the three was changed, or somebody else signed.',
}

const malformations: Record<ReceiptMalformation, string> = {
  not_a_receipt: 'A receipt is JSON with four members and no more: message, signature, address and chain_id.',
  bad_address: 'Its address is not one in the spelling of EIP-55 (0x, then 40 digits and letters, in the right capitals).',
  bad_signature: 'Its signature is not written as 0x and pairs of hexadecimal digits, or it is too long.',
}

function describeSilence(why: string): string[] {
  const neither = 'That says nothing for or against it.'
  if (why === 'no_chain') return ['No ordinary wallet signs like this.', askTheChain]
  if (why === 'other_chain') return ['The chain that was asked is not the one of this receipt.', neither]
  if (why === 'chains_disagree') return ['The chain was asked in more than one place, and the answers differ.', neither]
  // From outside, in the end: so only what a terminal takes for text.
  return [`Its chain gave no answer (${why.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)}).`, neither]
}

/** `2026-12-20 12:00:00 UTC` */
function writeMoment(seconds: number): string {
  return new Date(seconds * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')
}
