/** Ids of clients: UUIDs as `registerClient` makes them, in lower case. */
const CLIENT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a text can be the id of a client. One that cannot is refused without a look-up. */
export function isClientId(text: string): boolean {
  return CLIENT_ID.test(text)
}

/**
 * The 16 bytes of a client id as a text of 16 characters. The engine may keep a text that was cut out of a request as a
 * reference to the whole request; this one holds nothing but its own bytes.
 */
export function bytesOfClientId(clientId: string): string {
  return Buffer.from(clientId.replaceAll('-', ''), 'hex').toString('latin1')
}
