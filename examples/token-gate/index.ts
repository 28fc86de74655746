/**
 * A hook of Grantor that gives one scope only to wallets that hold a token of an ERC-721 contract, and refuses wallets of a list.
 *
 *     HOOK_SECRET=whsec_… RPC_URL=https://rpc.example.com CONTRACT=0x… node examples/token-gate/index.ts
 *
 * The program uses no library: the signature is that of Standard Webhooks, and the balance is one call of the chain.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'

export type TokenGateOptions = {
  /** the value of GRANTOR_HOOK_SECRET */
  secret: string
  /** the JSON-RPC endpoint of the chain of the contract */
  rpcUrl: string
  /** the address of the ERC-721 contract */
  contract: string
  /** the scope that needs a token */
  scope: string
  /** wallets that get nothing */
  blocked?: readonly string[]
  /** prints why a question could not be answered; on standard error if absent */
  print?: (line: string) => void
  /** epoch seconds; the clock of the machine if absent */
  now?: () => number
}

type Question = { wallet: string; scopes: string[] }

type Answer = { answer: 'yes' | 'no' | 'fewer'; scopes?: string[]; reason?: string; valid_for?: number }

/** Seconds for which an answer counts again. A wallet that sells its token keeps the scope for this time and for the lifetime of an access token. */
const VALID_FOR = 60
/** Milliseconds of one call: less than the two seconds for which Grantor waits. */
const CHAIN_TIMEOUT = 1_500
const BODY_AT_MOST = 65_536

/** The server, which does not listen yet. */
export function createTokenGate({
  secret,
  print = console.error,
  now = () => Date.now() / 1000,
  ...gate
}: TokenGateOptions): Server {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  return createServer((request, response) => {
    void (async () => {
      try {
        const body = await readBody(request)
        if (!isFromGrantor(request.headers, body, key, now())) return void response.writeHead(401).end()
        const { data } = JSON.parse(body) as { data: Question }
        const answer = await decide(data, gate)
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      } catch (error) {
        // Without an answer, Grantor refuses its client's request with 503. A guess could give access to a wallet without a token.
        print(error instanceof Error ? error.message : 'unknown error')
        response.writeHead(503).end()
      }
    })()
  })
}

async function decide(
  { wallet, scopes }: Question,
  { rpcUrl, contract, scope, blocked = [] }: Omit<TokenGateOptions, 'secret' | 'print' | 'now'>,
): Promise<Answer> {
  if (blocked.some((each) => each.toLowerCase() === wallet.toLowerCase())) return { answer: 'no', reason: 'on the list' }
  // The chain is called only if the answer depends on it.
  if (!scopes.includes(scope)) return { answer: 'yes' }
  if ((await balanceOf(rpcUrl, contract, wallet)) > 0n) return { answer: 'yes', valid_for: VALID_FOR }
  return { answer: 'fewer', scopes: scopes.filter((each) => each !== scope), reason: 'holds no token', valid_for: VALID_FOR }
}

/** ERC-721 `balanceOf(address)`. Throws if the chain does not give a number: the address may have no contract. */
async function balanceOf(rpcUrl: string, contract: string, wallet: string): Promise<bigint> {
  const data = `0x70a08231${wallet.slice(2).toLowerCase().padStart(64, '0')}`
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: contract, data }, 'latest'] }),
    signal: AbortSignal.timeout(CHAIN_TIMEOUT),
  })
  if (!response.ok) throw new Error(`the chain responded with status ${response.status}`)
  const { result } = (await response.json()) as { result?: unknown }
  if (typeof result !== 'string' || !/^0x[0-9a-f]{64}$/i.test(result)) throw new Error('the chain did not return a balance')
  return BigInt(result)
}

/** Whether one of the signatures is right, and the question is not older than five minutes. */
function isFromGrantor(headers: IncomingHttpHeaders, body: string, key: Buffer, at: number): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers
  if (typeof id !== 'string' || typeof time !== 'string' || typeof signatures !== 'string') return false
  if (!(Math.abs(at - Number(time)) < 300)) return false
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`)
  const isRight = (given: Buffer) => given.length === expected.length && timingSafeEqual(given, expected)
  return signatures.split(' ').some((each) => isRight(Buffer.from(each)))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > BODY_AT_MOST) return ''
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function requireVariable(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { SCOPE = 'members', BLOCKED = '', PORT = '8080' } = process.env
  const gate = createTokenGate({
    secret: requireVariable('HOOK_SECRET'),
    rpcUrl: requireVariable('RPC_URL'),
    contract: requireVariable('CONTRACT'),
    scope: SCOPE,
    blocked: BLOCKED.split(',').filter((wallet) => wallet !== ''),
  })
  gate.listen(Number(PORT), '127.0.0.1', () => console.log(`The hook listens at http://127.0.0.1:${PORT}/`))
}
