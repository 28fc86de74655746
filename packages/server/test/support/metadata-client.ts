/** A client that is not registered: it publishes its metadata document on this machine. */
import { startClientHost } from './client-host.ts'
import type { TestClient } from './start.ts'

export type MetadataClient = { client: TestClient; redirectUri: string; close(): Promise<void> }

export async function startMetadataClient({ redirectUri = 'http://localhost:33418/callback' } = {}): Promise<MetadataClient> {
  const host = await startClientHost((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  })
  const id = `${host.origin}/client.json`
  const document = {
    client_id: id,
    client_name: 'Agent Tools',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  }
  return {
    client: { id, secret: '', redirectUris: [redirectUri] } as unknown as TestClient,
    redirectUri,
    close: () => host.close(),
  }
}
