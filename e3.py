P='/tmp/w/editor/'
def sub(f, *pairs):
    s=open(P+f).read()
    for a,b in pairs:
        if a not in s: print('!!',f,a[:80]); continue
        s=s.replace(a,b)
    open(P+f,'w').write(s)
import re
f='src/admin/routes/clients.ts'
s=open(P+f).read()
a=s.index('addJobOperation({\n  method'); b=s.index('type JobOperation')
calls='''function addDeleteClient(server: FastifyInstance, admin: Admin): void {
  addJobOperation(server, admin, {
    method: 'DELETE',
    path: PATH,
    id: 'deleteClient',
    kind: 'delete_client',
    summary: 'Deletes a client permanently and ends its grants.',
    description: 'The client is disabled at once. The job ends its grants and then removes the client.',
    scope: 'admin.clients',
    event: 'client_deletion_started',
  })
}

function addEndGrantsOfClient(server: FastifyInstance, admin: Admin): void {
  addJobOperation(server, admin, {
    method: 'POST',
    path: `${PATH}/end-grants`,
    id: 'endGrantsOfClient',
    kind: 'end_grants_of_client',
    summary: 'Ends all grants of a client.',
    description: 'The client itself stays as it is.',
    scope: 'admin.grants',
    event: 'ending_of_grants_started',
  })
}

'''
s=s[:a]+calls+s[b:]
for x,y in [
 ("  event: string\n}\n\nfunction addJobOperation({ kind, event, ...definition }: JobOperation): void {\n  const answers","  event: OperatorEvent\n}\n\nfunction addJobOperation(server: FastifyInstance, admin: Admin, { kind, event, ...definition }: JobOperation): void {\n  const { store, deps } = admin\n  const answers"),
 ("async function readClients(search: string | undefined, page: { after: string; limit: number }): Promise<Client[]> {","type ClientPage = { after: string; limit: number }\n\nasync function readClients({ store }: Admin, search: string | undefined, page: ClientPage): Promise<Client[]> {"),
 ("async function create(registration: ClientRegistration, { id: callerId }: Operator, request: FastifyRequest) {\n  const key = request.headers['idempotency-key']\n  const at = deps.now()\n  if (typeof key === 'string') return createClientOnce(store, deps.keys, { registration, at, idempotency: { key, callerId } })",
  "type Caller = Pick<Call<TSchema, TSchema, TSchema>, 'operator' | 'request'>\n\nasync function register({ store, deps }: Admin, registration: ClientRegistration, { operator, request }: Caller) {\n  const key = request.headers['idempotency-key']\n  const at = deps.now()\n  if (typeof key === 'string')\n    return createClientOnce(store, deps.keys, { registration, at, idempotency: { key, callerId: operator.id } })"),
 ("await create(admin, registration,","await register(admin, registration,"),
 ("function requireOwnerFor({ role }: Operator, resources: readonly string[]): void {\n  if (role !== 'owner' && resources.includes(adminResourceOf(admin.adminUrl)))","function requireOwnerFor({ adminUrl }: Admin, { role }: Operator, resources: readonly string[]): void {\n  if (role !== 'owner' && resources.includes(adminResourceOf(adminUrl)))"),
 ("async function requireOwnerIfOperator({ role }: Operator, clientId: string): Promise<void> {","async function requireOwnerIfOperator({ store }: Admin, { role }: Operator, clientId: string): Promise<void> {"),
 ("import type { FastifyInstance, FastifyRequest } from 'fastify'\nimport { Type } from 'typebox'","import type { FastifyInstance } from 'fastify'\nimport { type TSchema, Type } from 'typebox'"),
 ("import { addOperation } from '../operation.ts'","import { addOperation, type Call } from '../operation.ts'"),
 ("import { createClientOnce }","import type { OperatorEvent } from '../../domain/audit/operator-acts.ts'\nimport { createClientOnce }"),
 ("function eventOf(disabled: unknown, changes: Partial<Client>): string {","function eventOf(disabled: unknown, changes: Partial<Client>): OperatorEvent {"),
 ]:
    if x not in s: print('!! clients',x[:80])
    s=s.replace(x,y)
open(P+f,'w').write(s)
f='src/admin/routes/grants.ts'
s=open(P+f).read()
head,sess=s.split('export function sessionRoutes')
head=head.replace("      tag,\n","      tag: 'grants',\n").replace('existingGrant(params.id)','readExistingGrant(admin, params.id)').replace('async function existingGrant(id: string): Promise<Grant> {','async function readExistingGrant({ store }: Admin, id: string): Promise<Grant> {')
sess=sess.replace("      tag,\n","      tag: 'sessions',\n")
open(P+f,'w').write(head+'export function sessionRoutes'+sess)
sub('src/admin/routes/resources.ts',('requireValid(resource)\n','requireValid(admin, resource)\n'),('requireValid({ ...present','requireValid(admin, { ...present'),
 ('function requireValid(resource: Resource): Resource {','function requireValid({ adminUrl }: Admin, resource: Resource): Resource {'))
