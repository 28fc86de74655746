/** Checks that the configured algorithm is compatible with the registered clients. */
import type { Settings } from '../../config/settings.ts'
import { breaksProfiles, clientsAgainst } from '../../domain/clients/profile-signing.ts'
import type { Store } from '../../domain/model/store.ts'
import { CommandError } from '../../operators/terminal/command.ts'

/**
 * If a client's profile excludes the signing algorithm, the client would be refused every request: report that now, in
 * one line.
 */
export async function checkSigning(
  { signingAlg }: Pick<Settings<'keys'>, 'signingAlg'>,
  { clients }: Pick<Store, 'clients'>,
): Promise<void> {
  const [one, ...more] = breaksProfiles(signingAlg) ? clientsAgainst(await clients.listClients(), signingAlg) : []
  if (!one) return
  const who = `"${one.name}" (${one.id})${more.length > 0 ? ` and ${more.length} more` : ''}`
  throw new CommandError(
    `GRANTOR_SIGNING_ALG is ${signingAlg}, which profile fapi2 of the client ${who} excludes: set ES256 or EdDSA, or grantor clients disable ${one.id}`,
  )
}
