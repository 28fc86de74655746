/** The demo of `grantor start`: its clients, its resources, and the programs that use them. */

import type { Server } from 'node:http'
import type { Limit } from '@grantor/protocol/limit'
import { type ClientRegistration, registerClient } from '../../domain/clients/register-client.ts'
import { wordsOf } from '../../domain/model/fault.ts'
import { CLIENT_KINDS, type Resource } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import type { Logger } from '../../observability/log/logger.ts'
import { hashSecret } from '../../protocol/keys/secret.ts'
import type { DevelopmentStore } from '../compose/development-store.ts'

export type DemoAddresses = {
  authUrl: string
  builderAppUrl: string
  resourceApiUrl: string
  resource: string
  /** the resource identifier of the MCP server */
  mcpUrl: string
}
export type DemoClient = { id: string; secret: string }
export type Demo = {
  builderApp: DemoClient
  resourceApi: DemoClient
  mcpServer: DemoClient
  mcpClient: Pick<DemoClient, 'id'>
  device: Pick<DemoClient, 'id'>
}

const API_NAME = 'Demo resource API'
const MCP_NAME = 'Demo MCP server'

/** Those of the example, which cannot be imported if a package that it needs is missing. */
export const MCP_SCOPES = ['notes.read', 'notes.write']

/** What the README draws from: two enhancements of at most 50.00 NESO. */
const ENHANCE_LIMIT: Limit = { uses: 3, per: 'day', unit: 'NESO', decimals: 2, amount: 12_000, each: 5_000 }

const DEVICE_GRANTS: NonNullable<ClientRegistration['grantTypes']> = [
  'urn:ietf:params:oauth:grant-type:device_code',
  'refresh_token',
]

/**
 * Ids and secrets of the demo clients. They are derived, so they are the same at every start and never stored in plain
 * text.
 */
export function demoClients({ idFor, secretFor }: DevelopmentStore): Demo {
  return {
    builderApp: { id: idFor('demo builder app id'), secret: secretFor('demo builder app secret') },
    resourceApi: { id: idFor('demo resource API id'), secret: secretFor('demo resource API secret') },
    mcpServer: { id: idFor('demo MCP server id'), secret: secretFor('demo MCP server secret') },
    mcpClient: { id: idFor('demo MCP client id') },
    device: { id: idFor('demo device client id') },
  }
}

/** Replaces the records, so that they are correct after a change of the ports. */
export async function registerDemoClients(
  store: Pick<Store, 'clients'>,
  demo: Demo,
  { builderAppUrl, resource, mcpUrl }: DemoAddresses,
  at: number,
): Promise<void> {
  const app = { name: 'Demo builder app', redirectUris: [`${builderAppUrl}/callback`], resources: [resource] }
  const api = { name: API_NAME, redirectUris: [], resourceServer: resource }
  const mcpServer = { name: MCP_NAME, redirectUris: [], resourceServer: mcpUrl }
  // RFC 8252 §7.3: a native client may use any port of the loopback address.
  const redirectUris = ['http://127.0.0.1/callback', 'http://127.0.0.1/oauth/callback']
  const mcpClient = { name: 'Demo MCP client', redirectUris, scopes: MCP_SCOPES, resources: [mcpUrl] }
  const device = { name: 'Demo command line', redirectUris: [], grantTypes: DEVICE_GRANTS, resources: [resource] }
  await Promise.all([
    putClient(store, demo.builderApp, { ...app, type: 'confidential' }, at),
    putClient(store, demo.resourceApi, { ...api, type: 'confidential' }, at),
    putClient(store, demo.mcpServer, { ...mcpServer, type: 'confidential' }, at),
    putClient(store, demo.mcpClient, { ...mcpClient, type: 'native' }, at),
    putClient(store, demo.device, { ...device, type: 'native' }, at),
  ])
}

/**
 * Registers the demo's resources, open to clients that no operator registered, so that such a client can be tried. Resources of earlier
 * ports are removed. A resource that the developer changed stays as it is. `enhancement` is the description of this scope.
 */
