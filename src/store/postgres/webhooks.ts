/** Webhook endpoints on PostgreSQL. */
import { type StoredWebhook, WEBHOOKS_AT_MOST, type WebhookStore } from '../../domain/model/webhook-store.ts'
import type { Connection } from './connection/connection.ts'
import { preparingConfirmation } from './revision.ts'

type WebhookRow = {
  id: string
  url: string
  secret: string
  events: string[]
  created_at: number
  cursor: number
  failing_since: number | null
  next_at: number
  paused_at: number | null
}

// The unique number of each row bounds the number of rows, also if several inserts race. An insert that loses the race stores nothing.
const INSERT = `
  INSERT INTO webhooks (id, number, url, secret, events, created_at, cursor, failing_since, next_at, paused_at)
  SELECT :id, min(used.number) + 1, :url, :secret, :events::jsonb, :createdAt::bigint, :cursor::bigint, :failingSince::bigint,
    :nextAt::bigint, :pausedAt::bigint
  FROM (SELECT 0 AS number UNION ALL SELECT number FROM webhooks) AS used
  WHERE NOT EXISTS (SELECT FROM webhooks WHERE webhooks.number = used.number + 1)
  HAVING min(used.number) < ${WEBHOOKS_AT_MOST}
  ON CONFLICT DO NOTHING RETURNING id`

export function createWebhookStore(connection: Connection): WebhookStore {
  const insert = connection.prepare('once', INSERT)
  const list = connection.prepare<WebhookRow>('read', 'SELECT * FROM webhooks ORDER BY created_at, id')
  const move = connection.prepare(
    'move',
    `UPDATE webhooks SET cursor = :cursor::bigint, failing_since = :failingSince::bigint, next_at = :nextAt::bigint,
       paused_at = :pausedAt::bigint
     WHERE id = :id AND cursor = :before::bigint RETURNING id`,
  )
  const rewrap = connection.prepare(
    'move',
    'UPDATE webhooks SET secret = :after WHERE id = :id AND secret = :before RETURNING id',
  )
  const remove = connection.prepare('once', 'DELETE FROM webhooks WHERE id = :id RETURNING id')
  const confirm = preparingConfirmation(connection)
  const listAll = async (): Promise<StoredWebhook[]> => (await list()).map(webhookOf)
  return {
    async insertWebhook(webhook) {
      for (;;) {
        if ((await insert(webhook)).length > 0) return 'inserted'
        if ((await listAll()).length >= WEBHOOKS_AT_MOST) return 'full'
      }
    },
    listWebhooks: listAll,
    moveWebhook: async (id, before, progress) => ((await move({ id, before, ...progress })).length > 0 ? 'moved' : 'changed'),
    rewrapWebhook: async (id, before, after) => ((await rewrap({ id, before, after })).length > 0 ? 'rewrapped' : 'changed'),
    async deleteWebhook(id) {
      if ((await remove({ id })).length > 0) return 'deleted'
      await confirm()
      return 'unknown'
    },
  }
}

function webhookOf(row: WebhookRow): StoredWebhook {
  const { id, url, secret, events, cursor, created_at: createdAt, failing_since: failingSince } = row
  return { id, url, secret, events, createdAt, cursor, failingSince, nextAt: row.next_at, pausedAt: row.paused_at }
}
