/** Approvals of one action: each is signed once and used once, however requests race, repeat or get lost. */
import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Approval, NewApproval } from '../../../src/domain/model/approval-store.ts'
import { ASKED_WITHIN } from '../../../src/domain/model/approvals.ts'
import type { NewGrant } from '../../../src/domain/model/request-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { howMany } from '../../support/runs.ts'
import { DAY, livingGrant, NOW, newGrant, race, type Subject, someWallet } from './subject.ts'

const SIGNED_FOR = 600
/** The rounds of a race. */
const ROUNDS = howMany('TEST_APPROVAL_ROUNDS', 20)

export function someApproval(
  grant: Pick<NewGrant, 'id' | 'wallet' | 'clientId'>,
  approval: Partial<NewApproval> = {},
): NewApproval {
  return {
    grantId: grant.id,
    id: randomUUID(),
    clientId: randomUUID(),
    apps: [grant.clientId, 'https://agent.example.com/client.json'],
    wallet: grant.wallet,
    scope: 'transfer',
    summary: 'Send 120.50 USDC to 0x52908400098527886E0F7030069857D2E4169EE7',
    digest: randomBytes(32).toString('base64url'),
    userCode: randomUUID().slice(0, 8),
    expiresAt: NOW + 600,
    ...approval,
  }
}

/** What a new approval reads as. */
const asked = (approval: NewApproval, askedAt = NOW): Approval => ({
  ...approval,
  askedAt,
  answeredAt: null,
  receiptId: null,
  isLast: false,
  usedAt: null,
})

const signature = (at = NOW + 10) => ({ receiptId: randomUUID(), isLast: false, at })
const DECLINED = { receiptId: null, isLast: false, at: NOW + 10 }

const useOf = ({ clientId }: NewApproval, use: Partial<{ clientId: string; attemptId: string; at: number }> = {}) => ({
  clientId,
  attemptId: randomUUID(),
  signedFor: SIGNED_FOR,
  at: NOW + 20,
  ...use,
})

async function waiting(store: Store, approval: Partial<NewApproval> = {}): Promise<NewApproval> {
  const stored = someApproval(await livingGrant(store), approval)
  await store.approvals.ask(stored, NOW)
  return stored
}

async function signed(store: Store, approval: Partial<NewApproval> = {}): Promise<NewApproval> {
  const stored = await waiting(store, approval)
  await store.approvals.answer(stored, signature())
  return stored
}

