/** The API that reads the feed. */
import { join } from 'node:path'
import { runNode } from '../servers/process.ts'
import type { Target } from '../target.ts'

/** The build and the folder of a run. */
export type Place = { home: string; folder: string }

/** The options of `createTokenCheck`. */
export type ApiOptions = { issuer: string; audience: string; introspection: { clientId: string; clientSecret: string } }

/** Registers the API as its owner does, for the resource of the tokens of the bench. */
export async function registerApi({ port, databaseUrl = '' }: Target, { home, folder }: Place): Promise<ApiOptions> {
  const issuer = `http://localhost:${port}`
  const log = join(folder, 'api.log')
  const words = ['clients', 'create', '--name', 'API', '--resource-server', issuer, '--json']
  const args = [join(home, 'bin/grantor.js'), ...words]
  const created = await runNode({ args, cwd: home, env: { GRANTOR_DATABASE_URL: databaseUrl }, cores: null, log })
  const { client_id: clientId, client_secret: clientSecret } = JSON.parse(created) as { client_id: string; client_secret: string }
  return { issuer, audience: issuer, introspection: { clientId, clientSecret } }
}
