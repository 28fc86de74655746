/** The demo of `grantor start`: its two clients, its resource, and the two apps that use them. */

import { type ClientRegistration, registerClient } from '../../domain/clients/register-client.ts'
import type { Store } from '../../domain/model/store.ts'
import { hashSecret } from '../../keys/secret.ts'
import type { Logger } from '../../ops/logger.ts'
import type { DevelopmentStore } from '../compose/development-store.ts'

export type DemoAddresses = { authUrl: string; builderAppUrl: string; resourceApiUrl: string; resource: string }
export type DemoClient = { id: string; secret: string }
export type Demo = { builderApp: DemoClient; resourceApi: DemoClient }

/**
 * Ids and secrets of the demo clients. They are derived, so they are the same at every start and never stored in plain
 * text.
 */
export function demoClients({ idFor, secretFor }: DevelopmentStore): Demo {
  return {
    builderApp: { id: idFor('demo builder app id'), secret: secretFor('demo builder app secret') },
    resourceApi: { id: idFor('demo resource API id'), secret: secretFor('demo resource API secret') },
  }
}

/** Replaces both records, so that they are correct after a change of the ports. */
export async function registerDemoClients(
  store: Pick<Store, 'clients'>,
  demo: Demo,
  { builderAppUrl, resource }: DemoAddresses,
  at: number,
): Promise<void> {
  const app = { name: 'Demo builder app', redirectUris: [`${builderAppUrl}/callback`], resources: [resource] }
  const api = { name: 'Demo resource API', redirectUris: [], resourceServer: resource }
  await Promise.all([putClient(store, demo.builderApp, app, at), putClient(store, demo.resourceApi, api, at)])
}

const RESOURCE_NAME = 'Demo resource API'

/**
 * Registers the demo's resource, open to clients with metadata documents, so that such a client can be tried. A resource of earlier ports is
 * removed. A resource that the developer changed stays as it is.
 */
export async function registerDemoResource(
  { resources }: Pick<Store, 'resources'>,
  { resource: uri }: DemoAddresses,
  description: string,
  at: number,
): Promise<void> {
  const earlier = (await resources.listResources()).filter((each) => each.name === RESOURCE_NAME && each.uri !== uri)
  await Promise.all(earlier.map((each) => resources.deleteResource(each.uri)))
  const scopes = [{ name: 'enhancement', description }]
  await resources.insertResource({ uri, name: RESOURCE_NAME, scopes, openTo: ['registered', 'metadata'], createdAt: at })
}

async function putClient(
  store: Pick<Store, 'clients'>,
  { id, secret }: DemoClient,
  registration: Omit<ClientRegistration, 'type'>,
  at: number,
): Promise<void> {
  const registered = registerClient({ ...registration, type: 'confidential' }, at)
  if (registered.kind === 'faults') throw new Error(registered.faults.join(' '))
  const client = { ...registered.client, id, secrets: [{ secretHash: hashSecret(secret), expiresAt: null }] }
  if ((await store.clients.insertClient(client)) === 'taken') await store.clients.replaceClient(client)
}

/** The demo builder app and the demo resource API; they do not listen yet. */
export async function createDemoApps(demo: Demo, addresses: DemoAddresses, logger: Logger, now: () => number) {
  const [{ createBuilderApp }, { createResourceApi }] = await Promise.all([
    import('../../../examples/builder-app/index.ts'),
    import('../../../examples/resource-api/index.ts'),
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