export function askingContract(subject: Subject): void {
  test('An approval is stored byte for byte, and an unknown one reads as null', async () => {
    const [store, other] = subject().nodes
    const approval = someApproval(await livingGrant(store))
    expect(await store.approvals.ask(approval, NOW)).toEqual(asked(approval))
    expect(await other.approvals.readApproval(approval)).toEqual(asked(approval))
    expect(await other.approvals.readApproval({ ...approval, id: randomUUID() })).toBeNull()
    expect(await other.approvals.readApproval({ ...approval, grantId: randomUUID() })).toBeNull()
  })

  test('An action that is asked for again has the same row, whatever its other values and its state are', async () => {
    const [store, other] = subject().nodes
    const approval = await waiting(store)
    const again = { ...approval, digest: randomBytes(32).toString('base64url'), userCode: 'OTHER', expiresAt: NOW + 700 }
    expect(await other.approvals.ask(again, NOW + 1)).toEqual(asked(approval))
    const answer = signature()
    await store.approvals.answer(approval, answer)
    const stored = { ...asked(approval), answeredAt: answer.at, receiptId: answer.receiptId }
    expect(await other.approvals.ask(again, NOW + 11)).toEqual(stored)
    await store.grants.endGrant(approval.grantId, 'revoked', NOW + 12)
    expect(await other.approvals.ask(again, NOW + 13), 'also after the end of the grant').toEqual(stored)
  })

  test('Of sixty-four requests for one action at once, on two nodes, one is stored, and all of them get its row', async () => {
    const [store] = subject().nodes
    const approval = someApproval(await livingGrant(store))
    const rows = await race(subject(), 64, (node, index) =>
      node.approvals.ask({ ...approval, userCode: `code-${index}` }, NOW + index),
    )
    expect(rows[0]).not.toBeNull()
    for (const row of rows) expect(row).toEqual(rows[0])
    expect(await store.approvals.listWaiting(approval.wallet, { at: NOW, limit: 100 })).toEqual([rows[0]])
  })

  test('No approval is stored for a grant that has ended, has expired or does not exist', async () => {
    const [store, other] = subject().nodes
    const [ended, expired, unknown] = [await livingGrant(store), await livingGrant(store, { expiresAt: NOW + 100 }), newGrant()]
    await store.grants.endGrant(ended.id, 'revoked', NOW)
    for (const grant of [ended, expired, unknown]) {
      const approval = someApproval(grant)
      expect(await other.approvals.ask(approval, NOW + 100)).toBeNull()
      expect(await store.approvals.readApproval(approval)).toBeNull()
    }
    expect(await other.approvals.ask(someApproval(expired), NOW + 99)).not.toBeNull()
  })

  test('The waiting approvals of a wallet are listed over all its grants, the newest first, without answered and expired ones, and without those of a grant that is over', async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    const grants = [await livingGrant(store, { wallet }), await livingGrant(store, { wallet })]
    const approvals = [0, 1, 2, 3, 4].map((index) =>
      someApproval(grants[index % 2] as NewGrant, { expiresAt: NOW + 100 + index }),
    )
    for (const [index, approval] of approvals.entries()) await store.approvals.ask(approval, NOW + index)
    await waiting(store)
    const [first, declined, third, fourth, last] = approvals as [NewApproval, NewApproval, NewApproval, NewApproval, NewApproval]
    await store.approvals.answer(declined, DECLINED)
    const listed = async (at: number, limit = 10) =>
      (await other.approvals.listWaiting(wallet, { at, limit })).map(({ id }) => id)
    expect(await listed(NOW + 99)).toEqual([last.id, fourth.id, third.id, first.id])
    expect(await listed(NOW + 99, 2)).toEqual([last.id, fourth.id])
    expect(await listed(NOW + 100)).toEqual([last.id, fourth.id, third.id])
    expect(await listed(NOW + 104)).toEqual([])
    // The questions of an app that the user ended must not keep out those of other apps.
    await store.grants.endGrant(grants[0]?.id ?? '', 'user', NOW + 10)
    expect(await listed(NOW + 99)).toEqual([fourth.id])
    const brief = await livingGrant(store, { wallet, expiresAt: NOW + 50 })
    const short = someApproval(brief, { expiresAt: NOW + 100 })
    await store.approvals.ask(short, NOW + 20)
    expect(await listed(NOW + 49)).toEqual([short.id, fourth.id])
    expect(await listed(NOW + 50)).toEqual([fourth.id])
  })

  test('A waiting approval is found by its user code until it is answered or expires', async () => {
    const [store, other] = subject().nodes
    const [approval, declined] = [await waiting(store), await waiting(store)]
    expect(await other.approvals.findByUserCode(approval.userCode, NOW + 599)).toEqual(asked(approval))
    expect(await other.approvals.findByUserCode(approval.userCode, NOW + 600)).toBeNull()
    expect(await other.approvals.findByUserCode('UNKNOWN', NOW)).toBeNull()
    await store.approvals.answer(declined, DECLINED)
    expect(await other.approvals.findByUserCode(declined.userCode, NOW + 11)).toBeNull()
  })

  test('The approvals that have an answer are found among many keys, of several grants, by one call', async () => {
    const [store, other] = subject().nodes
    const approvals = await Promise.all(Array.from({ length: 30 }, () => waiting(store)))
    const answered = approvals.filter((_, index) => index % 3 !== 0)
    for (const [index, approval] of answered.entries())
      await store.approvals.answer(approval, index % 2 === 0 ? signature() : DECLINED)
    const [one, two] = answered as [NewApproval, NewApproval]
    const crossed = [
      { grantId: one.grantId, id: two.id },
      { grantId: randomUUID(), id: randomUUID() },
    ]
    const found = await other.approvals.findAnswered([...approvals, ...crossed])
    expect(found.map(({ grantId, id }) => ({ grantId, id }))).toEqual(answered.map(({ grantId, id }) => ({ grantId, id })))
    expect(await other.approvals.findAnswered([])).toEqual([])
  })

  test('What the apps of a grant asked for and what the user declined is counted for this grant alone', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const countAt = (at: number) => other.approvals.readAskedBefore(grant.id, { since: at - ASKED_WITHIN, at })
    const none = { waiting: 0, asked: 0, firstAskedAt: 0, declined: 0, lastDeclinedAt: 0, isLast: false }
    expect(await countAt(NOW)).toEqual(none)
    await waiting(store)
    const askAfter = async (seconds: number): Promise<NewApproval> => {
      const approval = someApproval(grant, { expiresAt: NOW + seconds + 600 })
      await store.approvals.ask(approval, NOW + seconds)
      return approval
    }
    const [first, second, third, fourth] = [await askAfter(0), await askAfter(60), await askAfter(120), await askAfter(180)]
    expect(await countAt(NOW + 180)).toEqual({ ...none, waiting: 4, asked: 4, firstAskedAt: NOW })
    await store.approvals.answer(first, signature(NOW + 181))
    await store.approvals.answer(second, { ...DECLINED, at: NOW + 190 })
    await store.approvals.answer(third, { ...DECLINED, at: NOW + 200 })
    const declined = { declined: 2, lastDeclinedAt: NOW + 200 }
    expect(await countAt(NOW + 779)).toEqual({ ...none, ...declined, waiting: 1, asked: 4, firstAskedAt: NOW })
    expect(await countAt(NOW + 780), 'the last one has expired').toEqual({ ...none, ...declined, asked: 4, firstAskedAt: NOW })
    expect(await countAt(NOW + 3600), 'the first one was an hour ago').toEqual({
      ...none,
      ...declined,
      asked: 3,
      firstAskedAt: NOW + 60,
    })
    expect(await countAt(NOW + 3795), 'the declined ones count together, until an hour after the last').toEqual({
      ...none,
      ...declined,
    })
    const late = await askAfter(3795)
    await store.approvals.answer(late, { receiptId: null, isLast: true, at: NOW + 3796 })
    expect(await countAt(NOW + 3800), 'the first declined one is more than an hour before the last').toEqual({
      ...none,
      asked: 1,
      firstAskedAt: NOW + 3795,
      declined: 2,
      lastDeclinedAt: NOW + 3796,
      isLast: true,
    })
    expect(await store.approvals.answer(fourth, signature(NOW + 3800))).toBe('too_late')
  })
}

