/** `grantor migrate --restored`: ends what a backup brought back, shows what is left, and asks whether it may be served. */
import { type KeyKeeping, keyState } from '../grants/keep-keys.ts'
import type { Store } from '../grants/ports.ts'
import { endRestored } from '../grants/restore.ts'
import { EXIT, type World } from './command.ts'
import { columns, counted, time } from './print.ts'

/** How the operator answers: beforehand (`--yes`), or to a question where somebody sits at the terminal. */
export type Confirming = { yes: boolean; json: boolean }

export async function putRight(store: Store, keeping: KeyKeeping, world: World, { yes, json }: Confirming): Promise<number> {
  const { restoration, ended } = await endRestored(store, keeping)
  const [clients, keys] = [await clientsOf(store), await keysOf(store, keeping)]
  if (!json) {
    const sum = [counted(ended.grants, 'grant'), counted(ended.sessions, 'session')].join(' and ')
    world.print(`Ended ${sum}, withdrew ${counted(ended.receipts, 'receipt')}, replaced ${counted(ended.keys, 'key')}.`)
    for (const line of lookThrough(clients, keys)) world.print(line)
  }
  const confirmed = yes || (!json && (await asked(world)))
  if (confirmed) await store.restorations.confirmRestoration(restoration.number, world.now())
  if (json) world.print(JSON.stringify({ ended, clients, keys, confirmed }))
  else if (confirmed) world.print('Confirmed: grantor serve becomes ready.')
  else world.print('Not confirmed: /health/ready stays 503 until you run: grantor migrate --restored --yes')
  return confirmed ? EXIT.done : EXIT.failed
}

async function clientsOf(store: Store) {
  return (await store.clients.listClients()).map((client) => ({
    client_id: client.id,
    name: client.name,
    enabled: client.disabledAt === null,
    created_at: client.createdAt,
    // Of a secret only its end is known besides its hash.
    secrets: client.secrets.map(({ expiresAt }) => ({ expires_at: expiresAt })),
  }))
}

async function keysOf(store: Store, keeping: KeyKeeping) {
  const records = await store.keys.listKeys()
  return records.map((key) => ({
    key_id: key.id,
    kind: key.kind as string,
    state: keyState(keeping, records, key) as string,
    created_at: key.createdAt,
  }))
}

/** What only a person can know: whether a client was disabled, deleted or given another secret since the backup. */
function lookThrough(
  clients: Awaited<ReturnType<typeof clientsOf>>,
  keys: Awaited<ReturnType<typeof keysOf>>,
): readonly string[] {
  const clientRows = clients.map(({ client_id, name, enabled, created_at, secrets }) => [
    client_id,
    enabled ? 'enabled' : 'disabled',
    time(created_at),
    secrets.map(({ expires_at }) => (expires_at === null ? 'valid' : `until ${time(expires_at)}`)).join(', ') || 'none',
    name,
  ])
  const keyRows = keys
    .filter(({ state }) => state !== 'retired')
    .map(({ key_id, kind, state, created_at }) => [key_id, kind, state, time(created_at)])
  return [
    '',
    'These clients are as they were when the backup was made. Disable those that were disabled or deleted since, and rotate',
    'the secrets that were rotated since (grantor clients disable, grantor clients rotate-secret).',
    ...columns(['CLIENT_ID', 'STATE', 'REGISTERED', 'SECRETS', 'NAME'], clientRows),
    '',
    'These keys are in use from now on; all others are retired.',
    ...columns(['KEY_ID', 'KIND', 'STATE', 'CREATED'], keyRows),
    '',
  ]
}

async function asked(world: World): Promise<boolean> {
  const answer = await world.ask?.('Serve this database? Type yes: ')
  return answer?.trim().toLowerCase() === 'yes'
}
