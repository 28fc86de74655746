/** The column `attempt_id` of a revoked token without a grant: the attempt, the client of the token, and its resource. None of them has a space. */
import { pack, unpack } from './packed.ts'

type Revocation = { hash: string; attemptId: string; at: number; clientId: string; resource?: string }

export function revokedTokenRow({ hash, attemptId, at, clientId, resource = '' }: Revocation) {
  return { hash: pack(hash), at, attemptId: pack(`${attemptId} ${clientId} ${resource}`) }
}

export function readRevokedToken(attempt: Uint8Array): { clientId: string; resources?: string[] } {
  const [, clientId = '', resource = ''] = unpack(attempt).split(' ')
  return { clientId, ...(resource !== '' && { resources: [resource] }) }
}
