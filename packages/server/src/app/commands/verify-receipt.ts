import { createReadStream } from 'node:fs'
import { isLoopbackHost } from '../../config/parsers.ts'
import { defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { printFacts } from '../../operators/terminal/print.ts'
import { createChainReader } from '../../outbound/chain/chain-reader.ts'
import { verifyContractSignature } from '../../protocol/wallet/contract-signature.ts'
import type { Consent } from '../../protocol/wallet/read-consent.ts'
import { checkReceipt, type ReceiptVerdict } from '../../protocol/wallet/receipt.ts'
import { describeVerdict, type ReceiptWords } from '../../protocol/wallet/receipt-words.ts'
import { jsonOption } from '../compose/settings.ts'

export const verifyReceipt = defineCommand({
  name: 'verify-receipt',
  words: 'Checks a receipt: which wallet allowed what to which app until when, and whether the signature holds.',
  about: [
    'A receipt is the consent that a wallet signed, downloaded from the account page. The check needs no server, no network, and no trust in an operator. Only what the signed text says is printed.',
    'A contract wallet has no key: for its receipt name one or more RPC endpoints of its chain. Several endpoints must agree.',
    'The exit code is 0 if the receipt holds, even if it has expired, and 1 otherwise.',
  ],
  operands: [{ name: 'FILE', words: 'The receipt; - reads it from standard input.' }],
  options: {
    rpc: { value: 'URL', repeatable: true, words: 'An endpoint of the chain, for the receipt of a contract wallet.' },
    json: jsonOption,
  },
  examples: [
    'grantor verify-receipt receipt.json',
    'grantor verify-receipt receipt.json --rpc https://rpc.example.com --rpc https://rpc.example.net',
  ],
  async run({ options, operands: [file = ''] }, environment) {
    const readers = options.rpc.map((url) => createChainReader({ url: checkUrl(url) }))
    const verdict = await checkReceipt(parseReceipt(await readReceiptFile(file)), {
      now: environment.now(),
      verifyContract: readers.length === 0 ? undefined : (claim) => verifyContractSignature(readers, claim),
    })
    if (options.json) environment.print(JSON.stringify(verdictRecord(verdict)))
    else for (const line of verdictLines(describeVerdict(verdict, { callsChain: readers.length > 0 }))) environment.print(line)
    return verdict.kind === 'holds' ? EXIT.done : EXIT.failed
  },
})

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

/** In bytes; a receipt has about two thousand. */
const LONGEST = 1_000_000

/** Reads a file, a pipe or a device, up to a limit far above the size of a receipt. */
async function readReceiptFile(file: string): Promise<string> {
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
    throw new UsageError(`FILE cannot be read: ${JSON.stringify(file)} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
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

function verdictLines(words: ReceiptWords): string[] {
  return [words.title, ...words.remarks, ...(words.facts.length > 0 ? ['', ...printFacts(words.facts)] : [])]
}

/** Times are epoch seconds. */
function verdictRecord(verdict: ReceiptVerdict) {
  if (verdict.kind !== 'holds') return { verdict: verdict.kind, reason: verdict.why }
  return { verdict: 'holds', expired: verdict.expired, wallet: verdict.wallet, consent: consentRecord(verdict.consent) }
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
    issued_at: consent.issuedAt,
    expires_at: consent.until,
    key_thumbprint: consent.keyThumbprint ?? null,
    domain: consent.domain,
    nonce: consent.nonce,
    // No text of a consent has a Request ID (ERC-4361).
    request_id: null,
  }
}
