/**
 * `grantor migrate --restored`: ends everything in a restored database, lists what only the operator can judge, and asks for
 * confirmation.
 */
import { type KeyKeeping, keyState } from '../../domain/maintenance/keep-keys.ts'
import { endRestored } from '../../domain/maintenance/restore.ts'
import type { Store } from '../../domain/model/store.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { recordAct } from '../compose/record-act.ts'
import { type CommandEnvironment, EXIT } from '../terminal/command.ts'
import { columns, counted, time } from '../terminal/print.ts'

/** `yes` confirms without a question. */
export type Confirming = { yes: boolean; json: boolean }

export async function putRight(
  store: Store,
  keeping: KeyKeeping,
  environment: CommandEnvironment,
  { yes, json }: Confirming,
): Promise<number> {
  const { restoration, ended } = await endRestored(store, keeping)
  await recordAct(store, environment, { event: 'restoration_begun', at: keeping.now(), details: ended })
  const listed = {
    clients: await clientsOf(store),
    resources: await resourcesOf(store),
    operators: await operatorsOf(store),
    webhooks: await webhooksOf(store),
    keys: await keysOf(store, keeping),
  }
  if (!json) {
    const sum = [counted(ended.grants, 'grant'), counted(ended.sessions, 'session')].join(' and ')
    environment.print(`Ended ${sum}, withdrew ${counted(ended.receipts, 'receipt')}, replaced ${counted(ended.keys, 'key')}.`)
    for (const line of reviewLines(listed)) environment.print(line)
  }
  const confirmed = yes || (!json && (await askForConfirmation(environment)))
  if (confirmed) {
    await store.restorations.confirmRestoration(restoration.number, keeping.now())
    await recordAct(store, environment, { event: 'restoration_confirmed', at: keeping.now() })
  }
  if (json) environment.print(JSON.stringify({ ended, ...listed, confirmed }))
  else if (confirmed) environment.print('Confirmed: grantor serve becomes ready.')
  else environment.print('Not confirmed: /health/ready stays 503 until you run: grantor migrate --restored --yes')
  return confirmed ? EXIT.done : EXIT.failed
}

async function clientsOf(store: Store) {
  return (await store.clients.listClients()).map((client) => ({
    client_id: client.id,
    name: client.name,
    enabled: client.disabledAt === null,
    created_at: client.createdAt,
    // null for a secret that was made before its time of creation was stored
    secrets: client.secrets.map(({ expiresAt, createdAt }) => ({ created_at: createdAt ?? null, expires_at: expiresAt })),
  }))
}

async function resourcesOf(store: Store) {
  return (await store.resources.listResources()).map(({ uri, name, scopes, openTo }) => ({
    resource: uri,
    name,
    scopes: scopes.map((scope) => scope.name),
    open_to: openTo,
  }))
}

async function operatorsOf(store: Store) {
  return (await readOperators(store)).map(({ id, role, createdAt }) => ({ operator: id, role, created_at: createdAt }))
}

async function webhooksOf(store: Store) {
  return (await store.webhooks.listWebhooks()).map(({ id, url, events }) => ({ webhook_id: id, url, events }))
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

type Listed = {
  clients: Awaited<ReturnType<typeof clientsOf>>
  resources: Awaited<ReturnType<typeof resourcesOf>>
  operators: Awaited<ReturnType<typeof operatorsOf>>
  webhooks: Awaited<ReturnType<typeof webhooksOf>>
  keys: Awaited<ReturnType<typeof keysOf>>
}

/** The operator must review these: the database does not show whether a client was disabled, deleted or given a new secret later. */
function reviewLines({ clients, resources, operators, webhooks, keys }: Listed): readonly string[] {
  const clientRows = clients.map(({ client_id, name, enabled, created_at, secrets }) => [
    client_id,
    enabled ? 'enabled' : 'disabled',
    time(created_at),
    secrets.map(secretWords).join(', ') || 'none',
    name,
  ])
  const keyRows = keys
    .filter(({ state }) => state !== 'retired')
    .map(({ key_id, kind, state, created_at }) => [key_id, kind, state, time(created_at)])
  return [
    '',
    'These clients are as they were in the restored state. Disable those that were disabled or deleted since then, and',
    'rotate the secrets that were rotated since then (grantor clients disable, grantor clients rotate-secret).',
    ...columns(['CLIENT_ID', 'STATE', 'REGISTERED', 'SECRETS', 'NAME'], clientRows),
    '',
    ...(resources.length === 0 ? [] : resourceLines(resources)),
    ...(operators.length === 0 ? [] : operatorLines(operators)),
    ...(webhooks.length === 0 ? [] : webhookLines(webhooks)),
    'These keys are in use from now on; all others are retired.',
    ...columns(['KEY_ID', 'KIND', 'STATE', 'CREATED'], keyRows),
    '',
  ]
}

function resourceLines(resources: Listed['resources']): string[] {
  const rows = resources.map(({ resource, open_to, scopes }) => [resource, open_to.join(' ') || 'no clients', scopes.join(' ')])
  return [
    'These resources are as they were in the restored state. Close or delete those that were closed or deleted since then',
    '(grantor resources update --closed, grantor resources delete).',
    ...columns(['RESOURCE', 'OPEN TO', 'SCOPES'], rows),
    '',
  ]
}

function operatorLines(operators: Listed['operators']): string[] {
  const rows = operators.map(({ operator, role, created_at }) => [operator, role, time(created_at)])
  return [
    'These operators are as they were in the restored state. Remove those that were removed since then, and correct the roles',
    '(grantor operators remove, grantor operators add).',
    ...columns(['OPERATOR', 'ROLE', 'ADDED'], rows),
    '',
  ]
}

function webhookLines(webhooks: Listed['webhooks']): string[] {
  const rows = webhooks.map(({ webhook_id, events, url }) => [webhook_id, events.join(' ') || 'every event', url])
  return [
    'These webhooks are as they were in the restored state. Delete those that were deleted since then',
    '(grantor webhooks delete).',
    ...columns(['WEBHOOK_ID', 'EVENTS', 'URL'], rows),
    '',
  ]
}

/** The age of a secret shows whether the restored database has the latest one. */
function secretWords({ created_at, expires_at }: { created_at: number | null; expires_at: number | null }): string {
  const made = created_at === null ? 'of unknown age' : `of ${time(created_at)}`
  return expires_at === null ? `one ${made}` : `one ${made} until ${time(expires_at)}`
}

async function askForConfirmation(environment: CommandEnvironment): Promise<boolean> {
  const answer = await environment.ask?.('Serve this database? Type yes: ')
  return answer?.trim().toLowerCase() === 'yes'
}
