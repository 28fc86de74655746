/**
 * The verdict on a receipt in plain words, for the command line and for the page that checks a receipt offline.
 *
 * The words repeat only what a wallet signed, which is printable ASCII. If the receipt is not genuine, the words repeat nothing of it.
 */

import type { Limit } from '@grantor/protocol/limit'
import { publisherOf } from './app-place.ts'
import { type ScopeLimit, writeAmount, writeLimit } from './limit-words.ts'
import type { ApprovedAction } from './read-approval.ts'
import type { Consent } from './read-consent.ts'
import type { ReceiptFault, ReceiptMalformation, ReceiptVerdict } from './receipt.ts'
import type { CountedDraw, ServerWord } from './server-word.ts'

export type ReceiptWords = {
  /** One sentence: whether the receipt is genuine. */
  title: string
  /** What follows from the verdict, in one or two sentences each. */
  remarks: string[]
  /** Address, app, permissions and times; empty unless the receipt is genuine. */
  facts: [name: string, value: string][]
  /** What the file has besides and nothing proves; absent if there is none, or if the receipt is not genuine. */
  notSigned?: { title: string; facts: [name: string, value: string][] }
}

/** `callsChain`: whether the check could call a chain about a contract wallet. */
export function describeVerdict(verdict: ReceiptVerdict, { callsChain }: { callsChain: boolean }): ReceiptWords {
  switch (verdict.kind) {
    case 'holds':
      return describeSigned(verdict)
    case 'does_not_hold': {
      const advice = verdict.why === 'not_signed' && !callsChain ? [CALL_THE_CHAIN] : []
      return { title: 'This receipt does not hold.', remarks: [faults[verdict.why], ...advice], facts: [] }
    }
    case 'could_not_check':
      return { title: 'This receipt could not be checked.', remarks: describeSilence(verdict.why), facts: [] }
    case 'malformed':
      return { title: 'This is not a receipt.', remarks: [malformations[verdict.why]], facts: [] }
  }
}

function describeSigned({ signed, expired, wallet, notSigned }: Extract<ReceiptVerdict, { kind: 'holds' }>): ReceiptWords {
  const proof =
    wallet === 'ordinary'
      ? 'The key of this wallet signed exactly what follows.'
      : 'This is a contract wallet, and its chain now confirms its signature over exactly what follows.'
  if (signed.kind === 'consent')
    return {
      title: expired ? 'This receipt holds, and what it allowed is over.' : 'This receipt holds.',
      remarks: [
        proof,
        'It proves what was allowed, not that it still is allowed: the owner may have ended the access since.',
        ...(signed.limit === undefined ? [] : [LIMIT_IS_SIGNED]),
      ],
      facts: listConsent(signed),
      ...(notSigned && signed.limit && { notSigned: describeCounted(notSigned, signed.limit) }),
    }
  return {
    title: expired ? 'This receipt holds, and its time to be used is over.' : 'This receipt holds.',
    remarks: [
      proof,
      'It proves that the owner approved this action once, not that the API carried it out. The words are those of the API; the digest stands for the whole action.',
    ],
    facts: listApproval(signed),
  }
}

function listApproval(action: ApprovedAction): [string, string][] {
  return [
    ['Who', writeWallet(action)],
    ['Once', `'${action.summary}'`],
    ['Words of', action.apiHost],
    ['For the app', describeUnregistered(action) ?? describeRegistered(action)],
    ['Scope', `${action.scope} at ${action.resource}`],
    ['Digest of the action', action.digest],
    ['Signed at', writeMoment(action.issuedAt)],
    ['Could be used until', writeMoment(action.until)],
    ['Client id', action.clientId],
    ['Asked by', action.domain],
  ]
}

function writeWallet({ address, chainId }: { address: string; chainId: number }): string {
  return `${address} (chain ${chainId})`
}

function listConsent(consent: Consent): [string, string][] {
  return [
    ['Who', writeWallet(consent)],
    ['Allowed', describeApp(consent)],
    ...consent.grants.map(({ resource, scopes }): [string, string] => ['To use', `${scopes.join(', ')} at ${resource}`]),
    ...(consent.limit === undefined ? [] : [describeLimit(consent.limit)]),
    ['From', writeMoment(consent.issuedAt)],
    ['Until', writeMoment(consent.until)],
    consent.userCode === undefined
      ? ['Answers go to', consent.redirectUri]
      : ['Access goes to', `the ${consent.shownBy} that showed the code ${consent.userCode}`],
    ['Client id', consent.clientId],
    ...(consent.keyThumbprint === undefined ? [] : [['Bound to key', consent.keyThumbprint] satisfies [string, string]]),
    ['Asked by', consent.domain],
  ]
}

