/**
 * The servers in Python of docs/guides/protect-an-api.md, with FastMCP and the MCP Python SDK. TEST_PYTHON names a Python that has them: `pip install
 * fastmcp mcp httpx 'pyjwt[crypto]'`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import * as mcp from '@modelcontextprotocol/client'
import { afterEach, expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import type { Grantor } from '../support/start.ts'
import { CODE_VERIFIER, PKCE, Walk } from '../support/walk.ts'
import { recipeOf, register, writeRecipe } from './recipe.ts'

const PYTHON = process.env.TEST_PYTHON ?? '/usr/bin/python3'
const PACKAGE = new URL('../../../../sdks/python/src', import.meta.url).pathname
const REDIRECT_URI = 'http://127.0.0.1:7777/callback'
const OTHER = 'https://api.example.com/other'

function whyMissing(name: string): string | null {
  const { status } = spawnSync(PYTHON, ['-c', `import ${name}`])
  return status === 0 ? null : `${PYTHON} has no ${name}: install fastmcp and mcp in a virtual environment, and set TEST_PYTHON`
}

const servers: ChildProcess[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    if (server.exitCode !== null) continue
    server.kill()
    await once(server, 'close')
  }
})

type Api = { resource: string; client: { id: string; secret: string } }

/** Registers the API and a client as the page does, and runs this server until the end of the test. */
async function startServer(grantor: Grantor, name: string, source: string): Promise<Api> {
  const [port = 0] = await freePorts(1)
  const resource = `http://127.0.0.1:${port}/mcp`
  const places = { 'https://api.example.com/notes': resource }
  const api = await register(grantor, 'api', places, 'protect-an-api')
  const agent = await register(
    grantor,
    'agent',
    { ...places, [`--resource ${resource}`]: `--resource ${resource} --resource ${OTHER}` },
    'protect-an-api',
  )
  const settings = { ISSUER: grantor.authUrl, RESOURCE: resource, CLIENT_ID: api.client_id, CLIENT_SECRET: api.client_secret }
  const server = spawn(PYTHON, [writeRecipe(name, source)], { env: { PATH: process.env.PATH, PYTHONPATH: PACKAGE, ...settings } })
  servers.push(server)
  let output = ''
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  while (!(await isListening(port))) {
    if (server.exitCode !== null) throw new Error(output)
    await wait(100)
  }
  return { resource, client: { id: agent.client_id, secret: '' } }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function tokenFor(grantor: Grantor, { client }: Api, resource: string, scope: string): Promise<string> {
  const walk = new Walk(grantor)
  const request = { response_type: 'code', client_id: client.id, redirect_uri: REDIRECT_URI, scope, resource, ...PKCE }
  const { code } = await walk.signIn(request)
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER }
  return String((await walk.token(client, exchange)).json().access_token)
}

async function openClient({ resource }: Api, token: string): Promise<mcp.Client> {
  const client = new mcp.Client({ name: 'agent', version: '1.0.0' })
  await client.connect(new mcp.StreamableHTTPClientTransport(new URL(resource), { authProvider: { token: async () => token } }))
  return client
}

/** Calls a tool with a token. Returns the text of the result. */
async function callTool(api: Api, token: string, name: string): Promise<unknown> {
  const client = await openClient(api, token)
  const { content } = (await client.callTool({ name })) as { content: { text?: string }[] }
  await client.close()
  return content[0]?.text
}

async function statusFor({ resource }: Api, token: string): Promise<number> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  return (await fetch(resource, { method: 'POST', headers: { ...headers, ...authorization }, body })).status
}

/** What every server of the page does. Returns a valid token. */
async function expectProtected(grantor: Grantor, api: Api): Promise<string> {
  const token = await tokenFor(grantor, api, api.resource, 'notes.read')
  expect(await callTool(api, token, 'read_note')).toBe(`the note of ${new Walk(grantor).wallet.address}`)
  expect(await statusFor(api, '')).toBe(401)
  expect(await statusFor(api, await tokenFor(grantor, api, OTHER, 'notes.read'))).toBe(401)
  expect(await statusFor(api, await tokenFor(grantor, api, api.resource, 'notes.write'))).toBeGreaterThanOrEqual(401)
  const metadata = await fetch(`${new URL(api.resource).origin}/.well-known/oauth-protected-resource/mcp`)
  const { resource, authorization_servers: authorizationServers } = (await metadata.json()) as Record<string, unknown>
  expect(resource).toBe(api.resource)
  expect(authorizationServers).toEqual([grantor.authUrl])
  return token
}

async function revoke(grantor: Grantor, { client }: Api, token: string): Promise<void> {
  expect((await new Walk(grantor).revoke(client, token)).status).toBe(200)
}

test.runIf(process.env.TEST_CLIENTS)(
  'FastMCP accepts tokens for its own audience by introspection, and no revoked token',
  async ({ grantor, skip }) => {
    const why = whyMissing('fastmcp')
    if (why !== null) return skip(why)
    const api = await startServer(grantor, 'server_fastmcp.py', recipeOf('python', 'fastmcp', 'protect-an-api'))
    const token = await expectProtected(grantor, api)
    expect(await callTool(api, token, 'clear_note')).toBe("Unknown tool: 'clear_note'")
    const writing = await tokenFor(grantor, api, api.resource, 'notes.read notes.write')
    expect(await callTool(api, writing, 'clear_note')).toBe('cleared')
    await revoke(grantor, api, token)
    expect(await statusFor(api, token)).toBe(401)
  },
)

test.runIf(process.env.TEST_CLIENTS)('FastMCP verifies the signature of tokens with ES256', async ({ grantor, skip }) => {
  const why = whyMissing('fastmcp')
  if (why !== null) return skip(why)
  const [imported, verifier] = recipeOf('python', 'fastmcp-jwt', 'protect-an-api').split('\n\n')
  const source = recipeOf('python', 'fastmcp', 'protect-an-api').replace(
    /verifier = IntrospectionTokenVerifier\([^]*?\n\)/,
    () => verifier ?? '',
  )
  const api = await startServer(grantor, 'server_fastmcp_jwt.py', `${imported}\n${source}`)
  await expectProtected(grantor, api)
})

test.runIf(process.env.TEST_CLIENTS)(
  'The MCP Python SDK accepts tokens for its own resource by introspection, and no revoked token',
  async ({ grantor, skip }) => {
    const why = whyMissing('mcp')
    if (why !== null) return skip(why)
    const api = await startServer(grantor, 'server_mcp_sdk.py', recipeOf('python', 'mcp-sdk', 'protect-an-api'))
    const token = await expectProtected(grantor, api)
    await revoke(grantor, api, token)
    expect(await statusFor(api, token)).toBe(401)
  },
)
