/** The webhooks of a configuration. A webhook is found by its id, or by its address. */
import { randomUUID } from 'node:crypto'
import { isClientId } from '../../domain/model/client-id.ts'
import { WEBHOOKS_AT_MOST, type Webhook } from '../../domain/model/webhook-store.ts'
import { newStandardSecret, standardSecretText } from '../../protocol/keys/standard-webhook.ts'
import { byKey } from '../members/member.ts'
import { webhookMembers } from '../members/webhook-members.ts'
import type { Service } from '../operations/service.ts'
import { createWebhook, deleteWebhook, detailsOf, updateWebhook, webhookFaults, webhookOf } from '../operations/webhooks.ts'
import { type Claim, type PlanEntry, sectionOf } from './section.ts'
import { type StoredSecrets, storedSecretOfWebhook } from './stored-secrets.ts'

type ConfiguredWebhook = Pick<Webhook, 'id' | 'url' | 'events'> & Partial<Pick<Webhook, 'secret'>>

export const webhookSection = sectionOf<ConfiguredWebhook>({
  noun: 'webhook',
  members: webhookMembers,
  atMost: WEBHOOKS_AT_MOST,
  isLimited: true,
  events: { create: 'webhook_created', change: 'webhook_changed', delete: 'webhook_deleted' },
  list: (store) => store.webhooks.listWebhooks(),
  naming: (webhook) => ({ id: webhook.id, name: webhook.url, act: { details: detailsOf(webhook) } }),
  claims: claimsOf,
  after: (members, before) =>
    webhookOf({ id: before?.id ?? randomUUID(), events: [], ...byKey(webhookMembers, members) } as unknown as ConfiguredWebhook),
  faults: (after, before, { service, storedSecrets }) => [
    ...webhookFaults(service, after),
    ...(before === null && importedSecret(after, service, storedSecrets) === null
      ? [{ member: null, words: 'Its secret in the file of --stored-secrets was wrapped with another GRANTOR_SECRET.' }]
      : []),
    ...(isClientId(after.id)
      ? []
      : [{ member: 'id', words: 'webhook_id must be a UUID in lower case. Leave it out for a new webhook.' }]),
  ],
  effects(step, { storedSecrets }) {
    const isImported = step.action === 'create' && storedSecrets.webhooks.has(step.after.id)
    return { newSecret: step.action === 'create' && !isImported, secretsImported: isImported ? 1 : 0 }
  },
  storedSecrets: ({ id, secret }) => (secret === undefined ? [] : [storedSecretOfWebhook({ id, secret })]),
  operations: { create: createWebhook, change: updateWebhook, delete: deleteWebhook },
  origins:
    ({ service, storedSecrets }) =>
    async (step, keepSecret) => {
      if (step.action !== 'create') return {}
      const { id, url: name } = step.after
      const imported = importedSecret(step.after, service, storedSecrets) ?? undefined
      const secret = imported ?? newStandardSecret()
      if (imported === undefined) await keepSecret({ kind: 'webhook', id, name, secret: standardSecretText(secret) })
      return { origin: { webhook: { id, secret } } }
    },
})

/** The secret of the file, undefined if the file has none, and null if no secret of the settings opens it. */
function importedSecret({ id }: ConfiguredWebhook, service: Service, { webhooks }: StoredSecrets): Uint8Array | null | undefined {
  const wrapped = webhooks.get(id)
  return wrapped === undefined ? undefined : service.keys().keeping.wrap.unwrap(Buffer.from(wrapped, 'base64url'), id, 'webhook')
}

function claimsOf(entries: readonly PlanEntry[], stored: readonly ConfiguredWebhook[]): Claim<ConfiguredWebhook>[] {
  const seen = new Set<unknown>()
  return entries.map((entry) => {
    const { webhook_id: id, url } = entry.members
    const before = stored.find((webhook) => (id === undefined ? webhook.url === url : webhook.id === id)) ?? null
    const key = before?.id ?? id ?? url
    const fault = seen.has(key) || (!before && seen.has(url)) ? 'The webhook is named twice.' : undefined
    seen.add(key).add(url)
    return { entry, before, fault }
  })
}
