/** The reports of the processes: one row each, and the incidents of all of them. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Incident, NodeReport } from '../../../src/domain/model/node-store.ts'
import { addIncidents } from '../../../src/domain/nodes/incidents.ts'
import { createReporter } from '../../../src/domain/nodes/reporter.ts'
import { NOW, race, type Subject } from './subject.ts'

export function nodeReport(report: Partial<NodeReport> = {}): NodeReport {
  return {
    id: randomUUID(),
    at: NOW,
    startedAt: NOW - 100,
    stoppedAt: null,
    machine: 'auth “1” 🎈',
    processId: 7,
    version: '1.2.3',
    storeTime: 0.4,
    lag: 1.5,
    keyDueAt: null,
    certificateEndsAt: null,
    machinesAway: [],
    feedReaders: 0,
    feedLag: 0,
    minutes: [{ minute: NOW / 60 - 1, requests: 3, faults: 1, limited: 0, latencies: [[4, 3]] }],
    refused: [{ network: '192.0.2', client: 'none', reason: 'code_unknown', count: 2 }],
    otherRefusals: 0,
    ...report,
  }
}

export function nodesContract(subject: Subject): void {
  test('A report is read on every node, and a later report of the process takes its place', async () => {
    const [store, other] = subject().nodes
    const report = nodeReport()
    expect(await store.nodes.insertNode(report)).toBe('inserted')
    expect(await other.nodes.insertNode(report)).toBe('taken')
    const later = { ...report, at: NOW + 60, minutes: [] }
    expect(await store.nodes.changeNode(report.id, () => later)).toEqual(later)
    expect(await other.nodes.listNodes()).toEqual([later])
    expect(await store.nodes.changeNode(randomUUID(), () => later)).toBeNull()
  })

  test('The row of a process is deleted an hour after its last report, and the row of a process that reports stays', async () => {
    const [store, other] = subject().nodes
    const [gone, running] = [nodeReport({ at: NOW - 3600 }), nodeReport({ at: NOW - 3599 })]
    for (const report of [gone, running]) await store.nodes.insertNode(report)
    expect(await store.cleaning.sweep('nodes', { overFor: 3600, limit: 10, at: NOW })).toBe(1)
    expect(await other.nodes.listNodes()).toEqual([running])
  })

  test('A process whose row was swept while it could not report has a row again', async () => {
    const [store, other] = subject().nodes
    const { reporter } = reporterOn(store)
    await reporter.at(NOW)
    await store.cleaning.sweep('nodes', { overFor: 3600, limit: 10, at: NOW + 7200 })
    expect(await other.nodes.listNodes()).toEqual([])
    await reporter.at(NOW + 7200)
    expect(await other.nodes.listNodes()).toMatchObject([{ at: NOW + 7200 }])
  })

  test('A process stores one report a minute, however often it is asked', async () => {
    const [store, other] = subject().nodes
    const { reporter } = reporterOn(store)
    for (const second of [0, 5, 55, 59]) await reporter.at(NOW + second)
    expect(await other.nodes.listNodes()).toMatchObject([{ at: NOW }])
    await reporter.at(NOW + 60)
    expect(await other.nodes.listNodes()).toMatchObject([{ at: NOW + 60 }])
  })

  test('A report and an incident that cannot be stored are stored by a later call, once', async () => {
    const [store, other] = subject().nodes
    const { reporter, noted } = reporterOn(store)
    noted.push({ kind: 'store_away', from: NOW - 70, until: NOW, count: 1 })
    const accept = await subject().refuseWrites()
    await expect(reporter.at(NOW)).rejects.toThrow()
    await accept()
    await reporter.at(NOW + 5)
    await reporter.at(NOW + 65)
    expect(await other.nodes.listNodes()).toHaveLength(1)
    expect(await other.lists.readList('incidents')).toEqual([{ kind: 'store_away', from: NOW - 70, until: NOW, count: 1 }])
  })

  test('If twenty processes note one outage at once, the list has it once, from its first to its last second', async () => {
    await race(subject(), 20, (store, n) =>
      store.lists.changeList('incidents', (list) =>
        addIncidents(list, [{ kind: 'store_away', from: NOW + n, until: NOW + 70 - n, count: 1 }], NOW + 80),
      ),
    )
    const [, other] = subject().nodes
    expect(await other.lists.readList('incidents')).toMatchObject([{ kind: 'store_away', from: NOW, until: NOW + 70 }])
  })
}

function reporterOn(store: Parameters<typeof createReporter>[0]['store']) {
  let now = NOW
  const { at: _, stoppedAt: _stopped, ...facts } = nodeReport()
  const noted: Incident[] = []
  const reporter = createReporter({
    store,
    now: () => now,
    incidents: {
      note: (incident) => void noted.push(incident),
      take: () => noted.splice(0),
    },
    read: () => facts,
    measure: async () => ({ storeTime: 1, lag: 1 }),
  })
  const at = (time: number): Promise<void> => {
    now = time
    return reporter.report()
  }
  return { reporter: { ...reporter, at }, noted }
}
