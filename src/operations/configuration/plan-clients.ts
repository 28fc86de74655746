/**
 * The plan for the clients of a configuration. An entry with a `client_id` means the client with this id. An entry without one
 * means the only client with its name, or a new client.
 */
import { randomUUID } from 'node:crypto'
import { clientFaults } from '../../domain/clients/client-faults.ts'
import { signingFaults } from '../../domain/clients/profile-signing.ts'
import { type ClientRegistration, clientOf, hasSecret, rotateClientSecret } from '../../domain/clients/register-client.ts'
import { deleteClient } from '../../domain/consent/end-grants.ts'
import { isClientId } from '../../domain/model/client-id.ts'
import { sumOf } from '../../domain/model/pages.ts'
import type { Client } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { clientMembers } from '../members/client-members.ts'
import { byKey, type MemberChange, membersOf, withoutPresets } from '../members/member.ts'
import { ChangedMeanwhile } from './changed-meanwhile.ts'
import {
  describe,
  differences,
  type Entry,
  type Kind,
  type PlannedChange,
  type PlanOfKind,
  type PlanParts,
  requireSame,
} from './configuration.ts'

/** The store accepts more, one by one. A file of this length is read and compared in seconds. */
const CLIENTS_AT_MOST = 10_000
/** A plan counts this many grants of a client, and calls the rest more. */
const COUNTED_AT_MOST = 10_000

export const clientKind: Kind = {
  members: clientMembers,
  atMost: CLIENTS_AT_MOST,
  plan: planClients,
  exported: async (store) =>
    (await store.clients.listClients())
      .toSorted((a, b) => (`${a.name}\n${a.id}` < `${b.name}\n${b.id}` ? -1 : 1))
      .map((client) => withoutPresets(clientMembers, membersOf(clientMembers, client))),
}

async function planClients(entries: readonly Entry[], { store, keys, at, prune }: PlanParts): Promise<PlanOfKind> {
  const stored = await store.clients.listClients()
  const claims = claimsOf(entries, stored)
  // The names are read once, when the first client is created. To read them for each client would take minutes.
  let names: Promise<ReadonlySet<string>> | undefined
  const namesNow: NamesNow = () => (names ??= readNames(store))
  const plan: PlanOfKind = { changes: [], unchanged: 0, faults: [] }
  for (const { entry, before, fault } of claims) {
    if (fault !== null) plan.faults.push(`${entry.place}: ${fault}`)
    const after = clientOfEntry(entry, before, at)
    if (before && differences(clientMembers, before, after).length === 0) {
      plan.unchanged += 1
      continue
    }
    const faults = [...clientFaults(after), ...signingFaults(after, keys, at)]
    plan.faults.push(...faults.map((each) => `${entry.place}: ${each}`))
    plan.changes.push(
      before
        ? planUpdate(store, before, after)
        : planCreation(store, after, entry.members.client_id === undefined ? namesNow : noNames),
    )
  }
  if (!prune || plan.faults.length > 0) return plan
  const claimed = new Set(claims.map(({ before }) => before?.id))
  for (const client of stored.filter(({ id }) => !claimed.has(id))) plan.changes.push(await planDeletion(store, client))
  return plan
}

type Claim = { entry: Entry; before: Client | null; fault: string | null }

/** The client that each entry means. */
function claimsOf(entries: readonly Entry[], stored: readonly Client[]): Claim[] {
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
    return { entry, before, fault: null }
  })
}

/** The client as the entry describes it. The secrets and the time of the registration are those of the store. */
function clientOfEntry({ members }: Entry, before: Client | null, at: number): Client {
  const { id = randomUUID(), disabledAt: isDisabled = false, ...given } = byKey(clientMembers, members)
  const registration = { type: 'confidential', redirectUris: [], ...given } as unknown as ClientRegistration
  const client = clientOf(registration, { id: before?.id ?? (id as string), createdAt: before?.createdAt ?? at })
  const secrets = before && hasSecret(client.authMethod) ? before.secrets : []
  return { ...client, secrets, disabledAt: isDisabled === true ? (before?.disabledAt ?? at) : null }
}

const EVENTS = { create: 'client_created', change: 'client_changed', delete: 'client_deleted' } as const

function describeChange(client: Client, action: PlannedChange['action'], members: MemberChange[] = []) {
  const { id, name } = client
  const newSecret = action !== 'delete' && lacksSecret(client)
  return describe({ kind: 'client', action, id, name, members, newSecret, act: { event: EVENTS[action], client_id: id } })
}

function lacksSecret({ authMethod, secrets }: Client): boolean {
  return hasSecret(authMethod) && secrets.length === 0
}

/** The names of the clients in the store before the first one is created. */
type NamesNow = () => Promise<ReadonlySet<string>>
const noNames: NamesNow = async () => new Set()

async function readNames({ clients }: Pick<Store, 'clients'>): Promise<ReadonlySet<string>> {
  return new Set((await clients.listClients()).map(({ name }) => name))
}

/** A client with one of the names must not exist: the entry has no client id, so it would mean that client. */
function planCreation(store: Store, client: Client, names: NamesNow): PlannedChange {
  return {
    ...describeChange(client, 'create'),
    async carryOut(at, keepSecret) {
      if ((await names()).has(client.name)) throw new ChangedMeanwhile('a client of this name was registered meanwhile')
      const { client: complete, secret } = withSecret({ ...client, createdAt: at }, at)
      if (secret !== null) keepSecret({ kind: 'client', id: client.id, name: client.name, secret })
      if ((await store.clients.insertClient(complete)) === 'taken') throw new ChangedMeanwhile('it was registered meanwhile')
      return { grantsEnded: 0 }
    },
  }
}

function withSecret(client: Client, at: number): { client: Client; secret: string | null } {
  return lacksSecret(client) ? rotateClientSecret(client, 0, at) : { client, secret: null }
}

/** Secrets that were rotated after the plan are kept. */
function planUpdate(store: Store, before: Client, after: Client): PlannedChange {
  return {
    ...describeChange(after, 'change', differences(clientMembers, before, after)),
    secretsRemoved: before.secrets.length - after.secrets.length,
    async carryOut(at, keepSecret) {
      const { client: complete, secret } = withSecret(after, at)
      if (secret !== null) keepSecret({ kind: 'client', id: after.id, name: after.name, secret })
      const changed = await store.clients.changeClient(before.id, (present) => {
        requireSame(clientMembers, before, present)
        if (secret !== null && present.secrets.length > 0) throw new ChangedMeanwhile('it got a secret meanwhile')
        const keepsSecrets = secret === null && hasSecret(after.authMethod)
        return {
          ...present,
          ...complete,
          createdAt: present.createdAt,
          secrets: keepsSecrets ? present.secrets : complete.secrets,
        }
      })
      if (changed === null) throw new ChangedMeanwhile('it was deleted meanwhile')
      return { grantsEnded: 0 }
    },
  }
}

async function planDeletion(store: Store, before: Client): Promise<PlannedChange> {
  const unended = await store.grants.countUnendedGrants({ clientId: before.id }, COUNTED_AT_MOST + 1)
  return {
    ...describeChange(before, 'delete'),
    grantsEnded: { count: Math.min(unended, COUNTED_AT_MOST), isMore: unended > COUNTED_AT_MOST },
    async carryOut(now) {
      const disabled = await store.clients.changeClient(before.id, (present) => {
        requireSame(clientMembers, before, present)
        return { ...present, disabledAt: present.disabledAt ?? now }
      })
      return { grantsEnded: disabled ? await sumOf(deleteClient(store, disabled.id, now)) : 0 }
    },
  }
}
