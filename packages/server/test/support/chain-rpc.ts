/** An RPC endpoint on loopback, which works correctly until the test sets a fault. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export type RpcFault =
  /** accepts every signature */
  | 'lie'
  /** rejects every signature */
  | 'deny'
  /** accepts the request and never responds */
  | 'hang'
  /** sends an endless response, byte by byte */
  | 'trickle'
  | '429'
  | '500'
  /** begins a response and does not end it */
  | 'huge'
  /** cuts the connection in the middle of the response */
  | 'cut'
  /** redirects to an address with the correct response */
  | 'redirect'
  /** serves another chain, and returns the id of that chain */
  | 'other_chain'
  /** returns the id of this chain, and responds from another one */
  | 'swapped_chain'
  | 'malformed'
  /** exactly this body, in which ID is replaced by the id of the request */
  | { body: string }

/** With each of these faults an RPC gives no usable response. */
export const UNHELPFUL: readonly RpcFault[] = [
  'hang',
  'trickle',
  '429',
  '500',
  'huge',
  'cut',
  'redirect',
  'malformed',
  'other_chain',
  'swapped_chain',
]

export type TestRpc = {
  url: string
  /** the requested methods in order, including followed redirects */
  asked: string[]
  setFault(fault: RpcFault | null): void
  close(): Promise<void>
}

type Evm = (question: string) => Promise<string>

export async function openRpc(evm: Evm, createOtherEvm: () => Promise<Evm>): Promise<TestRpc> {
  const asked: string[] = []
  let fault: RpcFault | null = null
  let other: Promise<Evm> | undefined
  const otherEvm = (): Promise<Evm> => {
    other ??= createOtherEvm()
    return other
  }

  async function answer(question: string, response: ServerResponse): Promise<void> {
    const { id, method } = JSON.parse(question)
    asked.push(method)
    const send = (body: string, status = 200, headers = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
    }
    const result = (value: string): void => send(JSON.stringify({ jsonrpc: '2.0', id, result: value }))
    if (typeof fault === 'object' && fault !== null) return send(fault.body.replaceAll('ID', String(id)))
    switch (fault) {
      case 'hang':
        return
      case 'trickle':
        return writeOn(response, ' ', 50)
      case 'huge':
        return writeOn(response, ' '.repeat(65_536), 0)
      case 'cut':
        response.writeHead(200, { 'content-length': '1000' }).write('{"jsonrpc":"2.0"')
        await pause(20)
        response.destroy()
        return
      case '429':
        return send('{"error":"too many requests"}', 429, { 'retry-after': '1' })
      case '500':
        return send('Internal Server Error', 500)
      case 'redirect':
        return send('', 307, { location: '/elsewhere' })
      case 'malformed':
        return send('<html><body>Please log in to the network</body></html>')
      case 'other_chain':
        return send(await (await otherEvm())(question))
      case 'swapped_chain':
        return send(await (method === 'eth_call' ? await otherEvm() : evm)(question))
      case 'lie':
        return method === 'eth_call' ? result('0x01') : send(await evm(question))
      case 'deny':
        return method === 'eth_call' ? result('0x00') : send(await evm(question))
      default:
        return send(await evm(question))
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const question = await readBody(request)
    if (request.url !== '/elsewhere') return answer(question, response)
    // The target of the redirect responds correctly.
    asked.push('elsewhere')
    response.end(await evm(question))
  }

  // A client that closed its connection is not a failure of the test.
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v3/secret-key-of-the-operator`,
    asked,
    setFault(chosen) {
      fault = chosen
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function writeOn(response: ServerResponse, text: string, pauseMs: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' })
  while (!response.destroyed) {
    response.write(text)
    await pause(pauseMs)
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks).toString('utf8')
}
