/** The client secrets that will expire: after a rotation, the one before stays valid for a while. */
import type { Store } from '../model/store.ts'

const DAY = 86_400
/** No secret stays valid for longer after a rotation (`overlap`). */
const LONGEST_OVERLAP = 30 * DAY
const SOON = 7 * DAY
/** The cost does not depend on the number of clients: the audit trail names those with a new secret. */
const ROTATIONS_READ = 50

export async function readEndingSecrets(
  { audit, clients }: Pick<Store, 'audit' | 'clients'>,
  at: number,
): Promise<{ clientId: string; expiresAt: number }[]> {
  const lines = await audit.searchLines(
    { event: 'client_secret_rotated', since: at - LONGEST_OVERLAP },
    { limit: ROTATIONS_READ },
  )
  const ids = [...new Set(lines.flatMap(({ clientId }) => clientId ?? []))]
  const found = await Promise.all(ids.map((id) => clients.readClient(id)))
  return found.flatMap((client) =>
    (client?.secrets ?? []).flatMap(({ expiresAt }) =>
      client && expiresAt !== null && expiresAt > at && expiresAt <= at + SOON ? [{ clientId: client.id, expiresAt }] : [],
    ),
  )
}