sub('src/admin/routes/operators.ts',('await existingId(params.id)','await readOperatorId(admin, params.id)'),
 ('async function existingId(text: string): Promise<string> {','/** The id in its normalized form. Throws if a client id is not registered. */\nasync function readOperatorId({ store }: Admin, text: string): Promise<string> {'),
 ('''/** The operator as the object of an act. */
function objectOf(id: string): { wallet: Address } | { client_id: string } {
  const parsed = parseAddress(id)
  return parsed.kind === 'address' ? { wallet: parsed.address } : { client_id: id }
}
''','''/** The operator whom the act concerns, as members of an audit event. */
function membersOfEvent(id: string): { wallet: Address } | { client_id: string } {
  const { wallet, clientId } = walletOrClientOf(id)
  return wallet === undefined ? { client_id: clientId } : { wallet }
}
'''),
 ('...objectOf(id) ','...membersOfEvent(id) '),
 ("import { type Address, parseAddress } from '../../wallet/address.ts'","import type { Address } from '../../wallet/address.ts'"),
 ("import { OPERATORS_AT_MOST, operatorIdOf, readOperators, removeOperator, setOperator } from '../../domain/operators/operators.ts'","import {\n  OPERATORS_AT_MOST,\n  type OperatorRefusal,\n  operatorIdOf,\n  readOperators,\n  removeOperator,\n  setOperator,\n  walletOrClientOf,\n} from '../../domain/operators/operators.ts'"),
 ("function refusalOf(why: 'last_owner' | 'first_must_be_owner' | 'too_many' | 'unknown'): Problem {","function refusalOf(why: OperatorRefusal): Problem {"))
sub('src/domain/operators/operators.ts',("import { parseAddress } from","import { type Address, parseAddress } from"),
 ("/** The id of an operator in its one form: the address of a wallet (EIP-55), or a client id. Null for any other text. */","/** The id of an operator in its normalized form: the address of a wallet (EIP-55), or a client id. Null for any other text. */"),
 ("export async function readOperators","""/** The wallet or the client that an operator is, for a line of the audit trail. */
export function walletOrClientOf(id: string): { wallet: Address; clientId?: undefined } | { wallet?: undefined; clientId: string } {
  const parsed = parseAddress(id)
  return parsed.kind === 'address' ? { wallet: parsed.address } : { clientId: id }
}

export async function readOperators"""),
 ("so the rule holds if several changes race.","so the rule also holds if several changes race."))
sub('src/cli/operators/operator-operand.ts',('''/** The operator as the object of an act in the audit trail. */
export function objectOf(id: string): { wallet: Address } | { clientId: string } {
  const parsed = parseAddress(id)
  return parsed.kind === 'address' ? { wallet: parsed.address } : { clientId: id }
}

/** The id in its one form. */
''','/** The id in its normalized form. */\n'),("import { type Address, parseAddress } from '../../wallet/address.ts'\n",""))
for c in ('add','remove'):
    sub(f'src/cli/commands/operators-{c}.ts',("...objectOf(id)","...walletOrClientOf(id)"),("OPERATOR_OPERAND, objectOf, operatorFrom","OPERATOR_OPERAND, operatorFrom"))
sub('src/cli/commands/operators-add.ts',("import { OPERATORS_AT_MOST, setOperator }","import { OPERATORS_AT_MOST, setOperator, walletOrClientOf }"))
sub('src/cli/commands/operators-remove.ts',("import { removeOperator }","import { removeOperator, walletOrClientOf }"))
sub('src/domain/configuration/plan-operators.ts',("  const parsed = parseAddress(id)\n  const object = parsed.kind === 'address' ? { wallet: parsed.address } : { clientId: id }\n  const act = { event: EVENTS[action], ...object, details: { role } }","  const act = { event: EVENTS[action], ...walletOrClientOf(id), details: { role } }"),
 ("import { parseAddress } from '../../wallet/address.ts'\n",""),
 ("import { OPERATORS_AT_MOST, operatorIdOf, readOperators, removeOperator, setOperator } from '../operators/operators.ts'","import {\n  OPERATORS_AT_MOST,\n  operatorIdOf,\n  readOperators,\n  removeOperator,\n  setOperator,\n  walletOrClientOf,\n} from '../operators/operators.ts'"))
# acts typed
sub('src/admin/acts.ts',("import type { AuditEvent } from '../domain/model/deps.ts'","import type { OperatorEvent } from '../domain/audit/operator-acts.ts'\nimport type { AuditEvent } from '../domain/model/deps.ts'"),
 ("event: AuditEvent): void {","event: AuditEvent & { event: OperatorEvent }): void {"),
 ("/** Call it after the change. `event` is the act, such as `client_created`. */","/** Call this after the change. `event` is the act, such as `client_created`. */"))
sub('src/domain/audit/operator-acts.ts',("  'client_deleted',\n","  'client_deletion_started',\n  'client_deleted',\n"),("  'grant_ended',\n  'grants_ended',\n","  'grant_ended',\n  'ending_of_grants_started',\n  'grants_ended',\n"),
 ("/** Each name is the noun and what happened to it. */","/** Each name is a noun and what happened to it. */"))
sub('docs/operating/audit.md',("`client_enabled`, `client_deleted`, `resource_created`","`client_enabled`, `client_deletion_started`, `client_deleted`, `resource_created`"),("`operator_removed`, `grant_ended`, `grants_ended`","`operator_removed`, `grant_ended`, `ending_of_grants_started`, `grants_ended`"))
# counted at most
sub('src/admin/console/jobs.ts',("\n/** Counting more grants takes long. */\nexport const COUNTED_AT_MOST = 10_000\n",""),("import type { jobRecord } from '../records.ts'","import type { jobRecord } from '../records.ts'\nimport { COUNTED_AT_MOST } from '../routes/clients.ts'"))
sub('src/admin/console/clients.ts',("import { COUNTED_AT_MOST } from './jobs.ts'\n",""),("import { queryOf } from './call-api.ts'","import { COUNTED_AT_MOST } from '../routes/clients.ts'\nimport { queryOf } from './call-api.ts'"))
sub('src/admin/console/wallets.ts',("import { COUNTED_AT_MOST } from './jobs.ts'\n",""),("import { queryOf } from './call-api.ts'","import { COUNTED_AT_MOST } from '../routes/clients.ts'\nimport { queryOf } from './call-api.ts'"))
