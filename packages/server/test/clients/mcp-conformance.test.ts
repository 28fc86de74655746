/**
 * The conformance tests of the Model Context Protocol for authorization servers, unchanged: `@modelcontextprotocol/conformance authorization`.
 * Its scenario of the authorization code grant prints a URL for a person's browser, and waits at a callback of its own for the response.
 * The tool sends no client secret to a server whose metadata lists the method `none`, so the clients here are public.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { newFolder } from '../app/run.ts'
import { startMetadataClient } from '../support/client-host.ts'
import { test as base, FILE } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import type { Grantor } from '../support/start.ts'
import { type Caller, Walk } from '../support/walk.ts'

const TOOL = join(import.meta.dirname, '../../../../node_modules/@modelcontextprotocol/conformance/dist/index.js')

type Check = { id: string; status: string; errorMessage?: string }

const test = base.extend('options', FILE, () => ({ clientMetadata: true }))

/** Runs all scenarios. A wallet signs in when the tool prints the URL. Returns the exit code and the checks in the tool's result files. */
async function runConformance(
  grantor: Grantor,
  { id, secret }: Caller,
  port: number,
): Promise<{ exit: number; checks: Check[] }> {
  const folder = newFolder()
  const credentials = ['--client-id', id, ...(secret === '' ? [] : ['--client-secret', secret])]
  const argv = ['authorization', '--url', grantor.authUrl, ...credentials, '--port', String(port), '--output-dir', folder]
  const tool = spawn(process.execPath, [TOOL, ...argv], { env: OWN_ENVIRONMENT, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(tool, 'close') as Promise<[number]>
  for await (const line of createInterface(tool.stdout)) {
    if (!line.startsWith(`${grantor.authUrl}/oauth/authorize?`)) continue
    const { to } = await new Walk(grantor).signIn(new URL(line).search.slice(1))
    await fetch(to)
  }
  const [exit] = await closed
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('checks.json'))
  return { exit, checks: files.flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Check[]) }
}

/** Every check of the tool, successful: no failure, no warning, none skipped. */
const ALL_SUCCESSFUL = ['authorization-code-grant', 'authorization-server-metadata', 'authorization-server-metadata-cimd'].map(
  (id) => [id, 'SUCCESS', undefined],
)

async function expectConformance(grantor: Grantor, client: Caller, port: number): Promise<void> {
  const { exit, checks } = await runConformance(grantor, client, port)
  const results = checks.map(({ id, status, errorMessage }) => [id, status, errorMessage] as const)
  expect(results.toSorted(([a], [b]) => a.localeCompare(b))).toEqual(ALL_SUCCESSFUL)
  expect(exit).toBe(0)
}

test('The MCP conformance tests for authorization servers pass without a warning for a registered public client', async ({
  grantor,
}) => {
  const [port = 0] = await freePorts(1)
  const client = await grantor.createClient({ type: 'native', redirectUris: ['http://127.0.0.1/callback'] })
  await expectConformance(grantor, client, port)
})

test('The MCP conformance tests for authorization servers pass without a warning for a client that is not registered', async ({
  grantor,
}) => {
  const [port = 0] = await freePorts(1)
  const published = await startMetadataClient({ redirectUri: 'http://127.0.0.1/callback' })
  try {
    await expectConformance(grantor, published.client, port)
  } finally {
    await published.close()
  }
})
