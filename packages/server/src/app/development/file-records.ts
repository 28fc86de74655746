/** The clients and resources of a file of `grantor apply` in a store for development, with ids and secrets that are the same at every start. */
import type { ClientAuthMethod } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { type Configuration, planConfiguration } from '../../operators/configuration/plan.ts'
import type { Service } from '../../operators/operations/service.ts'
import { UsageError } from '../../operators/terminal/command.ts'
import { faultLines } from '../../operators/terminal/configuration/read-configuration.ts'
import { hashSecret } from '../../protocol/keys/secret.ts'
import { localActor } from '../compose/command-service.ts'

export type FileClient = {
  readonly name: string
  readonly clientId: string
  /** null for a client without a secret */
  readonly clientSecret: string | null
  readonly redirectUris: readonly string[]
  readonly resources: readonly string[]
  readonly authMethod: ClientAuthMethod
}

export type FileRecordOptions = {
  /** what messages name as the place of the entries */
  source: string
  /** the id of a client whose entry has none; a UUID */
  idFor(name: string): string
  secretFor(clientId: string): string
}

/**
 * Stores the clients and resources of a configuration. All else in it, such as operators, does not matter for development.
 *
 * @returns the clients, in the order of the file.
 */
export async function addFileRecords(
  configuration: Configuration,
  service: Service,
  { source, idFor, secretFor }: FileRecordOptions,
): Promise<FileClient[]> {
  const clients =
    configuration.clients?.map(({ place, members }) => ({
      place,
      members: { client_id: idFor(String(members.name).trim()), ...members },
    })) ?? null
  const { resources } = configuration
  // The records of a store for development have no lines in its audit trail.
  const quiet = { ...service, record: async () => undefined }
  const plan = await planConfiguration({ clients, resources, operators: null, webhooks: null }, { service: quiet, prune: false })
  if ('faults' in plan) throw new UsageError(faultLines(source, plan.faults))
  const actor = localActor('development')
  for (const change of plan.changes) await change.carryOut(actor, async () => undefined)
  const ids = (clients ?? []).map(({ members }) => members.client_id)
  return Promise.all(ids.map((id) => readFileClient(service.store, id, secretFor(id))))
}

/** Replaces the secret of the client, which is random, by `secret`. */
async function readFileClient({ clients }: Store, id: string, secret: string): Promise<FileClient> {
  const client = await clients.changeClient(id, (present) => ({
    ...present,
    secrets: present.secrets.map((each) => ({ ...each, secretHash: hashSecret(secret) })),
  }))
  if (!client) throw new Error('the client was not stored')
  const { name, redirectUris, resources, authMethod, secrets } = client
  return { name, clientId: id, clientSecret: secrets.length > 0 ? secret : null, redirectUris, resources, authMethod }
}
