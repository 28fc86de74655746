/** Webhook endpoints on SQLite. */
import { type StoredWebhook, WEBHOOKS_AT_MOST, type WebhookStore } from '../../domain/model/webhook-store.ts'
import type { Connection } from './connection.ts'

type WebhookRow = {
  id: string
  url: string
  secret: string
  events: string
  created_at: number
  cursor: number
  failing_since: number | null
  next_at: number
  paused_at: number | null
}

export function createWebhookStore(connection: Connection): WebhookStore {
  // Takes the lowest free number.
  const insert = connection.prepareWrite(`
    INSERT INTO webhooks (id, number, url, secret, events, created_at, cursor, failing_since, next_at, paused_at)
    SELECT :id, min(used.number) + 1, :url, :secret, :events, :createdAt, :cursor, :failingSince, :nextAt, :pausedAt
    FROM (SELECT 0 AS number UNION ALL SELECT number FROM webhooks) AS used
    WHERE NOT EXISTS (SELECT 1 FROM webhooks WHERE webhooks.number = used.number + 1)
    HAVING min(used.number) < ${WEBHOOKS_AT_MOST}`)
  const list = connection.prepareRead('SELECT * FROM webhooks ORDER BY created_at, id')
  const move = connection.prepareWrite(`
    UPDATE webhooks SET cursor = :cursor, failing_since = :failingSince, next_at = :nextAt, paused_at = :pausedAt
    WHERE id = :id AND cursor = :before`)
  const rewrap = connection.prepareWrite('UPDATE webhooks SET secret = ? WHERE id = ? AND secret = ?')
  const remove = connection.prepareWrite('DELETE FROM webhooks WHERE id = ?')
  return {
    insertWebhook: ({ events, ...webhook }) =>
      connection.write(() => (insert.run({ ...webhook, events: JSON.stringify(events) }).changes > 0 ? 'inserted' : 'full')),
    listWebhooks: () => connection.read(() => (list.all() as unknown as WebhookRow[]).map(webhookOf)),
    moveWebhook: (id, before, { cursor, failingSince, nextAt, pausedAt }) =>
      connection.write(() =>
        move.run({ id, before, cursor, failingSince, nextAt, pausedAt }).changes > 0 ? 'moved' : 'changed',
      ),
    rewrapWebhook: (id, before, after) =>
      connection.write(() => (rewrap.run(after, id, before).changes > 0 ? 'rewrapped' : 'changed')),
    deleteWebhook: (id) => connection.write(() => (remove.run(id).changes > 0 ? 'deleted' : 'unknown')),
  }
}

function webhookOf(row: WebhookRow): StoredWebhook {
  const {
    id,
    url,
    secret,
    cursor,
    created_at: createdAt,
    failing_since: failingSince,
    next_at: nextAt,
    paused_at: pausedAt,
  } = row
  return { id, url, secret, events: JSON.parse(row.events) as string[], createdAt, cursor, failingSince, nextAt, pausedAt }
}
