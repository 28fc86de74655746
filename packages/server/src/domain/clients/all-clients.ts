/** All clients: those in the store, those whose id is the URL of a metadata document, and those that registered themselves. */
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { looksLikeClientIdUrl, looksLikeDynamicClientId } from '../../protocol/oauth/client-id-url.ts'
import type { Changed } from '../model/changes.ts'
import type { Clients, UnknownReason } from '../model/clients.ts'
import type { Client } from '../model/records.ts'
import type { Resources } from '../model/resources.ts'
import type { ClientDirectory } from './client-directory.ts'
import { openDynamicClient } from './dynamic-clients.ts'
import type { MetadataClients } from './metadata-clients.ts'

type Sources = {
  directory: ClientDirectory
  /** null if the operator does not accept clients with metadata documents */
  metadata: MetadataClients | null
  /** the keys that open sealed registrations; null if the operator does not accept clients that register themselves */
  registrationKeys: KeyRing | null
  resources: Pick<Resources, 'openTo'>
}

export function allClients({ directory, metadata, registrationKeys, resources }: Sources): Clients {
  const documents = (clientId: string): MetadataClients | null => (looksLikeClientIdUrl(clientId) ? metadata : null)
  const dynamic = (clientId: string): Client | null =>
    registrationKeys !== null && looksLikeDynamicClientId(clientId)
      ? openDynamicClient(registrationKeys, clientId, resources.openTo('dynamic'))
      : null
  return {
    async find(clientId: string): Promise<Client | null> {
      return documents(clientId)?.lastGood(clientId) ?? dynamic(clientId) ?? directory.find(clientId)
    },
    async findStored(clientId: string, network: string | null): Promise<Client | null> {
      const urls = documents(clientId)
      if (!urls) return dynamic(clientId) ?? directory.findStored(clientId)
      return urls.loadOrLastGood(clientId, network)
    },
    findEnabled(clientId: string, network: string | null) {
      return documents(clientId)?.load(clientId, network) ?? dynamic(clientId) ?? directory.findEnabled(clientId)
    },
    findRegistered: (clientId: string) => directory.findEnabled(clientId),
    isEnabled(clientId: string) {
      const urls = documents(clientId)
      if (urls) return urls.isEnabled(clientId)
      if (looksLikeDynamicClientId(clientId)) return dynamic(clientId) !== null
      const client = directory.findEnabled(clientId)
      return client instanceof Promise ? client.then((found) => found !== null) : client !== null
    },
    findCached(clientId: string): Client | undefined {
      return documents(clientId)?.findCached(clientId) ?? dynamic(clientId) ?? directory.findCached(clientId)
    },
    whyUnknown(clientId: string): UnknownReason {
      return documents(clientId)?.whyUnknown(clientId) ?? { reason: 'client_unknown_or_disabled' }
    },
    async isPublicOrigin(origin: string): Promise<boolean> {
      // Any origin can publish a document or register a client. The endpoints use no cookies, so this gives a page no access.
      return metadata !== null || registrationKeys !== null || directory.isPublicOrigin(origin)
    },
    forget(changed: Changed): void {
      directory.forget(changed)
    },
  }
}
