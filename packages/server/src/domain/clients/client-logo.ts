/** The logo of a registered client: the bytes are checked by `readLogo` before. */
import type { Logo } from '../../config/look/logo.ts'
import type { Client } from '../model/records.ts'
import type { Store } from '../model/store.ts'

/**
 * Replaces the logo of a client; null removes the logo. The record and the bytes change together. Null for an unknown client. `accept` is
 * called with the present client before the change, maybe more than once. Its error stops the change.
 */
export async function setClientLogo(
  { clients }: Pick<Store, 'clients'>,
  clientId: string,
  { logo, accept = () => {} }: { logo: Pick<Logo, 'hash' | 'bytes'> | null; accept?: (present: Client) => void },
): Promise<Client | null> {
  const changed = await clients.changeClientLogo(clientId, (present) => {
    accept(present)
    if (logo === null) return { client: { ...present, logo: null }, bytes: null }
    const { hash, bytes } = logo
    return { client: { ...present, logo: { hash } }, bytes }
  })
  return changed?.client ?? null
}
