/**
 * A stand-in for the auth service on a real socket, for responses that the real service seldom gives. The stand-in responds
 * according to the contract, unless a test overrides a response, and records its requests.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseAddress } from '../../../src/protocol/wallet/address.ts'
import { composeShortConsent, SHORT_TEMPLATE } from '../../../src/protocol/wallet/short-consent.ts'
import { verifyPlainSignature } from '../../../src/protocol/wallet/signature.ts'

export type Reply = { status: number; body: unknown; headers?: Record<string, string> }
export type RecordedRequest = { method: string; path: string; authorization: string | undefined; body: Record<string, unknown> }

export type AuthStandIn = {
  url: string
  asked: RecordedRequest[]
  /** Overrides the response of a path. With `silence` the stand-in never responds. */
  answers: Map<string, Reply | 'silence'>
  challenge: Record<string, unknown>
  close(): Promise<void>
}

export const OPEN_CHALLENGE = 'open-challenge'

export async function startAuthStandIn(domain: string, now: () => number): Promise<AuthStandIn> {
  const asked: RecordedRequest[] = []
  const answers: AuthStandIn['answers'] = new Map()
  const challenge = {
    purpose: 'app',
    client_name: 'Aurora Notes',
    client_host: 'notes.aurora.example',
    scopes: [
      { name: 'enhancement', description: 'Use the enhancement API in your name' },
      { name: 'profile', description: 'See your profile' },
    ],
    may_choose_scopes: true,
    resources: [] as string[],
    chain_ids: [1],
    until: now() + 30 * 86_400,
    resume_url: 'https://auth.example.com/login/resume?login_challenge=c' as string | null,
    expires_at: now() + 540,
  }

  const server: Server = createServer((request, response) => void reply(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const complete = `${url}/login/complete?login_challenge=${OPEN_CHALLENGE}&login_verifier=v`

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(request.url ?? '', url)
    const body = await readJson(request)
    asked.push({ method: request.method ?? '', path, authorization: request.headers.authorization, body })
    const override = answers.get(path)
    if (override === 'silence') return
    const login = body.login_challenge ?? searchParams.get('login_challenge')
    const chosen = override ?? (login === OPEN_CHALLENGE ? answer(path, body) : refusal(400, 'invalid_request'))
    const { status, headers, body: text } = chosen
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof text === 'string' ? text : JSON.stringify(text))
  }

  function answer(path: string, body: Record<string, unknown>): Reply {
    if (path === '/login/challenge') return { status: 200, body: challenge }
    if (path === '/login/reject') return { status: 200, body: { status: 'denied', redirect_to: complete } }
    const parsed = parseAddress(String(body.address))
    if (parsed.kind !== 'address') return refusal(400, 'invalid_request')
    const message = composeShortConsent({
      template: SHORT_TEMPLATE,
      domain,
      address: parsed.address,
      chainId: Number(body.chain_id),
      clientName: challenge.client_name,
      clientId: '0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
      redirectUri: 'https://notes.aurora.example/callback',
      scopes: typeof body.scope === 'string' ? body.scope.split(' ') : challenge.scopes.map(({ name }) => name),
      resources: ['https://api.example.com/'],
      until: now() + 30 * 86_400,
      nonce: 'k3Jd82LmPq9XvT4cWz7RbY',
      issuedAt: now(),
    })
    if (path === '/login/message') return { status: 200, body: { message } }
    const verdict = verifyPlainSignature(message ?? '', String(body.signature), parsed.address)
    if (verdict.kind === 'malformed') return refusal(400, 'invalid_request')
    if (verdict.kind === 'not_proven') return refusal(401, 'not_proven')
    return { status: 200, body: { status: 'success', redirect_to: complete } }
  }

  return {
    url,
    asked,
    answers,
    challenge,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function refusal(status: number, error: string, headers: Record<string, string> = {}): Reply {
  return { status, body: { error, error_description: `Refused: ${error}.` }, headers }
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>)
}
