/** The audit trail in the store: one chain, pages in both directions, searches, and deletion from the start. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ChainWriter, chainLines, hashOfLine, headOf } from '../../../src/domain/audit/chain.ts'
import { type NewEntry, newEntry } from '../../../src/domain/audit/entry.ts'
import { type AuditHead, type AuditLine, NO_LINE } from '../../../src/domain/model/audit-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { NOW, type Subject, someWallet } from './subject.ts'

const EMPTY: AuditHead = { seq: 0, hash: NO_LINE }

const some = (entry: Partial<NewEntry> = {}) => newEntry({ at: NOW, event: 'session_started', ...entry })

async function everyLine({ audit }: Store): Promise<AuditLine[]> {
  return audit.readLines({ after: 0, limit: 10_000 })
}

export function auditContract(subject: Subject): void {
  test('Appended lines are read on every node in the order of the chain, with all their columns', async () => {
    const [store, other] = subject().nodes
    expect(await store.audit.readHead()).toEqual(EMPTY)
    const wallet = someWallet()
    const full = { reason: 'signature', operator: 'cli:root', clientId: 'c', grantId: 'g', wallet, details: { grants: 2 } }
    const lines = chainLines(EMPTY, [some(full), some({ reason: '"☃" \u0000 \ud800 \\', details: { why: '\u0000' } }), some()])
    expect(lines[1]?.reason, 'no store would keep all of the characters').toBe('"☃" ? \ufffd \\')
    expect(await store.audit.append(EMPTY, lines)).toBe('appended')
    expect(await everyLine(other)).toEqual(lines)
    expect(await other.audit.readHead()).toEqual(headOf(lines[2] ?? EMPTY))
    expect(await other.audit.readLines({ after: 1, limit: 1 })).toEqual([lines[1]])
    expect(hashOfLine(lines[0]?.hash ?? '', lines[1]?.line ?? '')).toBe(lines[1]?.hash)
  })

  test('An append at an earlier head stores nothing, and neither does the same append a second time', async () => {
    const [store, other] = subject().nodes
    const first = chainLines(EMPTY, [some()])
    expect(await store.audit.append(EMPTY, first)).toBe('appended')
    expect(await other.audit.append(EMPTY, chainLines(EMPTY, [some(), some()]))).toBe('moved')
    expect(await store.audit.append(EMPTY, first)).toBe('moved')
    expect(await other.audit.append({ seq: 1, hash: NO_LINE }, chainLines({ seq: 1, hash: NO_LINE }, [some()]))).toBe('moved')
    expect(await everyLine(store)).toEqual(first)
    expect(await other.audit.readHead()).toEqual(headOf(first[0] ?? EMPTY))
  })

  test('Lines that two nodes append at the same time become one chain without gaps, in which each line is once', async () => {
    const { nodes } = subject()
    const entries = nodes.map(() => Array.from({ length: 30 }, () => some()))
    await Promise.all(
      nodes.map(async (store, node) => {
        const writer = new ChainWriter(store.audit)
        for (const entry of entries[node] ?? []) await writer.append([entry], 200)
      }),
    )
    const lines = await everyLine(nodes[0])
    expect(lines.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
    let previous = NO_LINE
    for (const { hash, line } of lines) {
      expect(hash).toBe(hashOfLine(previous, line))
      previous = hash
    }
    const ids = lines.map(({ line }) => (JSON.parse(line) as { id: string }).id)
    expect(ids.toSorted()).toEqual(
      entries
        .flat()
        .map(({ id }) => id)
        .toSorted(),
    )
  })

  test('A search returns the lines that match every condition, newest first, page by page, also if lines were appended late', async () => {
    const [store] = subject().nodes
    const wallet = someWallet()
    const entries = Array.from({ length: 12 }, (_, index) =>
      some({
        // every third line happened before its neighbours
        at: NOW + (index % 3 === 0 ? index - 2 : index),
        event: index % 2 === 0 ? 'grant_ended' : 'session_started',
        clientId: index < 6 ? 'first' : 'second',
        ...(index % 4 === 0 ? { wallet, reason: 'revoked', grantId: `g${index}`, operator: 'cli:root' } : {}),
      }),
    )
    const lines = chainLines(EMPTY, entries)
    await store.audit.append(EMPTY, lines)
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
    const lines = chainLines(
      EMPTY,
      Array.from({ length: 10 }, () => some({ grantId: randomUUID() })),
    )
    await store.audit.append(EMPTY, lines)
    expect(await other.audit.deleteLines(5, 3)).toBe(3)
    expect(await everyLine(store)).toEqual(lines.slice(3))
    expect(await other.audit.deleteLines(5, 3)).toBe(2)
    expect(await other.audit.deleteLines(5, 3)).toBe(0)
    const head = headOf(lines[9] ?? EMPTY)
    expect(await store.audit.readHead()).toEqual(head)
    expect(await store.audit.append(head, chainLines(head, [some()]))).toBe('appended')
    expect((await everyLine(store)).map(({ seq }) => seq)).toEqual([6, 7, 8, 9, 10, 11])
  })

  test('While the store takes no writes, an append throws; afterwards the same writer stores its lines once', async () => {
    const [store, other] = subject().nodes
    const writer = new ChainWriter(store.audit)
    const entries = [some(), some()]
    await writer.append([some()])
    const allowWrites = await subject().refuseWrites()
    await expect(writer.append(entries)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await allowWrites()
    await expect.poll(() => writer.append(entries).then(() => 'appended', String), { timeout: 10_000 }).toBe('appended')
    expect((await everyLine(other)).map(({ line }) => (JSON.parse(line) as { id: string }).id).slice(1)).toEqual(
      entries.map(({ id }) => id),
    )
  })
}
