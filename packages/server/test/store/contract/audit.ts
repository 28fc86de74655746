/** The audit trail in the store: one chain, pages in both directions, searches, and deletion from the start. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ChainWriter } from '../../../src/domain/audit/chain.ts'
import { type AuditEntry, lineOf, type NewEntry, newEntry } from '../../../src/domain/audit/entry.ts'
import { hashOfLine, placeAfter } from '../../../src/domain/model/audit-chain.ts'
import { type AuditLine, NO_LINE } from '../../../src/domain/model/audit-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { NOW, type Subject, someWallet } from './subject.ts'

const some = (entry: Partial<NewEntry> = {}) => newEntry({ at: NOW, event: 'session_started', ...entry })

/** Appends entries as one batch of a new writer. */
const append = ({ audit }: Store, entries: AuditEntry[]) => new ChainWriter(audit, () => NOW).append(entries)

async function everyLine({ audit }: Store): Promise<AuditLine[]> {
  return audit.readLines({ after: 0, limit: 10_000 })
}

const idsOf = (lines: AuditLine[]): string[] => lines.map(({ line }) => (JSON.parse(line) as { id: string }).id)

function expectChain(lines: AuditLine[], count: number): void {
  expect(lines.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
  let previous = NO_LINE
  for (const { hash, line } of lines) {
    expect(hash).toBe(hashOfLine(previous, line))
    previous = hash
  }
}

export function auditContract(subject: Subject): void {
  test('Appended lines are read on every node in the order of the chain, with all their columns', async () => {
    const [store, other] = subject().nodes
    expect(await store.audit.readHead()).toEqual({ seq: 0, hash: NO_LINE })
    const wallet = someWallet()
    const full = { reason: 'signature', operator: 'cli:root', clientId: 'c', grantId: 'g', wallet, details: { grants: 2 } }
    const entries = [some(full), some({ reason: '"☃" \u0000 \ud800 \\ {},', details: { why: '\u0000' } }), some()]
    await append(store, entries)
    const lines = await everyLine(other)
    expect(lines).toEqual(placeAfter({ seq: 0, hash: NO_LINE }, entries.map(lineOf)))
    expect(lines[1]?.reason, 'no store would keep all of the characters').toBe('"☃" ? \ufffd \\ {},')
    expectChain(lines, 3)
    expect(await other.audit.readHead()).toEqual({ seq: 3, hash: lines[2]?.hash })
    expect(await other.audit.readLines({ after: 1, limit: 1 })).toEqual([lines[1]])
  })

  test('Lines with one of several events are counted after a line, within a bounded number of lines', async () => {
    const [store, other] = subject().nodes
    const events = ['grant_ended', 'key_made', 'grant_ended', 'session_started', 'grant_ended'] as const
    await append(
      store,
      events.map((event) => some({ event })),
    )
    const count = (after: number, of: string[], within = 100) => other.audit.countLines({ after, events: of, within })
    expect(await count(0, ['grant_ended'])).toBe(3)
    expect(await count(1, ['grant_ended', 'key_made'])).toBe(3)
    expect(await count(0, ['grant_ended'], 2)).toBe(1)
    expect(await count(5, ['grant_ended'])).toBe(0)
    expect(await count(0, ['no_event'])).toBe(0)
  })

  test('Text and hash of a line have the format of all earlier versions, so that earlier lines and noted heads can be checked', async () => {
    const [store] = subject().nodes
    const entry = {
      id: '00000000-0000-4000-8000-000000000001',
      at: 1_700_000_000,
      event: 'grant_ended',
      result: 'done',
      reason: 'user',
      clientId: 'c',
      grantId: 'g',
      wallet: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      network: '203.0.113',
      details: { why: 'ünï "☃"\\\\' },
    } as const
    await append(store, [entry, { ...entry, id: '00000000-0000-4000-8000-000000000002' }])
    const [first, second] = await everyLine(store)
    expect(first?.line).toBe(
      '{"seq":1,"id":"00000000-0000-4000-8000-000000000001","at":1700000000,"event":"grant_ended","result":"done","reason":"user","client_id":"c","grant_id":"g","wallet":"0xf39F…2266","network":"203.0.113","details":{"why":"ünï \\"☃\\"\\\\\\\\"}}',
    )
    expect(first?.hash).toBe('Zbkb_wV8DkPeu59pJQsBO1ufSglIyGCppSM9YpOSHe4')
    expect(second?.hash).toBe('ouAz4YQgdhOUt7aJAOB7FNyFUyGKjrs6SiUSaMC3DHE')
  })

  test('A batch that is appended again is stored once, also after other appends, and after the next batch of its writer', async () => {
    const [store, other] = subject().nodes
    const [first, second] = [[some(), some()], [some()]]
    const batch = { writer: randomUUID(), at: NOW, number: 1, lines: first.map(lineOf) }
    await store.audit.append(batch)
    const others = [some()]
    await append(other, others)
    await other.audit.append(batch)
    await store.audit.append({ ...batch, number: 2, lines: second.map(lineOf) })
    await store.audit.append(batch)
    await append(other, [])
    const lines = await everyLine(store)
    expect(idsOf(lines)).toEqual([...first, ...others, ...second].map(({ id }) => id))
    expectChain(lines, 4)
  })

  test('Lines that many writers append at the same time become one chain without gaps, in which each line is once', async () => {
    const { nodes } = subject()
    const batches = Array.from({ length: 40 }, (_, index) => Array.from({ length: 1 + (index % 3) }, () => some()))
    await Promise.all(
      batches.map(async (entries, index) => {
        const { audit } = nodes[index % 2 === 0 ? 0 : 1]
        const batch = { writer: randomUUID(), at: NOW, number: 1, lines: entries.map(lineOf) }
        await Promise.all([audit.append(batch), audit.append(batch), nodes[1].audit.append(batch)])
      }),
    )
    const lines = await everyLine(nodes[0])
    expectChain(lines, batches.flat().length)
    expect(idsOf(lines).toSorted()).toEqual(
      batches
        .flat()
        .map(({ id }) => id)
        .toSorted(),
    )
  })

  test('The record of a writer is deleted after its last append, and the writer can go on', async () => {
    const [store, other] = subject().nodes
    const writer = new ChainWriter(store.audit, () => NOW)
    await writer.append([some()])
    const sweep = (at: number) => other.cleaning.sweep('audit_writers', { overFor: 3600, limit: 10, at })
    expect(await sweep(NOW)).toBe(0)
    expect(await sweep(NOW + 3600)).toBe(1)
    await writer.append([some()])
    expectChain(await everyLine(other), 2)
  })

  test('A batch of 200 lines is appended as one chain', async () => {
    const [store] = subject().nodes
    const entries = Array.from({ length: 200 }, () => some({ grantId: randomUUID() }))
    await append(store, [some()])
    await append(store, entries)
    expectChain(await everyLine(store), 201)
    expect(idsOf(await everyLine(store)).slice(1)).toEqual(entries.map(({ id }) => id))
  })

  test('A search returns the lines that match every condition, newest first, page by page, also if lines were appended late', async () => {
    const [store] = subject().nodes
    const wallet = someWallet()
    const entries = Array.from({ length: 12 }, (_, index) =>
      some({
        // every third line happened before its neighbours
        at: NOW + (index % 3 === 0 ? index - 2 : index),
        event: index % 2 === 0 ? 'grant_ended' : index === 5 ? 'hook_refused' : 'session_started',
        clientId: index < 6 ? 'first' : 'second',
        ...(index % 4 === 0 ? { wallet, reason: 'revoked', grantId: `g${index}`, operator: 'cli:root' } : {}),
      }),
    )
    await append(store, entries)
    const lines = await everyLine(store)
    const newestFirst = lines.toSorted((a, b) => b.at - a.at || b.seq - a.seq)
    const search = (filter: Parameters<Store['audit']['searchLines']>[0], limit = 100) =>
      store.audit.searchLines(filter, { limit })
    expect(await search({})).toEqual(newestFirst)
    expect(await search({ event: 'grant_ended' })).toEqual(newestFirst.filter(({ event }) => event === 'grant_ended'))
    expect(await search({ clientId: 'first' })).toEqual(newestFirst.filter(({ clientId }) => clientId === 'first'))
    for (const filter of [{ wallet }, { reason: 'revoked' }, { operator: 'cli:root' }])
      expect(await search(filter)).toEqual(newestFirst.filter((line) => line.wallet === wallet))
    expect(await search({ grantId: 'g4' })).toEqual(newestFirst.filter(({ grantId }) => grantId === 'g4'))
    expect(await search({ wallet, clientId: 'second' })).toEqual(
      newestFirst.filter((line) => line.wallet === wallet && line.clientId === 'second'),
    )
    expect(await search({ since: NOW + 3, until: NOW + 8 })).toEqual(
      newestFirst.filter(({ at }) => at >= NOW + 3 && at < NOW + 8),
    )
    expect(await search({ result: 'refused' })).toEqual(newestFirst.filter(({ event }) => event === 'hook_refused'))
    expect(await search({ result: 'done' })).toEqual(newestFirst.filter(({ event }) => event !== 'hook_refused'))
    expect(await search({ wallet: someWallet() })).toEqual([])
    const paged: AuditLine[] = []
    let page: AuditLine[]
    do {
      page = await store.audit.searchLines({ clientId: 'first' }, { limit: 2, before: paged.at(-1) })
      paged.push(...page)
    } while (page.length === 2)
    expect(paged).toEqual(newestFirst.filter(({ clientId }) => clientId === 'first'))
  })

  test('Deletion removes the oldest lines, at most as many as named and none after the named line, and the chain goes on', async () => {
    const [store, other] = subject().nodes
    await append(
      store,
      Array.from({ length: 10 }, () => some({ grantId: randomUUID() })),
    )
    const lines = await everyLine(store)
    expect(await other.audit.deleteLines(5, 3)).toBe(3)
    expect(await everyLine(store)).toEqual(lines.slice(3))
    expect(await other.audit.deleteLines(5, 3)).toBe(2)
    expect(await other.audit.deleteLines(5, 3)).toBe(0)
    expect(await store.audit.readHead()).toEqual({ seq: 10, hash: lines[9]?.hash })
    await append(store, [some()])
    expect((await everyLine(store)).map(({ seq }) => seq)).toEqual([6, 7, 8, 9, 10, 11])
  })

  test('While the store takes no writes, an append throws; afterwards the same writer stores its lines once', async () => {
    const [store, other] = subject().nodes
    const writer = new ChainWriter(store.audit, () => NOW)
    const entries = [some(), some()]
    await writer.append([some()])
    const allowWrites = await subject().refuseWrites()
    await expect(writer.append(entries)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await allowWrites()
    await expect.poll(() => writer.append(entries).then(() => 'appended', String)).toBe('appended')
    expect(idsOf(await everyLine(other)).slice(1)).toEqual(entries.map(({ id }) => id))
  })
}
