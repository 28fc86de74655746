/** Finds the client that an operator named, or reports in one line that it does not exist. */

import type { Client } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { CommandError } from '../terminal/command.ts'

export const CLIENT_OPERAND = { name: 'CLIENT_ID', words: 'The id of the client, from grantor clients list.' } as const

export async function findClient(store: Pick<Store, 'clients'>, clientId: string): Promise<Client> {
  const client = await store.clients.readClient(clientId)
  if (!client) throw unknownClient(clientId)
  return client
}

/** Changes the client's current record: concurrent changes of other properties are kept. */
export async function changeClient(
  store: Pick<Store, 'clients'>,
  clientId: string,
  change: (client: Client) => Client,
): Promise<Client> {
  const changed = await store.clients.changeClient(clientId, change)
  if (!changed) throw unknownClient(clientId)
  return changed
}

export function unknownClient(clientId: string): CommandError {
  return new CommandError(`no client is registered as "${clientId}"; see: grantor clients list`)
}