export function answersContract(subject: Subject): void {
  test('A signature and a refusal are stored, with their time', async () => {
    const [store, other] = subject().nodes
    const [approval, declined] = [await waiting(store), await waiting(store)]
    const answer = signature(NOW + 599)
    expect(await store.approvals.answer(approval, answer)).toBe('answered')
    expect(await store.approvals.answer(declined, DECLINED)).toBe('answered')
    expect(await other.approvals.readApproval(approval)).toEqual({
      ...asked(approval),
      answeredAt: NOW + 599,
      receiptId: answer.receiptId,
    })
    expect(await other.approvals.readApproval(declined)).toEqual({ ...asked(declined), answeredAt: NOW + 10 })
  })

  test('A user who wants no more questions from a grant keeps the row until the grant ends', async () => {
    const [store, other] = subject().nodes
    const grant = await livingGrant(store)
    const approval = someApproval(grant)
    await store.approvals.ask(approval, NOW)
    expect(await store.approvals.answer(approval, { ...DECLINED, isLast: true })).toBe('answered')
    const stored = { ...asked(approval), answeredAt: NOW + 10, isLast: true, expiresAt: grant.expiresAt }
    expect(await other.approvals.readApproval(approval)).toEqual(stored)
    expect(await store.cleaning.sweep('approvals', { overFor: 0, limit: 10, at: grant.expiresAt - 1 })).toBe(0)
    expect(await other.approvals.readAskedBefore(grant.id, { since: NOW + DAY, at: NOW + DAY })).toMatchObject({ isLast: true })
  })

  test('An answer that is repeated after a lost result is answered again, also late, and another answer changes nothing', async () => {
    const [store, other] = subject().nodes
    const answers = [signature(), DECLINED, { ...DECLINED, isLast: true }]
    for (const answer of answers) {
      const approval = await waiting(store)
      expect(await store.approvals.answer(approval, answer)).toBe('answered')
      const stored = await other.approvals.readApproval(approval)
      expect(await other.approvals.answer(approval, { ...answer, at: NOW + 5000 })).toBe('answered')
      for (const another of [signature(), ...answers.filter((each) => each !== answer)])
        expect(await other.approvals.answer(approval, another)).toBe('answered_before')
      expect(await store.approvals.readApproval(approval)).toEqual(stored)
    }
  })

  test('An approval can be answered until it expires, and an unknown one cannot', async () => {
    const [store] = subject().nodes
    const approval = await waiting(store)
    expect(await store.approvals.answer(approval, signature(NOW + 600))).toBe('too_late')
    expect(await store.approvals.readApproval(approval)).toEqual(asked(approval))
    expect(await store.approvals.answer({ ...approval, id: randomUUID() }, signature())).toBe('unknown')
    expect(await store.approvals.answer({ ...approval, grantId: randomUUID() }, signature())).toBe('unknown')
  })

  test('Of sixty-four answers at once, on two nodes, one is stored and stays', async () => {
    const [store] = subject().nodes
    const approval = await waiting(store)
    const answers = Array.from({ length: 64 }, () => signature())
    const outcomes = await race(subject(), 64, (node, index) => node.approvals.answer(approval, answers[index] ?? DECLINED))
    expect(outcomes.filter((outcome) => outcome === 'answered')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'answered_before')).toHaveLength(63)
    const { receiptId } = answers[outcomes.indexOf('answered')] ?? DECLINED
    expect(await store.approvals.readApproval(approval)).toMatchObject({ receiptId })
  })
}

