/** Receipts: texts that wallets signed, kept by wallet, withdrawn but never changed. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Receipt } from '../../../src/grants/model.ts'
import type { Store } from '../../../src/grants/ports.ts'
import { NOW, race, type Subject, someReceipt, someWallet } from './subject.ts'

export function receiptsContract(subject: Subject): void {
  test('a receipt is kept as it was signed, to the letter, and shown to its own wallet only', async () => {
    const [store, other] = subject().nodes
    const receipt = someReceipt({ scopes: ['a.b', 'c'], resources: [], walletKind: 'contract', sealed: 'é\n"%' })
    expect(await store.receipts.insertReceipt(receipt)).toBe('inserted')
    expect(await other.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual(receipt)
    expect(await other.receipts.readReceipt(someWallet(), receipt.id)).toBeNull()
    expect(await other.receipts.readReceipt(receipt.wallet, randomUUID())).toBeNull()
  })

  test('one signed text brought by fifty requests at once, on two nodes, is one receipt', async () => {
    const receipt = someReceipt()
    const outcomes = await race(subject(), 50, (store, index) =>
      store.receipts.insertReceipt({ ...receipt, checkedAt: NOW + index, sealed: `sealed-${index}` }),
    )
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(49)
    const first = outcomes.indexOf('inserted')
    expect(await subject().nodes[1].receipts.readReceipt(receipt.wallet, receipt.id)).toEqual({
      ...receipt,
      checkedAt: NOW + first,
      sealed: `sealed-${first}`,
    })
  })

  test('a receipt whose answer was lost is put by the same request again, and still counts as put by it, once', async () => {
    const receipt = someReceipt()
    const outcomes = await race(subject(), 10, (store) => store.receipts.insertReceipt(receipt))
    expect(new Set(outcomes)).toEqual(new Set(['inserted']))
    const [store] = subject().nodes
    expect(await store.receipts.listReceipts(receipt.wallet, { limit: 10 })).toEqual([receipt])
    expect(await store.receipts.insertReceipt({ ...receipt, sealed: 'sealed by another request' })).toBe('taken')
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual(receipt)
  })

  test('a withdrawn text signed again by its bytes stays withdrawn', async () => {
    const [store] = subject().nodes
    const receipt = await kept(store)
    await store.receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW + 5)
    expect(await store.receipts.insertReceipt(receipt)).toBe('taken')
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual({ ...receipt, withdrawnAt: NOW + 5 })
  })

  test('a list holds one wallet’s receipts, withdrawn ones included, the youngest first, at most so many', async () => {
    const [store] = subject().nodes
    const [wallet, clientId] = [someWallet(), randomUUID()]
    const second = await kept(store, { wallet, clientId, issuedAt: NOW + 1 })
    const first = await kept(store, { wallet, issuedAt: NOW })
    const third = await kept(store, { wallet, clientId, issuedAt: NOW + 2 })
    await kept(store, { clientId })
    await store.receipts.withdrawReceipt(wallet, third.id, NOW + 9)
    const list = async (of: { clientId?: string; standing?: boolean; limit: number }) =>
      (await store.receipts.listReceipts(wallet, of)).map(({ id }) => id)
    expect(await list({ limit: 10 })).toEqual([third.id, second.id, first.id])
    expect(await list({ limit: 2 })).toEqual([third.id, second.id])
    expect(await list({ clientId, limit: 10 })).toEqual([third.id, second.id])
    expect(await list({ standing: true, limit: 1 }), 'a withdrawn one takes no place').toEqual([second.id])
    expect(await list({ clientId: randomUUID(), limit: 10 })).toEqual([])
    expect(await list({ clientId: '', limit: 10 }), 'no client is no wildcard').toEqual([])
    expect((await store.receipts.listReceipts(wallet, { limit: 1 }))[0]).toEqual({ ...third, withdrawnAt: NOW + 9 })
  })

  test('withdrawing one receipt withdraws it alone, once: the first time stays', async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    const [receipt, bystander] = [await kept(store, { wallet }), await kept(store, { wallet })]
    await store.receipts.withdrawReceipt(wallet, receipt.id, NOW + 5)
    await other.receipts.withdrawReceipt(wallet, receipt.id, NOW + 6)
    expect(await store.receipts.readReceipt(wallet, receipt.id)).toEqual({ ...receipt, withdrawnAt: NOW + 5 })
    expect(await store.receipts.readReceipt(wallet, bystander.id)).toEqual(bystander)
  })

  test('another wallet withdraws nothing of this one, and nothing that is not there', async () => {
    const [store] = subject().nodes
    const receipt = await kept(store)
    await store.receipts.withdrawReceipt(someWallet(), receipt.id, NOW)
    await store.receipts.withdrawReceipts({ wallet: someWallet(), clientId: receipt.clientId }, NOW)
    await store.receipts.noteReceiptCheck(someWallet(), receipt.id, NOW + 9)
    await store.receipts.withdrawReceipt(receipt.wallet, randomUUID(), NOW)
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual(receipt)
    expect(await store.receipts.listReceipts(receipt.wallet, { limit: 10 })).toHaveLength(1)
  })

  test('a wallet withdraws everything, or what it signed for one app, or what names a scope, or all but one', async () => {
    const [store] = subject().nodes
    const clientId = randomUUID()
    const cases: [Omit<Parameters<Store['receipts']['withdrawReceipts']>[0], 'wallet'>, boolean[]][] = [
      [{}, [true, true, true]],
      [{ clientId }, [true, true, false]],
      [{ naming: ['files'] }, [false, true, true]],
      [{ clientId, naming: ['files'] }, [false, true, false]],
      [{ naming: ['admin', 'profile'] }, [true, false, false]],
      [{ naming: ['file'] }, [false, false, false]],
      [{ naming: [] }, [false, false, false]],
      [{ clientId: '' }, [false, false, false]],
    ]
    for (const [of, withdrawn] of cases) {
      const wallet = someWallet()
      const receipts = [
        await kept(store, { wallet, clientId, scopes: ['enhancement', 'profile'] }),
        await kept(store, { wallet, clientId, scopes: ['enhancement', 'files'] }),
        await kept(store, { wallet, scopes: ['files'] }),
      ]
      const state = async () =>
        Promise.all(receipts.map(async ({ id }) => (await store.receipts.readReceipt(wallet, id))?.withdrawnAt === NOW + 5))
      await store.receipts.withdrawReceipts({ wallet, ...of }, NOW + 5)
      await store.receipts.withdrawReceipts({ wallet, ...of }, NOW + 6)
      expect(await state(), `of ${JSON.stringify(of)}`).toEqual(withdrawn)
    }
    const wallet = someWallet()
    const [one, other] = [await kept(store, { wallet }), await kept(store, { wallet })]
    await store.receipts.withdrawReceipts({ wallet, except: one.id }, NOW + 5)
    expect(await store.receipts.readReceipt(wallet, one.id)).toEqual(one)
    expect(await store.receipts.readReceipt(wallet, other.id)).toEqual({ ...other, withdrawnAt: NOW + 5 })
  })

  test('a check of a contract wallet’s signature moves its time forward, never back', async () => {
    const [store] = subject().nodes
    const receipt = await kept(store, { walletKind: 'contract' })
    await store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, NOW + 60)
    await store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, NOW + 30)
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual({ ...receipt, checkedAt: NOW + 60 })
  })
}

async function kept(store: Store, receipt: Partial<Receipt> = {}): Promise<Receipt> {
  const whole = someReceipt(receipt)
  await store.receipts.insertReceipt(whole)
  return whole
}
