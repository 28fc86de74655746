/** Assertions, proofs and pushed requests, which may be used once. */
import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { PushedRequest, SpentKind } from '../../../src/domain/model/request-store.ts'
import { NOW, race, type Subject } from './subject.ts'

const someHash = (): string => randomBytes(32).toString('base64url')

function someUse(hash = someHash(), kind: SpentKind = 'assertion') {
  return { kind, hash, expiresAt: NOW + 60, attemptId: randomUUID() }
}

export function spentContract(subject: Subject): void {
  test('Of fifty concurrent uses of one assertion, on two nodes, exactly one succeeds (RFC 7523 §3)', async () => {
    const hash = someHash()
    const outcomes = await race(subject(), 50, (store) => store.spent.spend(someUse(hash)))
    expect(outcomes.filter((outcome) => outcome === 'spent')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'spent_before')).toHaveLength(49)
  })

  test('A use that the same attempt repeats after a lost response still counts as the first use, on any node', async () => {
    const [store, other] = subject().nodes
    const use = someUse()
    expect(await store.spent.spend(use)).toBe('spent')
    expect(await other.spent.spend(use)).toBe('spent')
    expect(await other.spent.spend({ ...use, attemptId: randomUUID() })).toBe('spent_before')
    expect(await store.spent.spend(use), 'a foreign attempt in between changes nothing').toBe('spent')
  })

  test('A hash that was used as one kind is not used as another kind, and a hash that was never used reads as unused', async () => {
    const [store, other] = subject().nodes
    const hash = someHash()
    await store.spent.spend(someUse(hash, 'dpop'))
    expect(await other.spent.readSpent('dpop', hash)).toBe(true)
    expect(await other.spent.readSpent('assertion', hash)).toBe(false)
    expect(await other.spent.readSpent('dpop', someHash())).toBe(false)
    expect(await other.spent.spend(someUse(hash, 'assertion'))).toBe('spent')
  })

  test('A record of a use is deleted one hour after it expires, and a record that expires later is kept', async () => {
    const [store, other] = subject().nodes
    const [over, living] = [someUse(), { ...someUse(), expiresAt: NOW + 61 }]
    for (const use of [over, living]) await store.spent.spend(use)
    expect(await store.cleaning.sweep('spent', { overFor: 3600, limit: 10, at: NOW + 3659 })).toBe(0)
    expect(await store.cleaning.sweep('spent', { overFor: 3600, limit: 10, at: NOW + 3660 })).toBe(1)
    expect(await other.spent.readSpent('assertion', over.hash)).toBe(false)
    expect(await other.spent.readSpent('assertion', living.hash)).toBe(true)
  })
}

function somePushed(): Omit<PushedRequest, 'spentAt'> {
  return { id: someHash(), clientId: randomUUID(), request: '{"scope":"a b","state":"“é”"}', expiresAt: NOW + 60 }
}

export function pushedRequestsContract(subject: Subject): void {
  test('A pushed request is stored byte for byte, and an unknown one reads as null (RFC 9126 §2)', async () => {
    const [store, other] = subject().nodes
    const pushed = somePushed()
    await store.pushedRequests.push(pushed)
    await other.pushedRequests.push(pushed)
    expect(await other.pushedRequests.readPushed(pushed.id)).toEqual({ ...pushed, spentAt: null })
    expect(await other.pushedRequests.readPushed(someHash())).toBeNull()
  })

  test('Of fifty concurrent answers to the request of a device, on two nodes, one is stored, and both nodes read it (RFC 8628 §3.3)', async () => {
    const [store, other] = subject().nodes
    const { id, ...same } = somePushed()
    await race(subject(), 50, (node) => node.pushedRequests.push({ ...same, id, request: someHash() }))
    const stored = await store.pushedRequests.readPushed(id)
    expect(await other.pushedRequests.readPushed(id)).toEqual(stored)
    await other.pushedRequests.push({ ...same, id, request: 'a later answer' })
    expect(await store.pushedRequests.readPushed(id)).toEqual(stored)
  })

  test('Of fifty concurrent uses of one pushed request, on two nodes, exactly one succeeds (RFC 9126 §4)', async () => {
    const [store] = subject().nodes
    const pushed = somePushed()
    await store.pushedRequests.push(pushed)
    const outcomes = await race(subject(), 50, (node) => node.pushedRequests.spendPushed(pushed.id, randomUUID(), NOW + 5))
    expect(outcomes.filter((outcome) => outcome === 'spent')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'spent_before')).toHaveLength(49)
    expect(await store.pushedRequests.readPushed(pushed.id)).toEqual({ ...pushed, spentAt: NOW + 5 })
  })

  test('A pushed request that the same attempt uses again reads as used by it at the first time; an unknown one reads as unknown', async () => {
    const [store, other] = subject().nodes
    const pushed = somePushed()
    await store.pushedRequests.push(pushed)
    expect(await store.pushedRequests.spendPushed(pushed.id, 'attempt-1', NOW + 5)).toBe('spent')
    expect(await other.pushedRequests.spendPushed(pushed.id, 'attempt-1', NOW + 9)).toBe('spent')
    expect(await other.pushedRequests.spendPushed(pushed.id, 'attempt-2', NOW + 9)).toBe('spent_before')
    expect((await store.pushedRequests.readPushed(pushed.id))?.spentAt).toBe(NOW + 5)
    expect(await store.pushedRequests.spendPushed(someHash(), 'attempt-1', NOW)).toBe('unknown')
  })

  test('A pushed request can be deleted once it has expired, and a used one an hour after its use', async () => {
    const [store] = subject().nodes
    const [unspent, spent, living] = [somePushed(), somePushed(), { ...somePushed(), expiresAt: NOW + 61 }]
    for (const pushed of [unspent, spent, living]) await store.pushedRequests.push(pushed)
    await store.pushedRequests.spendPushed(spent.id, 'attempt', NOW + 5)
    const sweep = (at: number) => store.cleaning.sweep('pushed_requests', { overFor: 720, limit: 10, at: at + 720 })
    expect(await sweep(NOW + 59)).toBe(0)
    expect(await sweep(NOW + 60)).toBe(1)
    expect(await store.pushedRequests.readPushed(unspent.id)).toBeNull()
    expect(await sweep(NOW + 61)).toBe(1)
    expect(await store.pushedRequests.readPushed(living.id)).toBeNull()
    expect(await sweep(NOW + 3604)).toBe(0)
    expect(await store.pushedRequests.spendPushed(spent.id, 'another attempt', NOW + 3604)).toBe('spent_before')
    expect(await sweep(NOW + 3605)).toBe(1)
    expect(await store.pushedRequests.readPushed(spent.id)).toBeNull()
  })
}
