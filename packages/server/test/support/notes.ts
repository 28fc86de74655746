/** The example MCP server under a service, as a registered resource that every kind of client may ask for. */
import { once } from 'node:events'
import { createNotesServer, NOTES_SCOPES } from '../../demo/mcp-server/index.ts'
import { freePorts } from './free-ports.ts'
import type { Grantor } from './start.ts'

export type Notes = { resource: string; close(): void }

export async function startNotes(grantor: Grantor): Promise<Notes> {
  const [port] = await freePorts(1)
  const resource = `http://localhost:${port}/mcp`
  const scopes = NOTES_SCOPES.map((name) => ({ name, description: `${name} of your notes` }))
  const openTo = ['registered', 'metadata', 'dynamic'] as const
  await grantor.store.resources.insertResource({ uri: resource, name: 'Notes', scopes, openTo: [...openTo], createdAt: 1 })
  const { id: clientId, secret: clientSecret } = await grantor.createClient({
    name: 'Notes',
    redirectUris: [],
    resourceServer: resource,
  })
  const { authUrl: issuer, clock } = grantor
  const server = createNotesServer({ issuer, resource, clientId, clientSecret, now: clock.now })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    resource,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