export async function registerDemoResources(
  { resources }: Pick<Store, 'resources'>,
  { resource, mcpUrl }: DemoAddresses,
  enhancement: string,
  at: number,
): Promise<void> {
  const common = { openTo: [...CLIENT_KINDS], createdAt: at }
  // `history` is in docs/guides/builders.md, whose commands work with this command.
  const scopes = [
    { name: 'enhancement', description: enhancement },
    { name: 'history', description: 'read your history in the demo' },
    // A scope of its own: a limited scope needs a signature at every sign-in, and `enhancement` is what every app requests first.
    { name: 'enhance', description: 'enhance your items in the demo', limit: ENHANCE_LIMIT },
  ]
  const notes = [
    { name: 'notes.read', description: 'read the notes of the demo' },
    { name: 'notes.write', description: 'write notes in the demo' },
  ]
  const demo: Resource[] = [
    { ...common, uri: resource, name: API_NAME, scopes },
    { ...common, uri: mcpUrl, name: MCP_NAME, scopes: notes },
  ]
  const [names, uris] = [demo.map(({ name }) => name), demo.map(({ uri }) => uri)]
  const earlier = (await resources.listResources()).filter(({ name, uri }) => names.includes(name) && !uris.includes(uri))
  await Promise.all(earlier.map(({ uri }) => resources.deleteResource(uri)))
  for (const each of demo) await resources.insertResource(each)
}

async function putClient(
  store: Pick<Store, 'clients'>,
  { id, secret }: Partial<DemoClient> & Pick<DemoClient, 'id'>,
  registration: ClientRegistration,
  at: number,
): Promise<void> {
  const registered = registerClient(registration, at)
  if (registered.kind === 'faults') throw new Error(wordsOf(registered.faults).join(' '))
  const secrets = secret === undefined ? [] : [{ secretHash: hashSecret(secret), expiresAt: null, createdAt: at }]
  const client = { ...registered.client, id, secrets }
  if ((await store.clients.insertClient(client)) === 'taken') await store.clients.replaceClient(client)
}

/** The demo builder app and the demo resource API; they do not listen yet. */
export async function createDemoApps(demo: Demo, addresses: DemoAddresses, logger: Logger, now: () => number) {
  const [{ createBuilderApp }, { createResourceApi }] = await Promise.all([
    import('../../../demo/builder-app/index.ts'),
    import('../../../demo/resource-api/index.ts'),
  ])
  const { authUrl: issuer, builderAppUrl: baseUrl, resourceApiUrl: apiUrl, resource: audience } = addresses
  const { builderApp, resourceApi } = demo
  return {
    builderApp: createBuilderApp({
      issuer,
      clientId: builderApp.id,
      clientSecret: builderApp.secret,
      baseUrl,
      apiUrl,
      logger: logger.child({ server: 'app' }),
      now,
    }),
    resourceApi: createResourceApi({
      issuer,
      audience,
      origin: apiUrl,
      clientId: resourceApi.id,
      clientSecret: resourceApi.secret,
      logger: logger.child({ server: 'api' }),
      now,
    }),
  }
}

/** What the example MCP server needs besides Grantor. An installed Grantor does not bring it along. */
const MCP_PACKAGES = ['@modelcontextprotocol/server', '@hono/node-server']

/** The demo MCP server, not listening yet, or the packages that it needs and that are not installed. */
export async function createDemoMcpServer(
  { mcpServer }: Demo,
  { authUrl: issuer, mcpUrl: resource }: DemoAddresses,
  logger: Logger,
  now: () => number,
): Promise<{ kind: 'server'; server: Server } | { kind: 'missing'; packages: string[] }> {
  const packages = MCP_PACKAGES.filter((name) => !isInstalled(name))
  if (packages.length > 0) return { kind: 'missing', packages }
  const { createNotesServer } = await import('../../../demo/mcp-server/index.ts')
  const log = logger.child({ server: 'mcp' })
  const server = createNotesServer({
    issuer,
    resource,
    clientId: mcpServer.id,
    clientSecret: mcpServer.secret,
    onRefusal: ({ reason }) => log.info({ reason }, 'call refused'),
    now,
  })
  return { kind: 'server', server }
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
