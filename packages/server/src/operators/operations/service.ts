/** What an operation works with. A server and a command each make one, so an operation never opens a store. */
import { readClientTable } from '../../domain/clients/client-table.ts'
import { namedRow, nameWarnings, type PlannedNames } from '../../domain/clients/deceptive-names.ts'
import type { WalletEnding } from '../../domain/consent/end-grants.ts'
import type { KeyKeeping } from '../../domain/maintenance/keep-keys.ts'
import type { ActName, AwaitedEvent } from '../../domain/model/audit-events.ts'
import type { NodeReport } from '../../domain/model/node-store.ts'
import type { Client, Job, OperatorRole, Resource, Session } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import type { Attempt, StoredWebhook } from '../../domain/model/webhook-store.ts'
import type { NewJob } from '../../domain/operators/jobs.ts'
import { type AdminScope, roleAllows } from '../../domain/operators/roles.ts'
import { clientWarnings } from '../../domain/resources/client-warnings.ts'
import type { TextFacts } from '../../domain/resources/longest-text.ts'
import type { KeyRing } from '../../protocol/keys/key-ring.ts'
import { insufficientScope } from '../../protocol/oauth/oauth-error.ts'
import type { Address } from '../../protocol/wallet/address.ts'

/** What an operator did, for the audit trail. */
export type Act = AwaitedEvent & { event: ActName }

/** `listed`: in the list of operators. `command_line`: the user of the operating system, who may do everything. */
export type Actor = {
  kind: 'listed' | 'command_line'
  /** the id of the operator, or `cli:NAME` */
  id: string
  role: OperatorRole
  /** those of the access token, or those that the operator granted to the console */
  scopes: readonly string[]
}

/** A setting in force, as `packages/server/src/config` describes it. `value` is null for a secret; `usual` is the default in words. */
export type ServiceSetting = {
  name: string
  section: string
  words: string
  value: string | null
  unit: string | null
  source: 'environment' | 'file' | 'default'
  isSet: boolean
  isSecret: boolean
  usual: string | null
}

/** Sign-ins of a wallet that were refused for one reason, from one network. `at`: the last of them, in epoch seconds. */
export type RefusedSignIn = { at: number; reason: string; network: string; count: number }

/** `none`: the name does not exist, has no address, or is no name that can be shown. */
export type AddressOfName = { kind: 'address'; address: Address } | { kind: 'none' } | { kind: 'unavailable'; why: string }

export type Service = {
  store: Store
  /** epoch seconds */
  now: () => number
  /** the URI of the admin API as a resource; null if there is no admin API */
  adminResource: string | null
  /** true if the service of `grantor start` is meant, which also calls plain http on this machine */
  isDevelopment: boolean
  /** the settings in force of this process */
  settings: readonly ServiceSetting[]
  /** What this process reports; null on the command line. */
  ownReport(): NodeReport | null
  /** Throws on the command line unless the command reads the secret (`settings: 'keys'`). */
  keys(): { ring: KeyRing; keeping: KeyKeeping }
  /** Writes the act to the log and the trail. Resolves when the line of the trail is committed. */
  record(actor: Actor, act: Act): Promise<void>
  /** A server stores the job, and another task carries it out. A command carries the job out at once. Null if too many are under way. */
  startJob(job: NewJob): Promise<Job | null>
  /** Ends the grants of a wallet, at one client or at all. A server ends the first thousand, and a job ends the others. */
  endGrantsOfWallet(of: { wallet: Address; clientId: string | undefined; startedBy: string }): Promise<WalletEnding>
  /** What the longest text to sign of a client depends on; null on a command line that has no addresses of the service. */
  textFacts(): Promise<TextFacts | null>
  /** Empty for a client that was deleted, or that is no longer published. */
  nameOfClient(clientId: string): Promise<string>
  /** The address that an ENS name resolves to. `off`: names are not looked up here. */
  findName(name: string): Promise<AddressOfName | { kind: 'off' }>
  /** Sends a signed test to a webhook, and waits for the response. On the command line it needs the secret, as `keys` does. */
  testWebhook(webhook: StoredWebhook): Promise<Attempt>
  /** Whether the service would send to this URL: not to an address of a private network. Names are not resolved. */
  isCallable(url: string): boolean
}

/** What only a running server has. */
export type ServerService = Service & {
  /** The refused sign-ins of a wallet in this process, since a time. */
  refusedSignIns(wallet: Address): { refusals: RefusedSignIn[]; since: number }
  /** Signs a browser out, and notifies the apps that registered a logout URI. */
  endSession(session: Session): Promise<void>
}

/** What an operator should know about a client that can be registered. `planned`: the clients that a plan creates or changes. */
export async function warningsOf(service: WarningFacts, client: Client, planned?: PlannedNames): Promise<string[]> {
  const [facts, [ofName = []]] = await Promise.all([service.textFacts(), nameWarningsOf(service, [client], planned)])
  return [...ofName, ...(facts === null ? [] : clientWarnings(facts, client))]
}

type NamingFacts = Pick<Service, 'store' | 'settings'>
type WarningFacts = NamingFacts & Pick<Service, 'textFacts'>

/**
 * For each client, registered or not: whether its name could deceive users. Among more clients than a table has, names of stored clients are not
 * compared.
 */
export async function nameWarningsOf(
  { store, settings }: NamingFacts,
  clients: readonly Pick<Client, 'id' | 'name'>[],
  planned?: PlannedNames,
): Promise<string[][]> {
  const table = await readClientTable(store)
  const compared = { platform: platformOf(settings), ...(planned && { planned }) }
  return clients.map((client) => nameWarnings(client, { ...compared, others: table?.values() ?? [] }))
}

/** For each resource: whether its name could deceive users. */
export async function resourceWarningsOf(
  { store, settings }: NamingFacts,
  resources: readonly Resource[],
  planned?: PlannedNames,
): Promise<string[][]> {
  const others = (await store.resources.listResources()).map(({ uri: id, name }) => namedRow({ id, name }))
  const compared = { platform: platformOf(settings), others, noun: 'resource', ...(planned && { planned }) } as const
  return resources.map(({ uri: id, name }) => nameWarnings({ id, name }, compared))
}

function platformOf(settings: readonly ServiceSetting[]): string {
  return settings.find(({ name }) => name === 'GRANTOR_PLATFORM_NAME')?.value ?? 'Grantor'
}

export function mayUse({ role, scopes }: Actor, scope: AdminScope): boolean {
  return scopes.includes(scope) && roleAllows(role, scope)
}

export function requireScope({ role, scopes }: Actor, scope: AdminScope): void {
  if (!scopes.includes(scope)) throw insufficientScope('admin_scope_not_granted')
  if (!roleAllows(role, scope)) throw insufficientScope('role_not_sufficient')
}
