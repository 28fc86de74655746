import { isClientId } from './client-id.ts'

/** The client of a metric: the id if an operator registered the client. Anyone can bring a new client that is not registered. */
export function countedClient(clientId: string | undefined): string {
  if (clientId === undefined) return 'none'
  return isClientId(clientId) ? clientId : 'unregistered'
}
