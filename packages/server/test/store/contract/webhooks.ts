/** Webhook endpoints: their number is bounded, and their cursors change only from the place where the caller saw them. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ATTEMPTS_AT_MOST, type Attempt, type StoredWebhook, WEBHOOKS_AT_MOST } from '../../../src/domain/model/webhook-store.ts'
import { NOW, race, type Subject } from './subject.ts'

function someWebhook(webhook: Partial<StoredWebhook> = {}): StoredWebhook {
  const progress = { cursor: 4, failingSince: null, nextAt: NOW, pausedAt: null }
  return {
    id: randomUUID(),
    url: 'https://a.example/?b=c',
    secret: 'sealed',
    events: ['grant_ended'],
    createdAt: NOW,
    ...progress,
    ...webhook,
  }
}

function someAttempt(line: number | null, failure: string | null = null): Attempt {
  const status = failure === null ? 204 : null
  return { at: NOW, line, event: 'grant_ended', status, failure, milliseconds: 12 }
}

export function webhooksContract(subject: Subject): void {
  test('An inserted webhook is listed on every node with all its members, the oldest first, until it is deleted', async () => {
    const [store, other] = subject().nodes
    const late = someWebhook({ createdAt: NOW + 1, events: [], failingSince: NOW, pausedAt: NOW + 1 })
    const early = someWebhook()
    for (const webhook of [late, early]) expect(await store.webhooks.insertWebhook(webhook)).toBe('inserted')
    expect(await other.webhooks.listWebhooks()).toEqual([early, late])
    expect(await other.webhooks.deleteWebhook(late.id)).toBe('deleted')
    expect(await store.webhooks.deleteWebhook(late.id)).toBe('unknown')
    expect(await store.webhooks.listWebhooks()).toEqual([early])
  })

  test('If more webhooks are inserted at once than the bound allows, exactly so many are stored, and a deleted one makes room', async () => {
    const outcomes = await race(subject(), WEBHOOKS_AT_MOST + 4, (store) => store.webhooks.insertWebhook(someWebhook()))
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(WEBHOOKS_AT_MOST)
    const [store] = subject().nodes
    const [first] = await store.webhooks.listWebhooks()
    await store.webhooks.deleteWebhook(first?.id ?? '')
    expect(await store.webhooks.insertWebhook(someWebhook())).toBe('inserted')
    expect(await store.webhooks.insertWebhook(someWebhook())).toBe('full')
  })

  test('The progress and the secret of a webhook change only if they are still what the caller saw', async () => {
    const [store, other] = subject().nodes
    const webhook = someWebhook()
    await store.webhooks.insertWebhook(webhook)
    const progress = { cursor: 9, failingSince: NOW, nextAt: NOW + 5, pausedAt: NOW + 6 }
    expect(await other.webhooks.moveWebhook(webhook, 4, progress)).toBe('moved')
    expect(await store.webhooks.moveWebhook(webhook, 4, { ...progress, cursor: 5 })).toBe('changed')
    expect(await store.webhooks.moveWebhook({ ...webhook, url: 'https://old.example/' }, 9, progress)).toBe('changed')
    expect(await store.webhooks.rewrapWebhook(webhook.id, 'sealed', 'sealed again')).toBe('rewrapped')
    expect(await other.webhooks.rewrapWebhook(webhook.id, 'sealed', 'late')).toBe('changed')
    expect(await other.webhooks.listWebhooks()).toEqual([{ ...webhook, ...progress, secret: 'sealed again' }])
  })

  test('A webhook is changed without losing its progress, and changes that race are all made', async () => {
    const [store] = subject().nodes
    const webhook = someWebhook({ events: [] })
    await store.webhooks.insertWebhook(webhook)
    const progress = { cursor: 9, failingSince: NOW, nextAt: NOW + 5, pausedAt: null }
    await Promise.all([
      race(subject(), 10, (node, n) =>
        node.webhooks.changeWebhook(webhook.id, (present) => ({ ...present, events: [...present.events, `event ${n}`] })),
      ),
      store.webhooks.moveWebhook(webhook, webhook.cursor, progress),
    ])
    const url = 'https://b.example/'
    const changed = await store.webhooks.changeWebhook(webhook.id, (present) => ({ ...present, url }))
    expect(await subject().nodes[1].webhooks.listWebhooks()).toEqual([changed])
    expect(changed).toEqual({ ...webhook, ...progress, url, events: expect.arrayContaining(['event 0', 'event 9']) })
    expect(changed?.events).toHaveLength(10)
  })

  test('A webhook whose id exists is not inserted, and an unknown webhook is not changed', async () => {
    const [store, other] = subject().nodes
    const webhook = someWebhook()
    await store.webhooks.insertWebhook(webhook)
    expect(await other.webhooks.insertWebhook({ ...webhook, url: 'https://b.example/' })).toBe('taken')
    expect(await other.webhooks.changeWebhook(randomUUID(), (present) => present)).toBeNull()
    expect(await store.webhooks.listWebhooks()).toEqual([webhook])
  })

  test('A webhook that an operator pauses while a node delivers stays paused, and the next move of the node returns that', async () => {
    const [store, other] = subject().nodes
    const webhook = someWebhook()
    await store.webhooks.insertWebhook(webhook)
    await other.webhooks.changeWebhook(webhook.id, (present) => ({ ...present, pausedAt: NOW + 1 }))
    const progress = { cursor: 5, failingSince: null, nextAt: NOW + 2, pausedAt: null }
    expect(await store.webhooks.moveWebhook(webhook, 4, progress)).toBe('paused')
    expect(await other.webhooks.listWebhooks()).toEqual([{ ...webhook, ...progress, pausedAt: NOW + 1 }])
  })

  test('A change of a webhook that returns null changes nothing', async () => {
    const [store, other] = subject().nodes
    const webhook = someWebhook()
    await store.webhooks.insertWebhook(webhook)
    expect(await store.webhooks.changeWebhook(webhook.id, () => null)).toBeNull()
    expect(await other.webhooks.listWebhooks()).toEqual([webhook])
  })

  test('The log of a webhook counts the attempts for each line, and has the newest attempts of all nodes, until the webhook is deleted', async () => {
    const [store, other] = subject().nodes
    const [{ id }, { id: silent }] = [someWebhook(), someWebhook()]
    for (const webhook of [someWebhook({ id }), someWebhook({ id: silent })]) await store.webhooks.insertWebhook(webhook)
    await store.webhooks.logAttempts(id, [someAttempt(5, 'timed_out')])
    await other.webhooks.logAttempts(id, [someAttempt(5, 'status_500'), someAttempt(null), someAttempt(5), someAttempt(6)])
    const log = (await store.webhooks.readAttempts(id)) ?? []
    expect(log.map(({ line, attempt, failure }) => [line, attempt, failure])).toEqual([
      [6, 1, null],
      [5, 3, null],
      [null, 1, null],
      [5, 2, 'status_500'],
      [5, 1, 'timed_out'],
    ])
    expect(log.at(-1)).toEqual({ ...someAttempt(5, 'timed_out'), attempt: 1 })
    // A line that was accepted before is sent again: its attempts are counted from zero.
    await store.webhooks.logAttempts(id, [someAttempt(5)])
    expect((await other.webhooks.readAttempts(id))?.[0]).toMatchObject({ line: 5, attempt: 1 })
    expect(await other.webhooks.readAttempts(silent)).toEqual([])
    await store.webhooks.deleteWebhook(id)
    await other.webhooks.logAttempts(id, [someAttempt(7)])
    expect(await store.webhooks.readAttempts(id)).toBeNull()
  })

  test('The log of a webhook has a bounded number of attempts, also if nodes write at once, and a write to the log does not change the progress', async () => {
    const [store] = subject().nodes
    const webhook = someWebhook()
    await store.webhooks.insertWebhook(webhook)
    const lines = Array.from({ length: 30 }, (_, n) => n)
    await race(subject(), 5, async (node, n) => {
      const attempts = lines.map((line) => someAttempt(n * 100 + line))
      return node.webhooks.logAttempts(webhook.id, attempts)
    })
    const log = (await store.webhooks.readAttempts(webhook.id)) ?? []
    expect(log).toHaveLength(ATTEMPTS_AT_MOST)
    expect(new Set(log.map(({ line }) => line)).size).toBe(ATTEMPTS_AT_MOST)
    expect(await store.webhooks.listWebhooks()).toEqual([webhook])
  })
}
