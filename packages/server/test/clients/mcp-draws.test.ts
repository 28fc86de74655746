/** Unmodified clients of the official MCP SDK, 1.x and 2.x, whose limit is used up, with the running service and a wallet that signs. */
import { createProtectedResource, type ProtectedResource } from '@grantor/resource'
import * as modern from '@modelcontextprotocol/client'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, onTestFinished } from 'vitest'
import { listening } from '../../../resource/test/listening.ts'
import { claimsOf } from '../support/app.ts'
import { test } from '../support/fixtures.ts'
import { userOf } from '../support/mcp-client.ts'
import type { Grantor, TestClient } from '../support/start.ts'
import { mcpApi1, mcpApi2 } from './draw-apis.ts'

const REDIRECT_URI = 'http://127.0.0.1:7777/callback'
const INFO = { name: 'agent', version: '1.0.0' }
const LIMIT = { uses: 1, per: 'week', unit: 'NESO', decimals: 2, amount: 5000, each: 5000 } as const

type Version = '1.x' | '2.x'
type Server = { url: string; resource: ProtectedResource; reasons: string[] }

/** The MCP server of the SDK, with the tool `enhance`, and its registration: the limit lets one use pass. */
async function startServer(grantor: Grantor, version: Version): Promise<Server> {
  const serving: { listener?: ReturnType<typeof mcpApi2> } = {}
  const { url: origin, close } = await listening((request, response) => serving.listener?.(request, response))
  onTestFinished(close)
  const url = `${origin}/mcp`
  const api = await grantor.createClient({ name: 'Forge', redirectUris: [], resourceServer: url })
  const scopes = [{ name: 'enhancement', description: 'enhance an item', limit: LIMIT }]
  await grantor.store.resources.insertResource({ uri: url, name: 'Forge', scopes, openTo: ['registered'], createdAt: 1 })
  await grantor.noticeChanges()
  const reasons: string[] = []
  const resource = createProtectedResource({
    issuer: grantor.authUrl,
    resource: url,
    introspection: { clientId: api.id, clientSecret: api.secret },
    scopes: ['enhancement'],
    now: grantor.clock.now,
    onRefusal: ({ reason }) => reasons.push(reason),
  })
  serving.listener = version === '1.x' ? mcpApi1(resource) : mcpApi2(resource)
  return { url, resource, reasons }
}

/** A client that the operator registered with these grant types, after its user has signed the first limit. */
async function connect(grantor: Grantor, version: Version, grantTypes: TestClient['grantTypes']) {
  const server = await startServer(grantor, version)
  const registration = { type: 'native' as const, redirectUris: [REDIRECT_URI], scopes: ['enhancement'], resources: [server.url] }
  const user = userOf(grantor, await grantor.createClient({ name: 'Agent', ...registration, grantTypes }), {
    redirectUri: REDIRECT_URI,
  })
  const open = () =>
    version === '1.x'
      ? new StreamableHTTPClientTransport(new URL(server.url), { authProvider: user.provider })
      : new modern.StreamableHTTPClientTransport(new URL(server.url), { authProvider: user.modernProvider })
  const newClient = () => (version === '1.x' ? new Client(INFO) : new modern.Client(INFO)) as Client

  const first = open() as StreamableHTTPClientTransport
  await expect(newClient().connect(first)).rejects.toThrow('Unauthorized')
  /** The user signs, and the client redeems the code. */
  async function sign(transport: StreamableHTTPClientTransport) {
    const { searchParams } = await user.sign()
    await (version === '1.x'
      ? transport.finishAuth(searchParams.get('code') ?? '')
      : (transport as unknown as modern.StreamableHTTPClientTransport).finishAuth(searchParams))
  }
  await sign(first)

  const transport = open() as StreamableHTTPClientTransport
  const client = newClient()
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    ...server,
    asked: user.asked,
    sign: () => sign(transport),
    token: () => claimsOf(user.tokens()?.access_token ?? ''),
    async enhance(key: string) {
      const result: unknown = await client.callTool({ name: 'enhance', arguments: { key, amount: 5000 } })
      return JSON.parse((result as { content: [{ text: string }] }).content[0].text) as { draw: number; left: object }
    },
  }
}

test.for<Version>(['2.x', '1.x'])(
  'MCP SDK %s: a client without a refresh token asks its user for the scope of a limit that is used up, the wallet signs a new limit, and the same call passes',
  async (version, { grantor }) => {
    const { url, asked, sign, token, enhance, reasons } = await connect(grantor, version, ['authorization_code'])
    const grants = new Set([token().grant_id])
    expect(await enhance('helmet')).toMatchObject({ draw: 1, left: { uses: 0, amount: 0 } })
    // Again and again: each signature is a limit of its own.
    for (const key of ['sword', 'shield']) {
      await expect(enhance(key)).rejects.toThrow(version === '1.x' ? UnauthorizedError : modern.UnauthorizedError)
      expect(reasons.at(-1)).toBe('uses_exceeded')
      const { pathname, searchParams } = asked.at(-1) ?? new URL(url)
      expect([pathname, searchParams.get('scope'), searchParams.get('resource')]).toEqual([
        '/oauth/authorize',
        'enhancement',
        url,
      ])
      await sign()
      expect(grants).not.toContain(token().grant_id)
      grants.add(token().grant_id)
      expect(await enhance(key)).toMatchObject({ draw: 1, left: { uses: 0, amount: 0 } })
    }
    expect(asked).toHaveLength(3)
  },
)

// The token has the scope already, so both SDKs refresh it, and the new token has the same grant.
test.for<Version>(['2.x', '1.x'])(
  'MCP SDK %s: a client with a refresh token refreshes and gets the same 403, without a question to its user, until the API gives back',
  async (version, { grantor }) => {
    const grantTypes = ['authorization_code', 'refresh_token'] as const
    const { asked, token, enhance, reasons, resource } = await connect(grantor, version, [...grantTypes])
    await enhance('helmet')
    const { jti, grant_id: grantId } = token()
    const refused = reasons.length
    await expect(enhance('sword')).rejects.toThrow(/403/)
    expect(reasons.slice(refused)).toEqual(['uses_exceeded', 'uses_exceeded'])
    expect(token()).toMatchObject({ jti: expect.not.stringMatching(jti), grant_id: grantId })
    expect(asked).toHaveLength(1)
    // A repeated call needs no room.
    expect(await enhance('helmet')).toMatchObject({ draw: 1 })
    await resource.giveBack({ grantId, key: 'helmet', amount: 5000 })
    expect(await enhance('sword')).toMatchObject({ draw: 2, left: { uses: 0, amount: 0 } })
  },
)

test('A client that calls again before its user has signed asks again with 2.x, and fails with 403 with 1.x', async ({
  grantor,
}) => {
  const modernClient = await connect(grantor, '2.x', ['authorization_code'])
  const client = await connect(grantor, '1.x', ['authorization_code'])
  for (const { enhance } of [modernClient, client]) {
    await enhance('helmet')
    await expect(enhance('sword')).rejects.toThrow('Unauthorized')
  }
  await expect(modernClient.enhance('sword')).rejects.toThrow(modern.UnauthorizedError)
  await expect(client.enhance('sword')).rejects.toThrow(/403/)
  expect([modernClient.asked.length, client.asked.length]).toEqual([3, 2])
  // The signature lets the call of either pass.
  for (const { sign, enhance } of [modernClient, client]) {
    await sign()
    expect(await enhance('sword')).toMatchObject({ draw: 1 })
  }
})
