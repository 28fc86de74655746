/** What an operator must look at, and what not. */
import { expect, test } from 'vitest'
import type { NodeReport } from '../../../src/domain/model/node-store.ts'
import { type AttentionFacts, attentionOf } from '../../../src/domain/nodes/attention.ts'
import { addIncidents } from '../../../src/domain/nodes/incidents.ts'
import { nodeReport } from '../../store/contract/nodes.ts'
import { NOW } from '../../store/contract/subject.ts'

const DAY = 86_400

function kindsOf(facts: Partial<AttentionFacts>): string[] {
  const none = { at: NOW, nodes: [], incidents: [], webhooks: [], secrets: [] }
  return attentionOf({ ...none, ...facts }).map(({ kind }) => kind)
}
const kindsOfNode = (report: Partial<NodeReport>): string[] => kindsOf({ nodes: [nodeReport(report)] })

test('A service whose nodes report, whose keys are young and whose certificate is fresh needs no attention', () => {
  expect(kindsOfNode({ keyDueAt: NOW + DAY, certificateEndsAt: NOW + 30 * DAY, feedReaders: 3, feedLag: 0.6 })).toEqual([])
})

test('A node that has not reported for three minutes is silent, unless it stopped', () => {
  expect(kindsOfNode({ at: NOW - 180 })).toEqual([])
  expect(kindsOfNode({ at: NOW - 181 })).toEqual(['node_silent'])
  expect(kindsOfNode({ at: NOW - 181, stoppedAt: NOW - 181 })).toEqual([])
})

test('Many processes of a machine that ended in a row are one item with their number', () => {
  const nodes = Array.from({ length: 300 }, (_, n) => nodeReport({ at: NOW - 200 - n }))
  const items = attentionOf({ at: NOW, nodes, incidents: [], webhooks: [], secrets: [] })
  expect(items).toMatchObject([{ kind: 'node_silent', count: 300, at: NOW - 200 }])
})

test('A key that was due a day ago, a certificate that ends within a week, a late reader and a machine that is away are items', () => {
  expect(kindsOfNode({ keyDueAt: NOW - DAY })).toEqual([])
  expect(kindsOfNode({ keyDueAt: NOW - DAY - 1 })).toEqual(['key_due'])
  expect(kindsOfNode({ certificateEndsAt: NOW + 7 * DAY - 1 })).toEqual(['certificate_ends'])
  expect(kindsOfNode({ feedLag: 4 })).toEqual(['feed_late'])
  expect(kindsOfNode({ machinesAway: ['10.0.0.7:5432'] })).toEqual(['machine_away'])
})

test('A webhook that fails, one that is paused, and a secret that will expire are items', () => {
  const webhooks = [
    { id: 'works', failingSince: null, pausedAt: null },
    { id: 'fails', failingSince: NOW - 60, pausedAt: null },
    { id: 'paused', failingSince: NOW - 2 * DAY, pausedAt: NOW - DAY },
  ]
  expect(kindsOf({ webhooks, secrets: [{ clientId: 'a', expiresAt: NOW + 60 }] })).toEqual([
    'secret_ends',
    'webhook_failing',
    'webhook_paused',
  ])
})

test('What lasts comes before what is over, and incidents are shown for a day', () => {
  const incidents = [
    { kind: 'store_away', from: NOW - 100, until: NOW - 30, count: 1 },
    { kind: 'audit_trail_lost', from: NOW - 500, until: NOW - 500, count: 2 },
    { kind: 'store_away', from: NOW - DAY - 70, until: NOW - DAY, count: 1 },
  ]
  expect(kindsOf({ incidents, nodes: [nodeReport({ at: NOW - 1000 })] })).toEqual(['node_silent', 'store_away', 'alarm'])
})

test('An outage that several nodes note at different seconds is one incident, and two outages are two', () => {
  const away = (from: number, until: number) => ({ kind: 'store_away', from, until, count: 1 })
  const list = addIncidents([away(NOW, NOW + 70)], [away(NOW + 3, NOW + 75), away(NOW - 2, NOW + 68)], NOW + 80)
  expect(list).toMatchObject([{ from: NOW - 2, until: NOW + 75 }])
  expect(addIncidents(list, [away(NOW + 200, NOW + 210)], NOW + 220)).toHaveLength(2)
})

test('The list of incidents is bounded, and an incident is forgotten after a week', () => {
  const many = Array.from({ length: 500 }, (_, n) => ({
    kind: 'store_away',
    from: NOW + 100 * n,
    until: NOW + 100 * n,
    count: 1,
  }))
  const list = addIncidents([], many, NOW + 50_000)
  expect(list).toHaveLength(50)
  expect(list.at(-1)?.until).toBe(NOW + 49_900)
  expect(addIncidents(list, [], NOW + 50_000 + 7 * DAY)).toEqual([])
})
