/** The service of the operations in a command: the store is opened for the command, and no server is needed. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Settings } from '../../config/settings.ts'
import { endGrantsOfWallet } from '../../domain/consent/end-grants.ts'
import type { KeyKeeping } from '../../domain/maintenance/keep-keys.ts'
import { loadKeys, readKeyRing } from '../../domain/maintenance/keep-keys.ts'
import { combineCalls } from '../../domain/model/combine-calls.ts'
import { sumOf } from '../../domain/model/pages.ts'
import type { Store } from '../../domain/model/store.ts'
import { adminResourceOf } from '../../domain/operators/authorize-operator.ts'
import { stepsOfJob } from '../../domain/operators/jobs.ts'
import { ADMIN_SCOPES } from '../../domain/operators/roles.ts'
import type { TextFacts } from '../../domain/resources/longest-text.ts'
import { RegisteredResources } from '../../domain/resources/registered-resources.ts'
import type { Act, Actor, Service } from '../../operators/operations/service.ts'
import type { CommandEnvironment } from '../../operators/terminal/command.ts'
import { KeyRing } from '../../protocol/keys/key-ring.ts'
import { checkSigning } from './check-signing.ts'
import { ownResources } from './own-resources.ts'
import { operatorName, recordActs } from './record-act.ts'
import { lifetimes } from './service-settings.ts'
import { settingsFor } from './settings.ts'
import { receiverCheck, webhookTests } from './webhook-calls.ts'
import { keyKeeping, withStore } from './with-store.ts'

type CommandSettings = {
  /** the program whose settings are read; only `keys` has the secret */
  program: 'clients' | 'grants' | 'keys'
  data: string | undefined
  /** `make`: the keys are loaded, so a wrong secret is noticed before anything is changed. `none`: only their records are used. */
  keys: 'none' | 'read' | 'make'
}

type CommandKeys = { ring: KeyRing; keeping: KeyKeeping }

/** The user of the operating system, or a program that works on its own store. */
export function localActor(id: string): Actor {
  return { kind: 'command_line', id, role: 'owner', scopes: ADMIN_SCOPES }
}

/** Opens the store, and closes it after `use`. */
export async function withService<Result>(
  { program, data, keys }: CommandSettings,
  environment: CommandEnvironment,
  use: (service: Service, actor: Actor) => Promise<Result>,
): Promise<Result> {
  const actor = localActor(operatorName())
  if (program !== 'keys') {
    const settings = settingsFor(program, environment, data)
    return withStore(settings, environment, async (store, now) =>
      use(serviceOn(store, now, { environment, data, settings, keys: null }), actor),
    )
  }
  const settings = settingsFor('keys', environment, data)
  return withStore(settings, environment, async (store, now) => {
    const keeping = keyKeeping(settings, store, now)
    if (keys !== 'make') {
      const ring = keys === 'read' ? await readKeyRing(keeping) : new KeyRing(now)
      return use(serviceOn(store, now, { environment, data, settings, keys: { ring, keeping } }), actor)
    }
    // Before the first key is made, because it would have that algorithm.
    await checkSigning(settings, store)
    const ring = new KeyRing(now)
    await loadKeys(keeping, ring)
    return use(serviceOn(store, now, { environment, data, settings, keys: { ring, keeping } }), actor)
  })
}

type CommandServiceOptions = {
  environment: CommandEnvironment
  data: string | undefined
  settings: Settings<CommandSettings['program']>
  keys: CommandKeys | null
}

/** The service on a store that is open already. */
export function serviceOn(
  store: Store,
  now: () => number,
  { environment, data, settings, keys }: CommandServiceOptions,
): Service {
  // The resources are read once, for all clients of a command.
  let facts: ReturnType<typeof textFactsOf> | undefined
  // `apply` makes many changes at the same time.
  const record = combineCalls(
    () => nextTurn(),
    async (acts: readonly (Act & { at: number })[]) => {
      await recordActs(store, environment, acts)
      return acts.map(() => undefined)
    },
  )
  const keysOf = (): CommandKeys => {
    if (!keys) throw new Error('the command does not read the secret')
    return keys
  }
  const isDevelopment = data !== undefined
  return {
    store,
    now,
    adminResource: settings.adminUrl === undefined ? null : adminResourceOf(settings.adminUrl),
    isDevelopment,
    settings: settings.inForce,
    ownReport: () => null,
    keys: keysOf,
    record: async (_actor, act) => record({ ...act, at: now() }),
    async startJob(job) {
      const at = now()
      const grantsEnded = await sumOf(stepsOfJob(store, { ...job, createdAt: at }, now))
      return { ...job, id: '', ofWallet: null, createdAt: at, grantsEnded, doneAt: now() }
    },
    endGrantsOfWallet: async ({ wallet, clientId }) => ({
      ended: await endGrantsOfWallet(store, wallet, clientId, now),
      job: null,
    }),
    textFacts: () => (facts ??= textFactsOf(store, settings)),
    nameOfClient: async (clientId) => (await store.clients.readClient(clientId))?.name ?? '',
    findName: async () => ({ kind: 'off' }),
    testWebhook: async (webhook) => {
      const { wrap } = keysOf().keeping
      return webhookTests({ wrap, outbound: { allowLoopback: isDevelopment }, now })(webhook)
    },
    isCallable: receiverCheck({ allowLoopback: isDevelopment }),
  }
}

/** Null if the settings do not have the addresses of the service. A command does not need these settings. */
export async function textFactsOf(store: Store, settings: Settings): Promise<TextFacts | null> {
  const { authUrl, loginUrl, adminUrl, defaultResource = authUrl, chainIds, scopeDescriptions } = settings
  if (authUrl === undefined || loginUrl === undefined || defaultResource === undefined) return null
  const resources = new RegisteredResources(store, ownResources(adminUrl ?? null))
  await resources.renew('everything')
  return {
    resources,
    settings: { authUrl, loginUrl, defaultResource, chainIds, scopeDescriptions, lifetimes: lifetimes(settings) },
  }
}
