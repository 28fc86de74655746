/**
 * The clients of a configuration. An entry with a `client_id` means the client with this id. An entry without one
 * means the only client with its name, or a new client.
 */
import { randomUUID } from 'node:crypto'
import { CLIENT_LOGO, type Logo, logoUri, readLogoUri } from '../../config/look/logo.ts'
import { clientFaults } from '../../domain/clients/client-faults.ts'
import { signingFaults } from '../../domain/clients/profile-signing.ts'
import { type ClientRegistration, hasSecret, newClient, rotateClientSecret } from '../../domain/clients/register-client.ts'
import { isClientId } from '../../domain/model/client-id.ts'
import { PAGE, pagesOf } from '../../domain/model/pages.ts'
import type { Client, ClientSecret } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { clientMembers } from '../members/client-members.ts'
import { byKey, type Members } from '../members/member.ts'
import { createClient, deleteClient, removeClientLogo, setClientLogo, updateClient } from '../operations/clients.ts'
import { warningsOf } from '../operations/service.ts'
import {
  ChangedMeanwhile,
  type Claim,
  type ConfigurationKind,
  type KeepSecret,
  type PlanEntry,
  type PlanParts,
  sectionOf,
} from './section.ts'
import { storedSecretsOfClient } from './stored-secrets.ts'

type AfterParts = Pick<PlanParts, 'at' | 'storedSecrets'>

/** The store accepts more, one by one. A file of this length is read and compared in seconds. */
const CLIENTS_AT_MOST = 10_000
/** A plan counts this many grants of a client, and calls the rest more. */
const COUNTED_AT_MOST = 10_000

const configuredClients: ConfigurationKind<Client> = {
  noun: 'client',
  members: clientMembers,
  atMost: CLIENTS_AT_MOST,
  isIndependent: true,
  events: { create: 'client_created', change: 'client_changed', delete: 'client_deleted' },
  list: (store) => store.clients.listClients(),
  pages: clientPages,
  naming: ({ id, name }) => ({ id, name, act: { client_id: id } }),
  claims: claimsOf,
  after: clientOfEntry,
  faults: (after, before, { keys, at, storedSecrets }) => [
    ...clientFaults(after),
    ...signingFaults(after, keys, at),
    ...(before === null && !hasSecret(after.authMethod) && storedSecrets.clients.has(after.id)
      ? [
          {
            member: 'authMethod' as const,
            words: `The file of --stored-secrets has a secret of the client, which authenticates by ${after.authMethod}.`,
          },
        ]
      : []),
  ],
  faultsOfAll: secretFaults,
  storedSecrets: storedSecretsOfClient,
  async exported(members, { id, logo }, store) {
    if (logo === null) return members
    const { bytes = null } = (await store.clients.readClientLogo(id)) ?? {}
    const { logo: _, ...others } = members
    return bytes === null ? others : { ...others, logo: logoUri(bytes) }
  },
  async effects(step, { service, store }, planned) {
    if (step.action !== 'delete') {
      const secretsRemoved = step.action === 'change' ? step.before.secrets.length - step.after.secrets.length : 0
      const secretsImported = step.action === 'create' ? step.after.secrets.length : 0
      const warnings = await warningsOf(service, step.after, planned)
      return { newSecret: lacksSecret(step.after), secretsImported, secretsRemoved, warnings }
    }
    const unended = await store.grants.countUnendedGrants({ clientId: step.before.id }, COUNTED_AT_MOST + 1)
    return { grantsEnded: { count: Math.min(unended, COUNTED_AT_MOST), isMore: unended > COUNTED_AT_MOST } }
  },
  operations: { create: createClient, change: updateClient, delete: deleteClient },
  origins({ store, service }) {
    // The names are read once, when the first client is created. To read them for each client would take minutes.
    let names: Promise<ReadonlySet<string>> | undefined
    return async (step, keepSecret) => {
      if (step.action === 'delete') return {}
      const { after, entry } = step
      // The entry has no client id, so it would mean a client that has its name.
      const mustBeNew = step.action === 'create' && entry.members.client_id === undefined
      if (mustBeNew && (await (names ??= readNames(store))).has(after.name))
        throw new ChangedMeanwhile('a client of this name was registered meanwhile')
      const { client, isNew } = await withSecret(after, { at: service.now(), keepSecret })
      const { id, secrets, disabledAt } = client
      if (step.action === 'create') return { origin: { client: { id, secrets, disabledAt } } }
      // Secrets that were rotated after the plan are kept.
      return isNew ? { origin: { client: { id, secrets, disabledAt } }, accept: requireNoSecret } : {}
    }
  },
  async finish(step, runAlso) {
    if (step.action === 'delete') return
    const before = step.action === 'create' ? null : step.before.logo
    if (before?.hash === step.after.logo?.hash) return
    const { logo } = step.entry.members
    await (step.after.logo === null ? runAlso(removeClientLogo) : runAlso(setClientLogo, { logo }))
  },
}
export const clientSection = sectionOf(configuredClients)

