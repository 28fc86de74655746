import { createReadStream } from 'node:fs'
import { createChainReader } from '../../chain/chain-reader.ts'
import { isLoopbackHost } from '../../config/parsers.ts'
import { privateUseScheme } from '../../wallet/consent-message.ts'
import { verifyContractSignature } from '../../wallet/contract-signature.ts'
import type { Consent } from '../../wallet/read-consent.ts'
import { checkReceipt, type ReceiptVerdict } from '../../wallet/receipt.ts'
import { describeVerdict } from '../../wallet/receipt-words.ts'
import { defineCommand, EXIT, UsageFailure } from '../command.ts'
import { facts } from '../print.ts'
import { jsonOption } from '../settings.ts'

export const verifyReceipt = defineCommand({
  name: 'verify-receipt',
  words: 'Checks a receipt: who allowed what to whom until when, and whether the signature holds.',
  about: [
    'A receipt is what a wallet signed when somebody let an app in, downloaded from the account page. Checking one needs no server and no network, and no trust in whoever runs them. Only what the signed text says is printed.',
    'A contract wallet has no key of its own: for its receipt name one or more RPC endpoints of its chain. Several must agree.',
    'The exit code is 0 when the receipt holds, also one that is over, and 1 otherwise.',
  ],
  operands: [{ name: 'FILE', words: 'The receipt; - reads it from standard input.' }],
  options: {
    rpc: { value: 'URL', repeatable: true, words: 'Asks this endpoint of the chain, if it is a contract wallet.' },
    json: jsonOption,
  },
  examples: [
    'grantor verify-receipt receipt.json',
    'grantor verify-receipt receipt.json --rpc https://rpc.example.com --rpc https://rpc.example.net',
  ],
  async run({ options, operands: [file = ''] }, world) {
    const readers = options.rpc.map((url) => createChainReader({ url: checkUrl(url) }))
    const verdict = await checkReceipt(parse(await readReceipt(file)), {
      now: world.now(),
      verifyContract: readers.length === 0 ? undefined : (claim) => verifyContractSignature(readers, claim),
    })
    if (options.json) world.print(JSON.stringify(verdictRecord(verdict)))
    else for (const line of verdictLines(verdict, readers.length > 0)) world.print(line)
    return verdict.kind === 'holds' ? EXIT.done : EXIT.failed
  },
})

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  // Its URL may hold a key of the operator's, so none is repeated.
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageFailure('--rpc must be a URL, as in https://rpc.example.com')
  if (url.username !== '' || url.password !== '') throw new UsageFailure('--rpc must not hold a user name or password')
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new UsageFailure('--rpc must use https: whoever is in between could answer for the chain')
  }
  return text
}

/** In bytes; a receipt has about two thousand. */
const LONGEST = 1_000_000

/** At most so much of a file, a pipe or a device that the rest cannot matter. */
async function readReceipt(file: string): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    const input = file === '-' ? process.stdin : createReadStream(file)
    for await (const chunk of input as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length > LONGEST) return ''
    }
  } catch (error) {
    throw new UsageFailure(`FILE cannot be read: ${JSON.stringify(file)} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function verdictLines(verdict: ReceiptVerdict, chainAsked: boolean): string[] {
  const words = describeVerdict(verdict, chainAsked)
  return [words.title, ...words.remarks, ...(words.facts.length > 0 ? ['', ...facts(words.facts)] : [])]
}

/** Times are epoch seconds. */
function verdictRecord(verdict: ReceiptVerdict) {
  if (verdict.kind !== 'holds') return { verdict: verdict.kind, reason: verdict.why }
  return { verdict: 'holds', expired: verdict.expired, wallet: verdict.wallet, consent: consentRecord(verdict.consent) }
}

function consentRecord(consent: Consent) {
  const scheme = privateUseScheme(consent.redirectUri)
  return {
    address: consent.address,
    chain_id: consent.chainId,
    client_id: consent.clientId,
    client_name: consent.clientName === '' ? null : consent.clientName,
    client_host: scheme === null ? consent.clientHost : null,
    client_scheme: scheme,
    redirect_uri: consent.redirectUri,
    grants: consent.grants,
    issued_at: consent.issuedAt,
    expires_at: consent.until,
    key_thumbprint: consent.keyThumbprint ?? null,
    domain: consent.domain,
    nonce: consent.nonce,
    request_id: consent.requestId,
  }
}
