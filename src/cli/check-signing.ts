/** Whether the algorithm that is set goes with the clients that are there. */
import type { Settings } from '../config/settings.ts'
import type { Store } from '../grants/ports.ts'
import { breaksProfiles, clientsAgainst } from '../grants/profile-signing.ts'
import { Failure } from './command.ts'

/** Clients under a profile that the signing algorithm breaks would be served nothing: better said now, in one line. */
export async function checkSigning(
  { signingAlg }: Pick<Settings<'keys'>, 'signingAlg'>,
  { clients }: Pick<Store, 'clients'>,
): Promise<void> {
  const [one, ...more] = breaksProfiles(signingAlg) ? clientsAgainst(await clients.listClients(), signingAlg) : []
  if (!one) return
  const who = `"${one.name}" (${one.id})${more.length > 0 ? ` and ${more.length} more` : ''}`
  throw new Failure(
    `GRANTOR_SIGNING_ALG is ${signingAlg}, which does not go with profile fapi2 of the client ${who}: set ES256 or EdDSA, or grantor clients disable ${one.id}`,
  )
}
