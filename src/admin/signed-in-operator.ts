/**
 * The operator of a console page. The console calls the operations of the API inside of the process, so that both have the same checks and
 * the same lines in the audit trail. Such a call has no access token: the session of the console proves the operator. A request from outside
 * never has this context.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Operator } from '../domain/model/records.ts'
import { type AdminScope, roleAllows } from '../domain/operators/roles.ts'
import { insufficientScope } from '../oauth/oauth-error.ts'

/** `scopes` are those that the operator granted to the console. */
export type SignedInOperator = { operator: Operator; scopes: readonly string[] }

const context = new AsyncLocalStorage<SignedInOperator>()

export function runAs<Result>(signedIn: SignedInOperator, call: () => Promise<Result>): Promise<Result> {
  return context.run(signedIn, call)
}

/** Undefined for a request from outside. */
export function signedInOperator(): SignedInOperator | undefined {
  return context.getStore()
}

export function mayUse({ operator, scopes }: SignedInOperator, scope: AdminScope): boolean {
  return scopes.includes(scope) && roleAllows(operator.role, scope)
}

export function requireScope({ operator, scopes }: SignedInOperator, scope: AdminScope): Operator {
  if (!scopes.includes(scope)) throw insufficientScope('admin_scope_not_granted')
  if (!roleAllows(operator.role, scope)) throw insufficientScope('role_not_sufficient')
  return operator
}
