import { createReadStream } from 'node:fs'
import { digestOfAction } from '@grantor/protocol/canonical-json'
import { isLoopbackHost } from '../../config/parsers.ts'
import { defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { printFacts } from '../../operators/terminal/print.ts'
import { createChainReader } from '../../outbound/chain/chain-reader.ts'
import { parseJson } from '../../protocol/oauth/parse-json.ts'
import { verifyContractSignature } from '../../protocol/wallet/contract-signature.ts'
import type { ApprovedAction } from '../../protocol/wallet/read-approval.ts'
import type { Consent } from '../../protocol/wallet/read-consent.ts'
import { checkReceipt, type ReceiptVerdict } from '../../protocol/wallet/receipt.ts'
import { describeVerdict, type ReceiptWords } from '../../protocol/wallet/receipt-words.ts'
import { jsonOption } from '../compose/settings.ts'

export const verifyReceipt = defineCommand({
  name: 'verify-receipt',
  words:
    'Checks a receipt: which wallet allowed what to which app until when, or approved which action, and whether the signature holds.',
  about: [
    'A receipt is the consent that a wallet signed, downloaded from the account page, or the approval of one action, which the API gets. The check needs no server, no network, and no trust in an operator. Only what the signed text says is printed.',
    'A contract wallet has no key: for its receipt name one or more RPC endpoints of its chain. Several endpoints must agree.',
    'An approval contains the digest of its action. With --action the receipt holds only if it approves exactly the action in that file. The order of members and white space do not matter (RFC 8785).',
    'The receipt of a limit also has the uses that the server counted, in the member not_signed. The output shows them apart from what the wallet signed: no signature proves them.',
    'The exit code is 0 if the receipt holds, even if it has expired, and 1 otherwise.',
  ],
  operands: [{ name: 'FILE', words: 'The receipt; - reads it from standard input.' }],
  options: {
    rpc: { value: 'URL', repeatable: true, words: 'An endpoint of the chain, for the receipt of a contract wallet.' },
    action: { value: 'FILE', words: 'The action as JSON, as the API computed the digest of it, for the receipt of an approval.' },
    json: jsonOption,
  },
  examples: [
    'grantor verify-receipt receipt.json',
    'grantor verify-receipt receipt.json --action action.json',
    'grantor verify-receipt receipt.json --rpc https://rpc.example.com --rpc https://rpc.example.net',
  ],
  async run({ options, operands: [file = ''] }, environment) {
    const readers = options.rpc.map((url) => createChainReader({ url: checkUrl(url) }))
    const actionDigest =
      options.action === undefined ? undefined : digestOf(await readFile('--action', options.action, LONGEST_ACTION))
    const verdict = await checkReceipt(parseReceipt(await readFile('FILE', file, LONGEST_RECEIPT)), {
      now: environment.now(),
      actionDigest,
      verifyContract: readers.length === 0 ? undefined : (claim) => verifyContractSignature(readers, claim),
    })
    const words = describeVerdict(verdict, { callsChain: readers.length > 0 })
    if (verdict.kind === 'holds' && actionDigest !== undefined) words.remarks.push(IS_OF_ACTION)
    if (options.json) environment.print(JSON.stringify(verdictRecord(verdict)))
    else for (const line of verdictLines(words)) environment.print(line)
    return verdict.kind === 'holds' ? EXIT.done : EXIT.failed
  },
})

const IS_OF_ACTION = 'The digest in its text is the digest of the given action.'

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  // The URL may contain a key, so no message repeats it.
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UsageError('--rpc must be a URL, as in https://rpc.example.com')
  if (url.username !== '' || url.password !== '') throw new UsageError('--rpc must not hold a user name or password')
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new UsageError('--rpc must use https: otherwise an attacker on the network could answer for the chain')
  }
  return text
}

/** In bytes; a receipt has about two thousand, and up to 1,400,000 with 10,000 uses of a limit. */
const LONGEST_RECEIPT = 2_000_000
const LONGEST_ACTION = 1_000_000

/** Reads a file, a pipe or a device; '' if it has more than `longest` bytes. */
async function readFile(name: string, file: string, longest: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    const input = file === '-' ? process.stdin : createReadStream(file)
    for await (const chunk of input as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length > longest) return ''
    }
  } catch (error) {
    throw new UsageError(
      `${name} cannot be read: ${JSON.stringify(file)} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseReceipt(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The error never repeats the content of the file, which may contain any character. */
function digestOf(text: string): string {
  const parsed = parseJson(text)
  try {
    if (parsed.kind === 'parsed') return digestOfAction(parsed.value)
    throw new TypeError(parsed.kind)
  } catch {
    throw new UsageError(
      '--action must name a file of JSON of at most 1 MB, 64 levels, without a member twice and without lone surrogates (RFC 8785)',
    )
  }
}

function verdictLines(words: ReceiptWords): string[] {
  const { title, remarks, facts, notSigned } = words
  const signedLines = [title, ...remarks, ...(facts.length > 0 ? ['', ...printFacts(facts)] : [])]
  return notSigned ? [...signedLines, '', notSigned.title, '', ...printFacts(notSigned.facts)] : signedLines
}

/** Times are epoch seconds. */
function verdictRecord(verdict: ReceiptVerdict) {
  if (verdict.kind !== 'holds') return { verdict: verdict.kind, reason: verdict.why }
  const { signed, expired, wallet, notSigned } = verdict
  const record = signed.kind === 'consent' ? { consent: consentRecord(signed) } : { approval: approvalRecord(signed) }
  return { verdict: 'holds', expired, wallet, ...record, ...(notSigned && { not_signed: notSigned }) }
}

function approvalRecord(action: ApprovedAction) {
  return {
    address: action.address,
    chain_id: action.chainId,
    client_id: action.clientId,
    client_name: action.clientName === '' ? null : action.clientName,
    summary: action.summary,
    scope: action.scope,
    resource: action.resource,
    digest: action.digest,
    issued_at: action.issuedAt,
    expires_at: action.until,
    domain: action.domain,
    nonce: action.nonce,
  }
}

function consentRecord(consent: Consent) {
  const { clientScheme } = consent
  return {
    address: consent.address,
    chain_id: consent.chainId,
    client_id: consent.clientId,
    client_name: consent.clientName === '' ? null : consent.clientName,
    client_host: clientScheme === null ? consent.clientHost || null : null,
    client_scheme: clientScheme,
    redirect_uri: consent.redirectUri || null,
    user_code: consent.userCode ?? null,
    user_code_shown_by: consent.shownBy ?? null,
    grants: consent.grants,
    limit: consent.limit ?? null,
    issued_at: consent.issuedAt,
    expires_at: consent.until,
    key_thumbprint: consent.keyThumbprint ?? null,
    domain: consent.domain,
    nonce: consent.nonce,
    // No text of a consent has a Request ID (ERC-4361).
    request_id: null,
  }
}
