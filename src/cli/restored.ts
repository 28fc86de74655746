/** `grantor migrate --restored`: ends what a backup brought back, shows what is left, and asks whether it may be served. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { type KeyKeeping, keyState } from '../grants/keep-keys.ts'
import type { Restoration, Store } from '../grants/ports.ts'
import { type Account, readJournal } from '../grants/read-journal.ts'
import { bringUpToDate, type ClientSince, type Ended, endRestored, LIVES_UNSEEN } from '../grants/restore.ts'
import { EXIT, Failure, type World } from './command.ts'
import { columns, counted, time } from './print.ts'

/**
 * How the operator answers: beforehand (`--yes`), or to a question where somebody sits at the terminal. `journal` are files, none
 * where nobody kept one.
 */
export type Confirming = { yes: boolean; json: boolean; journal: readonly string[] }

type Put = {
  restoration: Restoration
  ended: Ended
  /** grants moved on to where the journal says they were; null without a journal */
  advanced: number | null
  since: ClientSince[]
  /** why the journal does not count */
  faults: string[]
}

export async function putRight(store: Store, keeping: KeyKeeping, world: World, confirming: Confirming): Promise<number> {
  const { yes, json, journal } = confirming
  const { restoration, ended, advanced, since, faults } = await putBack(store, keeping, journal)
  const [clients, keys] = [await clientsOf(store, since), await keysOf(store, keeping)]
  if (!json) {
    if (faults.length > 0) {
      world.print('The journal cannot account for everything since the backup, so all ended as without it:')
      for (const fault of faults) world.print(`- ${fault}`)
    }
    const sum = [counted(ended.grants, 'grant'), counted(ended.sessions, 'session')].join(' and ')
    const replaced = advanced === null ? 'replaced' : 'retired'
    world.print(`Ended ${sum}, withdrew ${counted(ended.receipts, 'receipt')}, ${replaced} ${counted(ended.keys, 'key')}.`)
    if (advanced !== null) world.print(`Moved ${counted(advanced, 'grant')} on to where the journal says it was.`)
    for (const line of lookThrough(clients, keys, advanced !== null)) world.print(line)
  }
  const confirmed = yes || (!json && (await asked(world)))
  if (confirmed) await store.restorations.confirmRestoration(restoration.number, keeping.now())
  if (json) {
    const told = journal.length === 0 ? {} : { journal: { accounts: advanced !== null, faults, grants_moved_on: advanced ?? 0 } }
    world.print(JSON.stringify({ ended, ...told, clients, keys, confirmed }))
  } else if (confirmed) world.print('Confirmed: grantor serve becomes ready.')
  else {
    const again = journal.map((file) => ` --journal ${file}`).join('')
    world.print(
      `Not confirmed: /health/ready stays 503 until you run: grantor migrate --restored${advanced === null ? '' : again} --yes`,
    )
  }
  return confirmed ? EXIT.done : EXIT.failed
}

async function putBack(store: Store, keeping: KeyKeeping, journal: readonly string[]): Promise<Put> {
  const account = journal.length === 0 ? null : await accountOf(store, journal)
  if (!account || account.faults.length > 0)
    return { ...(await endRestored(store, keeping)), advanced: null, since: [], faults: account?.faults ?? [] }
  const from = account.lastAt + LIVES_UNSEEN
  if (keeping.now() < from)
    throw new Failure([
      `what the last program made before it was over may still be used: wait until ${time(from)}`,
      'Nothing was changed. Or leave out --journal, and everything ends.',
    ])
  const { clients, ...done } = await bringUpToDate(store, keeping, account)
  return { ...done, since: clients, faults: [] }
}

async function accountOf(store: Store, files: readonly string[]): Promise<Account> {
  const runs = await store.runs.readRuns()
  const before = await store.restorations.readRestoration()
  const again = before !== null && before.confirmedAt === null && runs.open.length === 0
  return readJournal(files.map(linesOf), runs, again)
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const stream = createReadStream(file)
  try {
    yield* createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    throw new Failure(`cannot read the journal ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`)
  } finally {
    stream.destroy()
  }
}

async function clientsOf(store: Store, since: readonly ClientSince[]) {
  return (await store.clients.listClients()).map((client) => ({
    client_id: client.id,
    name: client.name,
    enabled: client.disabledAt === null,
    created_at: client.createdAt,
    // null where it was made before that was kept
    secrets: client.secrets.map(({ expiresAt, createdAt }) => ({ created_at: createdAt ?? null, expires_at: expiresAt })),
    // what a journal tells of it
    since_backup: since.find(({ clientId }) => clientId === client.id)?.since ?? null,
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
  byJournal: boolean,
): readonly string[] {
  const clientRows = clients.map(({ client_id, name, enabled, created_at, secrets, since_backup }) => [
    client_id,
    enabled ? 'enabled' : 'disabled',
    time(created_at),
    secrets.map(secretWords).join(', ') || 'none',
    ...(byJournal ? [since_backup ?? 'as it was'] : []),
    name,
  ])
  const keyRows = keys
    .filter(({ state }) => state !== 'retired')
    .map(({ key_id, kind, state, created_at }) => [key_id, kind, state, time(created_at)])
  return [
    '',
    ...(byJournal ? BY_JOURNAL : BY_HAND),
    ...columns(['CLIENT_ID', 'STATE', 'REGISTERED', 'SECRETS', ...(byJournal ? ['SINCE'] : []), 'NAME'], clientRows),
    '',
    byJournal
      ? 'These keys go on; what was made with a later one no longer works.'
      : 'These keys are in use from now on; all others are retired.',
    ...columns(['KEY_ID', 'KIND', 'STATE', 'CREATED'], keyRows),
    '',
  ]
}

const BY_HAND = [
  'These clients are as they were when the backup was made. Disable those that were disabled or deleted since, and rotate',
  'the secrets that were rotated since (grantor clients disable, grantor clients rotate-secret).',
]
const BY_JOURNAL = [
  'These clients are as they were when the backup was made; those disabled or deleted since are disabled. Of one that was',
  'changed since look at everything, and rotate its secret if that was rotated (grantor clients rotate-secret).',
]

/** How old a secret is tells whether the one that was rotated last is in the backup. */
function secretWords({ created_at, expires_at }: { created_at: number | null; expires_at: number | null }): string {
  const made = created_at === null ? 'of unknown age' : `of ${time(created_at)}`
  return expires_at === null ? `one ${made}` : `one ${made} until ${time(expires_at)}`
}

async function asked(world: World): Promise<boolean> {
  const answer = await world.ask?.('Serve this database? Type yes: ')
  return answer?.trim().toLowerCase() === 'yes'
}
