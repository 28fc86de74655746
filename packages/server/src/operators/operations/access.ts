/** Who may do what, beyond the scope of an operation. */
import type { ClientRegistration } from '../../domain/clients/register-client.ts'
import type { Operator } from '../../domain/model/records.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { roleAllows } from '../../domain/operators/roles.ts'
import { insufficientScope } from '../../protocol/oauth/oauth-error.ts'
import { Refusal } from './refusal.ts'
import type { Actor, Service } from './service.ts'

type ResourcesOfClient = Pick<ClientRegistration, 'resources' | 'exchangeResources' | 'resourceServer'>

/**
 * A client for the admin API can act for an owner who signs in to the client. So can a client that exchanges the token of another app for one
 * of the admin API. The resource server of the admin API can introspect the tokens of owners. So only owners decide about such clients.
 */
export function requireOwnerFor({ adminResource }: Service, { role }: Actor, client: ResourcesOfClient): void {
  const { resources = [], exchangeResources = [], resourceServer } = client
  if (role === 'owner' || adminResource === null) return
  if ([...resources, ...exchangeResources, resourceServer].includes(adminResource))
    throw new Refusal('forbidden', 'Only an owner may create or change a client of the admin API.')
}

/** A caller who can replace the keys or the secret of a client that is an operator could act with the role of that client. */
export async function requireOwnerIfOperator({ store }: Service, { role }: Actor, clientId: string): Promise<void> {
  if (role !== 'owner' && (await readOperators(store)).some(({ id }) => id === clientId))
    throw new Refusal('forbidden', 'Only an owner may change a client that is an operator.')
}

/** The caller may have been removed since the request was checked. The user of the command line is in no list. */
export function requireStillOwner({ kind, id: actorId }: Actor, operators: readonly Operator[]): void {
  if (kind === 'command_line') return
  const isAllowed = operators.some(({ id, role }) => id === actorId && roleAllows(role, 'admin.operators'))
  if (!isAllowed) throw insufficientScope('role_not_sufficient')
}