export function usesContract(subject: Subject): void {
  test('A signed approval is used once, by one attempt', async () => {
    const [store, other] = subject().nodes
    const approval = await signed(store)
    const stored = await store.approvals.readApproval(approval)
    const used = { ...stored, usedAt: NOW + 20 }
    const use = useOf(approval)
    expect(await store.approvals.useApproval(approval, use)).toEqual({ kind: 'used', approval: used })
    expect(await other.approvals.readApproval(approval)).toEqual(used)
    expect(await other.approvals.useApproval(approval, useOf(approval))).toEqual({ kind: 'used_before' })
    expect(await other.approvals.readApproval(approval)).toEqual(used)
  })

  test('A use that is repeated after a lost result is used again, also late and after the end of the grant', async () => {
    const [store, other] = subject().nodes
    const approval = await signed(store)
    const use = useOf(approval)
    const first = await store.approvals.useApproval(approval, use)
    expect(first.kind).toBe('used')
    expect(await other.approvals.useApproval(approval, { ...use, at: NOW + 5000 })).toEqual(first)
    await store.grants.endGrant(approval.grantId, 'revoked', NOW + 30)
    expect(await other.approvals.useApproval(approval, { ...use, at: NOW + 5000 })).toEqual(first)
    expect(await other.approvals.useApproval(approval, useOf(approval))).toEqual({ kind: 'used_before' })
  })

  test("Another API's approval and an unknown one read as unknown, whatever their state and the attempt are", async () => {
    const [store, other] = subject().nodes
    const approval = await signed(store)
    const use = useOf(approval)
    const foreign = { ...use, clientId: randomUUID() }
    expect(await other.approvals.useApproval(approval, foreign)).toEqual({ kind: 'unknown' })
    await store.approvals.useApproval(approval, use)
    expect(await other.approvals.useApproval(approval, foreign)).toEqual({ kind: 'unknown' })
    expect(await other.approvals.useApproval({ ...approval, id: randomUUID() }, use)).toEqual({ kind: 'unknown' })
    expect(await other.approvals.useApproval({ ...approval, grantId: randomUUID() }, use)).toEqual({ kind: 'unknown' })
  })

  test('An approval cannot be used before it is signed, after it was declined, or later than it may be used', async () => {
    const [store, other] = subject().nodes
    const [unanswered, declined, late] = [await waiting(store), await waiting(store), await signed(store)]
    await store.approvals.answer(declined, DECLINED)
    const refused = async (approval: NewApproval, at: number) => {
      const stored = await store.approvals.readApproval(approval)
      const outcome = { kind: 'not_usable', approval: stored }
      expect(await other.approvals.useApproval(approval, useOf(approval, { at }))).toEqual(outcome)
      expect(await store.approvals.readApproval(approval)).toEqual(stored)
    }
    await refused(unanswered, NOW + 20)
    await refused(declined, NOW + 20)
    await refused(late, NOW + 10 + SIGNED_FOR)
    const inTime = useOf(late, { at: NOW + 10 + SIGNED_FOR - 1 })
    expect(await other.approvals.useApproval(late, inTime)).toMatchObject({ kind: 'used' })
  })

  test('An approval cannot be used once its grant has ended or expired, alone or with others', async () => {
    const [store, other] = subject().nodes
    const short = someApproval(await livingGrant(store, { expiresAt: NOW + 100 }))
    await store.approvals.ask(short, NOW)
    await store.approvals.answer(short, signature())
    const [ended, together] = [await signed(store), await signed(store)]
    await store.grants.endGrant(ended.grantId, 'revoked', NOW + 15)
    await store.grants.endGrants([together.grantId], { reason: 'user', attemptId: randomUUID(), at: NOW + 15 })
    for (const approval of [short, ended, together]) {
      const stored = await store.approvals.readApproval(approval)
      expect(stored?.receiptId).not.toBeNull()
      const outcome = { kind: 'not_usable', approval: stored }
      expect(await other.approvals.useApproval(approval, useOf(approval, { at: NOW + 100 }))).toEqual(outcome)
    }
    expect(await other.approvals.useApproval(short, useOf(short, { at: NOW + 99 }))).toMatchObject({ kind: 'used' })
  })

  test(`Of sixty-four uses at once, on two nodes, exactly one attempt uses the approval, in each of ${ROUNDS} rounds`, async () => {
    const [store] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const approval = await signed(store)
      const outcomes = await race(subject(), 64, (node) => node.approvals.useApproval(approval, useOf(approval)))
      expect(outcomes.filter(({ kind }) => kind === 'used')).toHaveLength(1)
      expect(outcomes.filter(({ kind }) => kind === 'used_before')).toHaveLength(63)
    }
  }, 600_000)

  test('If uses race with the end of the grant or a refusal, at most one attempt uses the approval, and none begins later', async () => {
    const [store, other] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const approval = await signed(store)
      const { grantId } = approval
      const endings: (() => Promise<unknown>)[] = [
        () => other.grants.endGrant(grantId, 'revoked', NOW + 20),
        () => other.grants.endGrants([grantId], { reason: 'user', attemptId: randomUUID(), at: NOW + 20 }),
      ]
      const ending = endings[round % 2]?.()
      const attempts = Array.from({ length: 8 }, () => useOf(approval))
      const outcomes = await Promise.all(
        attempts.map((use, index) => (index % 2 === 0 ? store : other).approvals.useApproval(approval, use)),
      )
      await ending
      const kinds = outcomes.map(({ kind }) => kind)
      const usedBy = attempts[kinds.indexOf('used')]
      expect(kinds.filter((kind) => kind === 'used').length).toBeLessThanOrEqual(1)
      const after = await store.approvals.useApproval(approval, useOf(approval))
      expect(after.kind).toBe(usedBy ? 'used_before' : 'not_usable')
      if (usedBy) expect((await other.approvals.useApproval(approval, usedBy)).kind).toBe('used')
    }
  }, 600_000)

  test('If a signature races with a refusal, the approval can be used exactly if the signature was stored', async () => {
    const [store, other] = subject().nodes
    for (let round = 0; round < ROUNDS; round++) {
      const approval = await waiting(store)
      const answers = [() => store.approvals.answer(approval, signature()), () => other.approvals.answer(approval, DECLINED)]
      const inOrder = round % 2 === 0 ? answers : answers.toReversed()
      const outcomes = await Promise.all(inOrder.map((answer) => answer()))
      expect(new Set(outcomes)).toEqual(new Set(['answered', 'answered_before']))
      const isSigned = outcomes[round % 2] === 'answered'
      const { kind } = await store.approvals.useApproval(approval, useOf(approval))
      expect(kind).toBe(isSigned ? 'used' : 'not_usable')
    }
  }, 600_000)

  test('An approval that is deleted while it is used is used once or not at all, and then reads as unknown', async () => {
    const [store, other] = subject().nodes
    const approval = await signed(store)
    const uses = Promise.all(Array.from({ length: 8 }, () => store.approvals.useApproval(approval, useOf(approval))))
    const swept = other.cleaning.sweep('approvals', { overFor: 0, limit: 10, at: approval.expiresAt })
    const kinds = (await uses).map(({ kind }) => kind)
    expect(await swept).toBe(1)
    expect(kinds.filter((kind) => kind === 'used').length).toBeLessThanOrEqual(1)
    expect(await store.approvals.useApproval(approval, useOf(approval))).toEqual({ kind: 'unknown' })
  })

  test('An approval can be deleted from its expiry, answered or not, and not before', async () => {
    const [store, other] = subject().nodes
    const over = [await waiting(store), await signed(store)]
    const later = await waiting(store, { expiresAt: NOW + 601 })
    const sweep = (at: number) => store.cleaning.sweep('approvals', { overFor: 3600, limit: 10, at: at + 3600 })
    expect(await sweep(NOW + 599)).toBe(0)
    expect(await sweep(NOW + 600)).toBe(2)
    for (const approval of over) expect(await other.approvals.readApproval(approval)).toBeNull()
    expect(await other.approvals.readApproval(later)).toEqual(asked(later))
  })

  test('An approval outlives its grant, and the attempt that used it gets its result then too', async () => {
    const [store, other] = subject().nodes
    const approval = await signed(store)
    const use = useOf(approval)
    const first = await store.approvals.useApproval(approval, use)
    await store.grants.endGrant(approval.grantId, 'revoked', NOW + 30)
    expect(await store.cleaning.sweep('grants', { overFor: 0, limit: 10, at: NOW + 30 })).toBe(1)
    expect(await other.approvals.useApproval(approval, use)).toEqual(first)
    expect(await other.approvals.useApproval(approval, useOf(approval))).toEqual({ kind: 'used_before' })
  })

  test('After a restart approvals read as before, and a used one is still refused to another attempt', async () => {
    const [store] = subject().nodes
    const [unanswered, used] = [await waiting(store), await signed(store)]
    const use = useOf(used)
    const first = await store.approvals.useApproval(used, use)
    const rows = await Promise.all([unanswered, used].map((approval) => store.approvals.readApproval(approval)))
    const restarted = await subject().restart()
    expect(await Promise.all([unanswered, used].map((approval) => restarted.approvals.readApproval(approval)))).toEqual(rows)
    expect(await restarted.approvals.useApproval(used, use)).toEqual(first)
    expect(await restarted.approvals.useApproval(used, useOf(used))).toEqual({ kind: 'used_before' })
  })
}
