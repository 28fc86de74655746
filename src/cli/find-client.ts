/** The client an operator named, or one line saying that there is none. */
import type { Client } from '../grants/model.ts'
import type { Store } from '../grants/ports.ts'
import { Failure } from './command.ts'

export const CLIENT_OPERAND = { name: 'CLIENT_ID', words: 'The client, as grantor clients list names it.' } as const

export async function findClient(store: Pick<Store, 'clients'>, clientId: string): Promise<Client> {
  const client = await store.clients.readClient(clientId)
  if (!client) throw unknown(clientId)
  return client
}

/** Changes the client as it is at that moment: what somebody else changes meanwhile stays changed. */
export async function changeClient(
  store: Pick<Store, 'clients'>,
  clientId: string,
  change: (client: Client) => Client,
): Promise<Client> {
  const changed = await store.clients.changeClient(clientId, change)
  if (!changed) throw unknown(clientId)
  return changed
}

function unknown(clientId: string): Failure {
  return new Failure(`no client is registered as "${clientId}"; see: grantor clients list`)
}