const LIMIT_IS_SIGNED =
  'The limit is the word of the wallet, which signed it. How much of it was used is not in the text: only the server that counts the uses can tell.'

const COUNTED_IS_NOT_SIGNED =
  'The rest of the file is not signed. It is the word of the server that counted the uses, and anyone who has the file can change it.'

/** Uses that are listed; a file has up to 10,000. */
const LISTED_AT_MOST = 20

function describeCounted({ issuer, at, draws }: ServerWord, { limit }: ScopeLimit): NonNullable<ReceiptWords['notSigned']> {
  const listed = draws.slice(0, LISTED_AT_MOST)
  const others = draws.length - listed.length
  return {
    title: COUNTED_IS_NOT_SIGNED,
    facts: [
      ['Counted by', issuer],
      ['Counted at', writeMoment(at)],
      ['Uses', String(draws.length)],
      ...listed.map((draw): [string, string] => [`Use ${draw.draw}`, describeDraw(draw, limit)]),
      ...(others === 0 ? [] : [['Older uses', `${others}, not listed here`] satisfies [string, string]]),
    ],
  }
}

function describeDraw({ at, amount, returned }: CountedDraw, limit: Limit): string {
  const write = (value: number) => [writeAmount(limit, value), limit.unit].join(' ').trim()
  const back = returned === undefined ? '' : amount === undefined ? ', given back' : `, ${write(returned)} given back`
  return `${writeMoment(at)}${amount === undefined ? '' : `, ${write(amount)}`}${back}`
}

function describeLimit({ scope, resource, limit }: ScopeLimit): [string, string] {
  return ['Limit', `${scope} at ${resource}: ${writeLimit(limit)}`]
}

function describeApp(consent: Consent): string {
  return describeUnregistered(consent) ?? `${describeRegistered(consent)} ${receiptPlace(consent)}`
}

type AppNames = { clientName: string; clientId: string }

function describeRegistered({ clientName }: AppNames): string {
  return clientName === '' ? 'an app' : `'${clientName}'`
}

/** Null for an app that an operator registered. */
function describeUnregistered({ clientName, clientId }: AppNames): string | null {
  const publisher = publisherOf(clientId)
  if (publisher === null) return null
  const app = publisher === '' ? 'an app that registered itself' : `the app of ${publisher}`
  return clientName === '' ? app : `${app}, which calls itself '${clientName}'`
}

function receiptPlace({ clientHost, clientScheme, shownBy }: Consent): string {
  if (shownBy === 'device') return 'on a device'
  return clientScheme === null ? `at ${clientHost}` : `(an app on the device that opens ${clientScheme}: links)`
}

const CALL_THE_CHAIN =
  'Contract wallets are the exception: only their chain can verify the signature. To check with a chain: grantor verify-receipt FILE --rpc URL'

const faults: Record<ReceiptFault, string> = {
  recap_contradicts:
    'The sentence in its text and the part for programs (the line with urn:recap) differ, so the text proves neither.',
  not_a_consent:
    'Its text is not a consent or an approval as Grantor writes it, to the letter. One changed character is enough for that.',
  address_differs: 'It names another wallet than its text does.',
  chain_differs: 'It names another chain than its text does.',
  not_an_approval: 'It is a consent, which approves no single action, so no action can be compared with it.',
  action_differs: 'It is the approval of another action: the digest in its text is not the digest of the given action.',
  not_signed: 'The signature was not made by this wallet over this text: one of the three was changed, or another key signed.',
}

const malformations: Record<ReceiptMalformation, string> = {
  not_a_receipt:
    'A receipt is JSON with four members: message, signature, address and chain_id. Only the receipt of a limit has one more, not_signed.',
  bad_address: 'Its address is not one in the spelling of EIP-55 (0x, then 40 digits and letters, in the right capitals).',
  bad_signature: 'Its signature is not written as 0x and pairs of hexadecimal digits, or it is too long.',
}

function describeSilence(why: string): string[] {
  const neither = 'That is no evidence for or against the receipt.'
  if (why === 'no_chain') return ['No ordinary wallet signs like this.', CALL_THE_CHAIN]
  if (why === 'other_chain') return ['The chain that was called is not the chain of this receipt.', neither]
  if (why === 'chains_disagree')
    return ['The chain was called through more than one endpoint, and the responses differ.', neither]
  // The text comes from another server, so only printable ASCII is shown.
  return [`Its chain did not respond (${why.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)}).`, neither]
}

/** `2026-12-20 12:00:00 UTC` */
function writeMoment(seconds: number): string {
  return new Date(seconds * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')
}