/** In pages, so that neither the records nor the logos are in memory together. Sorted by name if one file can have all of them. */
async function* clientPages({ clients }: Store): AsyncGenerator<Client[]> {
  if ((await clients.countClients()) > CLIENTS_AT_MOST) {
    yield* pagesOf<Client>(({ limit, after }) => clients.readClients({ limit, after: after?.id ?? '' }))
    return
  }
  const all = (await clients.listClients()).sort((a, b) => (`${a.name}\n${a.id}` < `${b.name}\n${b.id}` ? -1 : 1))
  for (let i = 0; i < all.length; i += PAGE) yield all.slice(i, i + PAGE)
}

/** The client that each entry means. */
function claimsOf(entries: readonly PlanEntry[], stored: readonly Client[]): Claim<Client>[] {
  const byId = new Map(stored.map((client) => [client.id, client]))
  const byName = Map.groupBy(stored, ({ name }) => name)
  const ids = new Set(entries.map(({ members }) => members.client_id))
  const taken = new Map<unknown, string>()
  return entries.map((entry) => {
    const { client_id: id, name } = entry.members as { client_id?: string; name: string }
    // A client that another entry names by its id is not a namesake.
    const namesakes = (byName.get(name.trim()) ?? []).filter((client) => !ids.has(client.id))
    const key = id ?? `name ${name.trim()}`
    const other = taken.get(key)
    taken.set(key, entry.place)
    const before = (id === undefined ? namesakes[0] : byId.get(id)) ?? null
    if (other !== undefined)
      return { entry, before, fault: `${other} means the same client. Entries of the same name need a client_id.` }
    if (id !== undefined && !isClientId(id))
      return { entry, before, fault: 'client_id must be a UUID in lower case. Leave it out for a new client.' }
    if (id === undefined && namesakes.length > 1)
      return { entry, before, fault: `${namesakes.length} clients are named ${JSON.stringify(name)}: add the client_id.` }
    return { entry, before }
  })
}

/**
 * The client as the entry describes it. The secrets and the time of the registration are those of the store. Only a new client gets the secrets
 * of the file: otherwise an old file would bring back secrets that were replaced.
 */
function clientOfEntry(members: Members, before: Client | null, { at, storedSecrets }: AfterParts): Client {
  const { id = randomUUID(), disabledAt: isDisabled = false, logo: _, ...given } = byKey(clientMembers, members)
  const registration = { type: 'confidential', redirectUris: [], ...given } as unknown as ClientRegistration
  const client = newClient(registration, { id: before?.id ?? (id as string), createdAt: before?.createdAt ?? at })
  const secrets = before?.secrets ?? unexpired(storedSecrets.clients.get(client.id) ?? [], at)
  const logo = logoOf(members)
  return {
    ...client,
    secrets: hasSecret(client.authMethod) ? secrets : [],
    logo: logo && { hash: logo.hash },
    disabledAt: isDisabled === true ? (before?.disabledAt ?? at) : null,
  }
}

function unexpired(secrets: readonly ClientSecret[], at: number): ClientSecret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > at)
}

/** A client that the store has keeps its secrets. If the file has others, the operator expects something else. */
function secretFaults(named: readonly Client[], _others: readonly Client[], { at, storedSecrets }: PlanParts): string[] {
  const differing = named.filter(({ id, authMethod, secrets }) => {
    const present = new Set(secrets.map(({ secretHash }) => secretHash))
    const inFile = hasSecret(authMethod) ? unexpired(storedSecrets.clients.get(id) ?? [], at) : []
    return inFile.some(({ secretHash }) => !present.has(secretHash))
  })
  const [first] = differing
  if (!first) return []
  const more = differing.length === 1 ? '' : ` and ${differing.length - 1} more`
  return [
    `clients: ${first.id}${more}: the store has the client with other secrets than the file of --stored-secrets. Only a client that the store does not have gets the secrets of that file.`,
  ]
}

/** The reader of the file has checked the picture. */
function logoOf({ logo }: Members): Logo | null {
  const read = typeof logo === 'string' ? readLogoUri(logo, CLIENT_LOGO) : null
  return read !== null && 'logo' in read ? read.logo : null
}

function requireNoSecret({ secrets }: Members): void {
  if ((secrets as unknown[]).length > 0) throw new ChangedMeanwhile('it got a secret meanwhile')
}

function lacksSecret({ authMethod, secrets }: Client): boolean {
  return hasSecret(authMethod) && secrets.length === 0
}

async function readNames({ clients }: Store): Promise<ReadonlySet<string>> {
  return new Set((await clients.listClients()).map(({ name }) => name))
}

type Carrying = { at: number; keepSecret: KeepSecret }

/** The client with the secret that it lacks. The secret is kept before the client is stored. */
async function withSecret(client: Client, { at, keepSecret }: Carrying): Promise<{ client: Client; isNew: boolean }> {
  if (!lacksSecret(client)) return { client, isNew: false }
  const { client: complete, secret } = rotateClientSecret(client, 0, at)
  await keepSecret({ kind: 'client', id: client.id, name: client.name, secret })
  return { client: complete, isNew: true }
}
