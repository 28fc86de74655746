/**
 * The command line of the MCP Inspector, unchanged, as a client that is not registered: `--client-metadata-url`. The package has 110 MB, so
 * the test installs it in a temporary folder. The program prints the authorization URL, and waits at a callback of its own for the response.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { startMetadataClient } from '../support/client-host.ts'
import { freePorts } from '../support/free-ports.ts'
import { startNotes } from '../support/notes.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { Walk } from '../support/walk.ts'

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0'

function installInspector(folder: string): void {
  const argv = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error', INSPECTOR]
  const { status, stderr } = spawnSync('npm', argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm could not install ${INSPECTOR}: ${stderr}`)
}

type Call = { requests: URLSearchParams[]; content: unknown }

/** Calls a tool. At each authorization URL the wallet allows these scopes. The program asks before a step-up, and gets a yes. */
async function callTool(
  grantor: Grantor,
  { folder, scope, argv }: { folder: string; scope: string; argv: string[] },
): Promise<Call> {
  const program = join(folder, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
  const options = ['--cli', '--transport', 'http', '--format', 'json', '--method', 'tools/call', ...argv]
  const child = spawn(process.execPath, [program, ...options], {
    // Without a terminal, the program signs in only if it may open a browser; `true` is a program that opens none.
    env: {
      ...OWN_ENVIRONMENT,
      HOME: folder,
      MCP_STORAGE_DIR: join(folder, 'storage'),
      MCP_AUTO_OPEN_ENABLED: 'true',
      BROWSER: 'true',
    },
  })
  child.stdin.write('y\n')
  let [out, errors] = ['', '']
  const requests: URLSearchParams[] = []
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  const closed = once(child, 'close') as Promise<[number]>
  for await (const line of createInterface(child.stderr)) {
    errors += `${line}\n`
    const [, query] = /navigate to: \S+\/oauth\/authorize\?(\S+)/.exec(line) ?? []
    if (query === undefined) continue
    requests.push(new URLSearchParams(query))
    await fetch((await new Walk(grantor).signIn(query, undefined, scope)).to)
  }
  const [exit] = await closed
  if (exit !== 0) throw new Error(`the inspector ended with ${exit}: ${errors}${out}`)
  const { result } = JSON.parse(out) as { result: { content: unknown } }
  return { requests, content: result.content }
}

test.runIf(process.env.TEST_CLIENTS)(
  'The command line of the MCP Inspector signs in with a metadata document, calls a tool, refreshes, and steps up to the union of the scopes',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grantor-inspector-'))
    installInspector(folder)
    const [port] = await freePorts(1)
    const grantor = await startGrantor({ clientMetadata: true })
    const notes = await startNotes(grantor)
    const published = await startMetadataClient({ redirectUri: `http://127.0.0.1:${port}/oauth/callback` })
    const { id } = published.client
    const client = ['--server-url', notes.resource, '--client-metadata-url', id, '--callback-url', published.redirectUri]
    const call = (scope: string, ...tool: string[]) =>
      callTool(grantor, { folder, scope, argv: [...client, '--tool-name', ...tool] })
    const scopesOf = ({ requests }: Call) => requests.map((request) => request.get('scope')?.split(' ').toSorted())
    const text = (said: string) => [{ type: 'text', text: said }]
    try {
      // The program requests every scope that the server's metadata names. The user declines one of them.
      const first = await call('notes.read', 'whoami')
      expect(first.requests.map((request) => request.get('client_id'))).toEqual([id])
      expect(scopesOf(first)).toEqual([['notes.read', 'notes.write']])
      expect(first.content).toEqual(text(new Walk(grantor).wallet.address))

      grantor.clock.advance(601)
      const { requests, content } = await call('', 'read_note')
      expect({ requests, content }).toEqual({ requests: [], content: text('') })

      const written = await call('notes.read notes.write', 'write_note', '--tool-arg', 'note=Buy milk')
      expect(written.requests.map((request) => request.get('scope')?.split(' ').toSorted())).toEqual([
        ['notes.read', 'notes.write'],
      ])
      expect(written.content).toEqual(text('Written.'))
    } finally {
      notes.close()
      await Promise.all([published.close(), grantor.close()])
      rmSync(folder, { recursive: true })
    }
  },
  180_000,
)
