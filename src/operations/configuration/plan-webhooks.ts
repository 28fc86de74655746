/** The plan for the webhooks of a configuration. A webhook is found by its id or by its address, and never changes. */
import { randomUUID } from 'node:crypto'
import { isClientId } from '../../domain/model/client-id.ts'
import { type StoredWebhook, WEBHOOKS_AT_MOST, type Webhook } from '../../domain/model/webhook-store.ts'
import { byKey, membersOf, withoutPresets } from '../members/member.ts'
import { webhookMembers } from '../members/webhook-members.ts'
import type { Service } from '../service.ts'
import { detailsOf, newWebhook, webhookFaults } from '../webhooks.ts'
import { ChangedMeanwhile } from './changed-meanwhile.ts'
import {
  describe,
  differences,
  type Entry,
  type Kind,
  type PlannedChange,
  type PlanOfKind,
  type PlanParts,
} from './configuration.ts'

type Given = Pick<Webhook, 'id' | 'url' | 'events'>

export const webhookKind: Kind = {
  members: webhookMembers,
  atMost: WEBHOOKS_AT_MOST,
  plan: planWebhooks,
  exported: async (store) =>
    (await store.webhooks.listWebhooks()).map((webhook) => withoutPresets(webhookMembers, membersOf(webhookMembers, webhook))),
}

async function planWebhooks(entries: readonly Entry[], { service, prune }: PlanParts): Promise<PlanOfKind> {
  const stored = await service.store.webhooks.listWebhooks()
  const plan: PlanOfKind = { changes: [], unchanged: 0, faults: [] }
  const named = new Set<string>()
  for (const { place, members } of entries) {
    const given = { events: [], ...byKey(webhookMembers, members) } as unknown as Omit<Given, 'id'> & { id?: string }
    const before = stored.find(({ id, url }) => (given.id === undefined ? url === given.url : id === given.id))
    const after = { ...given, id: before?.id ?? given.id ?? randomUUID() }
    const faults = faultsOf(service, after, before)
    if (named.has(after.id) || (!before && named.has(after.url))) faults.push('The webhook is named twice.')
    named.add(after.id).add(after.url)
    plan.faults.push(...faults.map((fault) => `${place}: ${fault}`))
    if (before) plan.unchanged += 1
    else plan.changes.push(planCreation(service, after))
  }
  const others = stored.filter(({ id }) => !named.has(id))
  if (prune) plan.changes.push(...others.map((webhook) => planDeletion(service, webhook)))
  const most = stored.length + plan.changes.filter(({ action }) => action === 'create').length
  if (most > WEBHOOKS_AT_MOST) plan.faults.push(`webhooks: at most ${WEBHOOKS_AT_MOST} are possible, and there would be ${most}.`)
  return plan
}

function faultsOf(service: Service, after: Given, before: StoredWebhook | undefined): string[] {
  const faults = webhookFaults(service, after)
  if (!isClientId(after.id)) faults.push('webhook_id must be a UUID in lower case. Leave it out for a new webhook.')
  if (before && differences(webhookMembers, before, after).length > 0)
    faults.push('The address and the events of a webhook never change. Delete it first, or leave webhook_id out.')
  return faults
}

const EVENTS = { create: 'webhook_created', delete: 'webhook_deleted' } as const

function describeChange(webhook: Given, action: keyof typeof EVENTS) {
  const { id, url: name } = webhook
  const act = { event: EVENTS[action], details: detailsOf(webhook) }
  return describe({ kind: 'webhook', action, id, name, act, newSecret: action === 'create' })
}

function planCreation(service: Service, given: Given): PlannedChange {
  return {
    ...describeChange(given, 'create'),
    async carryOut(_at, keepSecret) {
      const { webhook, secret } = await newWebhook(service, given)
      keepSecret({ kind: 'webhook', id: given.id, name: given.url, secret })
      if ((await service.store.webhooks.insertWebhook(webhook)) === 'full')
        throw new ChangedMeanwhile('other webhooks were added meanwhile')
      return { grantsEnded: 0 }
    },
  }
}

function planDeletion({ store }: Service, webhook: StoredWebhook): PlannedChange {
  return {
    ...describeChange(webhook, 'delete'),
    async carryOut() {
      await store.webhooks.deleteWebhook(webhook.id)
      return { grantsEnded: 0 }
    },
  }
}
