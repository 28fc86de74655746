/** Ids of clients: UUIDs in lower case, as `registerClient` generates them. */
const CLIENT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a text can be a client id. Other texts are refused without a query. */
export function isClientId(text: string): boolean {
  return CLIENT_ID.test(text)
}

/**
 * The 16 bytes of a client id as a text of 16 characters. The engine may keep a substring as a reference to the whole request, which
 * then stays in memory. The new text references only 16 bytes.
 */
export function bytesOfClientId(clientId: string): string {
  return Buffer.from(clientId.replaceAll('-', ''), 'hex').toString('latin1')
}

/** The client of a metric: the id if an operator registered the client. Anyone can bring a new client that is not registered. */
export function countedClient(clientId: string | undefined): string {
  if (clientId === undefined) return 'none'
  return isClientId(clientId) ? clientId : 'unregistered'
}
