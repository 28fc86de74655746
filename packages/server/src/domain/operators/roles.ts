/** The scopes of the admin API and the roles of operators. */
import type { OperatorRole } from '../model/records.ts'

/** From each scope to its description: the end of the sentence "The app may …", which operators read before they sign. */
export const adminScopes = {
  'admin.read': 'read clients, resources, grants, sessions, keys and operators of this service',
  'admin.clients': 'create, change and delete clients and resources of this service',
  'admin.grants': 'end grants and sessions of users of this service',
  'admin.keys': 'rotate and retire keys of this service',
  'admin.audit': 'read the audit trail of this service',
  'admin.webhooks': 'decide who receives the audit trail of this service',
  'admin.operators': 'decide who operates this service',
} as const
export type AdminScope = keyof typeof adminScopes
export const ADMIN_SCOPES = Object.keys(adminScopes) as AdminScope[]

const SCOPES_OF_ROLE: Readonly<Record<OperatorRole, readonly AdminScope[]>> = {
  owner: ADMIN_SCOPES,
  operator: ADMIN_SCOPES.filter((scope) => scope !== 'admin.operators'),
  auditor: ['admin.read', 'admin.audit'],
}

/** Whether operators with this role have the scope. A token that has more scopes than its operator does not extend the role. */
export function roleAllows(role: OperatorRole, scope: AdminScope): boolean {
  return SCOPES_OF_ROLE[role].includes(scope)
}
