import { createHash } from 'node:crypto'

/** The hash under which one use of a client's `jti` is stored. */
export function hashOfUse(clientId: string, jti: string): string {
  return createHash('sha256').update(`${clientId}\0${jti}`).digest('base64url')
}
