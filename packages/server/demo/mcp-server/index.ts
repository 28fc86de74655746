import { createServer, type Server } from 'node:http'
import { createProtectedResource, type ResourceError } from '@grantor/resource'
import { protectMcp } from '@grantor/resource/mcp'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, fromJsonSchema, type McpRequestContext, McpServer } from '@modelcontextprotocol/server'

export interface NotesServerOptions {
  /** The issuer: the address of the authorization service, exactly as in `iss`. */
  issuer: string
  /** The address of this server, such as `https://notes.example.com/mcp`; also the `aud` of its tokens. */
  resource: string
  /** This server's own credentials at the introspection endpoint (a client made with `clients create --resource-server`). */
  clientId: string
  clientSecret: string
  onRefusal?: (error: ResourceError) => void
  /** Epoch seconds; the machine's clock if absent. */
  now?: () => number
}

/** The scope of every call, and the scope that the tool `write_note` needs in addition. */
export const NOTES_SCOPES = ['notes.read', 'notes.write'] as const
const [READ, WRITE] = NOTES_SCOPES

/** A demonstration keeps the notes of the latest thousand wallets, one each, in memory. */
const WALLETS_AT_MOST = 1000

/** An MCP server that keeps one note for each wallet; not listening yet. */
export function createNotesServer({ clientId, clientSecret, ...options }: NotesServerOptions): Server {
  const resource = createProtectedResource({
    ...options,
    introspection: { clientId, clientSecret },
    // Tokens that are bound to a key (DPoP, RFC 9449) are accepted too.
    dpop: { origin: new URL(options.resource).origin },
    scopes: [READ],
    scopesSupported: NOTES_SCOPES,
    name: 'Notes of a wallet',
  })
  const notes = new Map<string, string>()

  /** The SDK makes one server for each request, so the tools of a server have one caller. */
  function buildServer({ authInfo }: McpRequestContext): McpServer {
    const wallet = String(authInfo?.extra?.wallet)
    const server = new McpServer({ name: 'notes', version: '1.0.0' })
    server.registerTool('whoami', { description: 'Returns the wallet that you act for.' }, () => text(wallet))
    server.registerTool('read_note', { description: 'Returns the note of the wallet.' }, () => text(notes.get(wallet) ?? ''))
    const description = 'Replaces the note of the wallet.'
    server.registerTool('write_note', { description, inputSchema: NOTE }, ({ note }) => {
      const [oldest] = notes.keys()
      if (oldest !== undefined && notes.size >= WALLETS_AT_MOST && !notes.has(wallet)) notes.delete(oldest)
      notes.set(wallet, note)
      return text('Written.')
    })
    return server
  }

  const mcp = protectMcp(resource, createMcpHandler(buildServer), { tools: { write_note: { scopes: [WRITE] } } })
  const listener = getRequestListener(mcp.fetch)
  return createServer((request, response) => void listener(request, response))
}

const NOTE = fromJsonSchema<{ note: string }>({
  type: 'object',
  properties: { note: { type: 'string', maxLength: 1000 } },
  required: ['note'],
})

function text(said: string) {
  return { content: [{ type: 'text' as const, text: said }] }
}
