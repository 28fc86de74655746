/**
 * The secrets of clients and webhooks in the form in which a store has them, one JSON object for each secret. With them, the clients of
 * another store keep their secrets. Of a client this is the hash, which does not depend on GRANTOR_SECRET. Of a webhook it is the secret,
 * wrapped with GRANTOR_SECRET.
 */
import { isClientId } from '../../domain/model/client-id.ts'
import type { Client, ClientSecret } from '../../domain/model/records.ts'
import type { Webhook } from '../../domain/model/webhook-store.ts'
import { isSecretHash } from '../../protocol/keys/secret.ts'
import { parseJson } from '../../protocol/oauth/parse-json.ts'

export type StoredSecrets = {
  /** by client id, the newest first */
  clients: ReadonlyMap<string, readonly ClientSecret[]>
  /** the wrapped secrets, by webhook id */
  webhooks: ReadonlyMap<string, string>
}

export const NO_STORED_SECRETS: StoredSecrets = { clients: new Map(), webhooks: new Map() }

/** A line of the file. */
export type StoredSecret =
  | { client_id: string; client_secret_hash: string; created_at: number; expires_at: number | null }
  | { webhook_id: string; wrapped_secret: string }

export function storedSecretsOfClient({ id, secrets }: Pick<Client, 'id' | 'secrets'>): StoredSecret[] {
  return secrets.map(({ secretHash, createdAt, expiresAt }) => ({
    client_id: id,
    client_secret_hash: secretHash,
    created_at: createdAt,
    expires_at: expiresAt,
  }))
}

export function storedSecretOfWebhook({ id, secret }: Pick<Webhook, 'id' | 'secret'>): StoredSecret {
  return { webhook_id: id, wrapped_secret: secret }
}

/** During a rotation a client has two. */
const SECRETS_AT_MOST = 2

/** Reads the lines of a file. Secrets of records that are not `wanted` are checked and not kept. A fault never quotes the line. */
export function createStoredSecretsReader(wanted: (id: string) => boolean) {
  const clients = new Map<string, ClientSecret[]>()
  const webhooks = new Map<string, string>()
  const keepClient = (id: string, secret: ClientSecret): string | null => {
    const secrets = clients.get(id) ?? []
    if (secrets.length === SECRETS_AT_MOST) return `the client has more than ${SECRETS_AT_MOST} secrets`
    if (secrets.some(({ secretHash }) => secretHash === secret.secretHash)) return 'the client has this hash twice'
    clients.set(id, [...secrets, secret])
    return null
  }
  const keepWebhook = (id: string, secret: string): string | null => {
    if (webhooks.has(id)) return 'the webhook has more than one secret'
    webhooks.set(id, secret)
    return null
  }
  return {
    secrets: { clients, webhooks } satisfies StoredSecrets,
    /** null, or what is wrong with the line */
    read(text: string): string | null {
      const parsed = parseJson(text)
      const line = parsed.kind === 'parsed' ? parsed.value : null
      if (isClientLine(line)) return wanted(line.client_id) ? keepClient(line.client_id, secretOf(line)) : null
      if (isWebhookLine(line)) return wanted(line.webhook_id) ? keepWebhook(line.webhook_id, line.wrapped_secret) : null
      return 'it is not a line of grantor export --stored-secrets, or its hash or its secret is damaged'
    },
  }
}

type ClientLine = Extract<StoredSecret, { client_id: string }>
type WebhookLine = Extract<StoredSecret, { webhook_id: string }>

function secretOf({ client_secret_hash: secretHash, created_at: createdAt, expires_at: expiresAt }: ClientLine): ClientSecret {
  return { secretHash, createdAt, expiresAt }
}

function isClientLine(line: unknown): line is ClientLine {
  if (!hasMembers(line, ['client_id', 'client_secret_hash', 'created_at', 'expires_at'])) return false
  const { client_id: id, client_secret_hash: hash, created_at: createdAt, expires_at: expiresAt } = line
  return (
    isId(id) && typeof hash === 'string' && isSecretHash(hash) && isTime(createdAt) && (expiresAt === null || isTime(expiresAt))
  )
}

function isWebhookLine(line: unknown): line is WebhookLine {
  if (!hasMembers(line, ['webhook_id', 'wrapped_secret'])) return false
  const { webhook_id: id, wrapped_secret: secret } = line
  return isId(id) && typeof secret === 'string' && /^[\w-]{1,200}$/.test(secret)
}

function hasMembers(line: unknown, names: readonly string[]): line is Record<string, unknown> {
  if (typeof line !== 'object' || line === null) return false
  return Object.keys(line).length === names.length && names.every((name) => Object.hasOwn(line, name))
}

const isId = (value: unknown): value is string => typeof value === 'string' && isClientId(value)
const isTime = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
