/** The service of the operations in a command: the store is opened for the command, and no server is needed. */

import { endGrantsOfWallet } from '../../domain/consent/end-grants.ts'
import type { KeyKeeping } from '../../domain/maintenance/keep-keys.ts'
import { loadKeys, readKeyRing } from '../../domain/maintenance/keep-keys.ts'
import { sumOf } from '../../domain/model/pages.ts'
import type { Store } from '../../domain/model/store.ts'
import { stepsOfClient } from '../../domain/operators/jobs.ts'
import { ADMIN_SCOPES } from '../../domain/operators/roles.ts'
import { KeyRing } from '../../keys/key-ring.ts'
import type { Actor, Service } from '../../operations/service.ts'
import type { CommandEnvironment } from '../terminal/command.ts'
import { checkSigning } from './check-signing.ts'
import { operatorName, recordAct } from './record-act.ts'
import { settingsFor } from './settings.ts'
import { keyKeeping, withStore } from './with-store.ts'

type CommandSettings = {
  /** the program whose settings are read; only `keys` has the secret */
  program: 'clients' | 'grants' | 'keys'
  data: string | undefined
  /** `make`: the keys are loaded, so a wrong secret is noticed before anything is changed */
  keys: 'read' | 'make'
}

type Keys = { ring: KeyRing; keeping: KeyKeeping }

/** Opens the store, and closes it after `use`. */
export async function withService<Result>(
  { program, data, keys }: CommandSettings,
  environment: CommandEnvironment,
  use: (service: Service, actor: Actor) => Promise<Result>,
): Promise<Result> {
  const actor: Actor = { kind: 'command_line', id: operatorName(), role: 'owner', scopes: ADMIN_SCOPES }
  if (program !== 'keys')
    return withStore(settingsFor(program, environment, data), environment, async (store, now) =>
      use(serviceOn(store, now, { environment, data, keys: null }), actor),
    )
  const settings = settingsFor('keys', environment, data)
  return withStore(settings, environment, async (store, now) => {
    const keeping = keyKeeping(settings, store, now)
    if (keys === 'read') {
      const ring = await readKeyRing(keeping)
      return use(serviceOn(store, now, { environment, data, keys: { ring, keeping } }), actor)
    }
    // Before the first key is made, because it would have that algorithm.
    await checkSigning(settings, store)
    const ring = new KeyRing(now)
    await loadKeys(keeping, ring)
    return use(serviceOn(store, now, { environment, data, keys: { ring, keeping } }), actor)
  })
}

type Parts = { environment: CommandEnvironment; data: string | undefined; keys: Keys | null }

function serviceOn(store: Store, now: () => number, { environment, data, keys }: Parts): Service {
  return {
    store,
    now,
    adminResource: null,
    isDevelopment: data !== undefined,
    keys() {
      if (!keys) throw new Error('the command does not read the secret')
      return keys
    },
    record: async (_actor, act) => recordAct(store, environment, { ...act, at: now() }),
    async startJob(job) {
      const at = now()
      const grantsEnded = await sumOf(stepsOfClient(store, job, at))
      return { ...job, id: '', ofWallet: null, createdAt: at, grantsEnded, doneAt: now() }
    },
    endGrantsOfWallet: async ({ wallet, clientId }) => ({
      ended: await endGrantsOfWallet(store, wallet, clientId, now()),
      job: null,
    }),
    nameOfClient: async (clientId) => (await store.clients.readClient(clientId))?.name ?? '',
    async endSession() {
      throw new Error('only a server can notify the apps of the session')
    },
  }
}
