/**
 * `grantor migrate --restored`: ends everything in a restored database, lists what only the operator can judge, and asks for
 * confirmation.
 */
import { type KeyKeeping, keyState } from '../../domain/maintenance/keep-keys.ts'
import { endRestored } from '../../domain/maintenance/restore.ts'
import type { Store } from '../../domain/model/store.ts'
import { readOperators } from '../../domain/operators/operators.ts'
import { type CommandEnvironment, EXIT } from '../../operators/terminal/command.ts'
import { columns, formatCount, time } from '../../operators/terminal/print.ts'
import { recordAct } from '../compose/record-act.ts'

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
  const listed = await readListed(store, keeping)
  if (!json) {
    const sum = [formatCount(ended.grants, 'grant'), formatCount(ended.sessions, 'session')].join(' and ')
    environment.print(
      `Ended ${sum}, withdrew ${formatCount(ended.receipts, 'receipt')}, replaced ${formatCount(ended.keys, 'key')}.`,
    )
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

type ListedRestorations = Awaited<ReturnType<typeof readListed>>

async function readListed(store: Store, keeping: KeyKeeping) {
  const keys = await store.keys.listKeys()
  return {
    clients: (await store.clients.listClients()).map(({ id, name, disabledAt, createdAt, secrets }) => ({
      client_id: id,
      name,
      enabled: disabledAt === null,
      created_at: createdAt,
      secrets: secrets.map((secret) => ({ created_at: secret.createdAt, expires_at: secret.expiresAt })),
    })),
    resources: (await store.resources.listResources()).map(({ uri, name, scopes, openTo }) => ({
      resource: uri,
      name,
      scopes: scopes.map((scope) => scope.name),
      open_to: openTo,
    })),
    operators: (await readOperators(store)).map(({ id, role, createdAt }) => ({ operator: id, role, created_at: createdAt })),
    webhooks: (await store.webhooks.listWebhooks()).map(({ id, url, events }) => ({ webhook_id: id, url, events })),
    keys: keys.map((key) => ({
      key_id: key.id,
      kind: key.kind,
      state: keyState(keeping, keys, key),
      created_at: key.createdAt,
    })),
  }
}

/** The operator must review these: the database does not show whether a client was disabled, deleted or given a new secret later. */
function reviewLines({ clients, resources, operators, webhooks, keys }: ListedRestorations): string[] {
  const living = keys.filter(({ state }) => state !== 'retired')
  return [
    '',
    'These clients are as they were in the restored state. Disable those that were disabled or deleted since then, and',
    'rotate the secrets that were rotated since then (grantor clients disable, grantor clients rotate-secret).',
    ...columns(['CLIENT_ID', 'STATE', 'REGISTERED', 'SECRETS', 'NAME'], clients.map(clientCells)),
    '',
    ...ifAny(
      resources.map(({ resource, open_to, scopes }) => [resource, open_to.join(' ') || 'no clients', scopes.join(' ')]),
      ['RESOURCE', 'OPEN TO', 'SCOPES'],
      [
        'These resources are as they were in the restored state. Close or delete those that were closed or deleted since then',
        '(grantor resources update --closed, grantor resources delete).',
      ],
    ),
    ...ifAny(
      operators.map(({ operator, role, created_at }) => [operator, role, time(created_at)]),
      ['OPERATOR', 'ROLE', 'ADDED'],
      [
        'These operators are as they were in the restored state. Remove those that were removed since then, and correct the roles',
        '(grantor operators remove, grantor operators add).',
      ],
    ),
    ...ifAny(
      webhooks.map(({ webhook_id, events, url }) => [webhook_id, events.join(' ') || 'every event', url]),
      ['WEBHOOK_ID', 'EVENTS', 'URL'],
      [
        'These webhooks are as they were in the restored state. Delete those that were deleted since then',
        '(grantor webhooks delete).',
      ],
    ),
    'These keys are in use from now on; all others are retired.',
    ...columns(
      ['KEY_ID', 'KIND', 'STATE', 'CREATED'],
      living.map(({ key_id, kind, state, created_at }) => [key_id, kind, state, time(created_at)]),
    ),
    '',
  ]
}

function ifAny(rows: string[][], headings: string[], words: string[]): string[] {
  return rows.length === 0 ? [] : [...words, ...columns(headings, rows), '']
}

/** The age of a secret shows whether the restored database has the latest one. */
function clientCells({ client_id, enabled, created_at, secrets, name }: ListedRestorations['clients'][number]): string[] {
  const words = secrets.map(({ created_at: madeAt, expires_at: until }) => {
    const made = madeAt === null ? 'of unknown age' : `of ${time(madeAt)}`
    return until === null ? `one ${made}` : `one ${made} until ${time(until)}`
  })
  return [client_id, enabled ? 'enabled' : 'disabled', time(created_at), words.join(', ') || 'none', name]
}

export async function askForConfirmation(environment: CommandEnvironment): Promise<boolean> {
  const answer = await environment.ask?.('Serve this database? Type yes: ')
  return answer?.trim().toLowerCase() === 'yes'
}
