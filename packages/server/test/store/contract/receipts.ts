/** Receipts: texts that wallets signed. They are stored by wallet, and can be withdrawn but not changed. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { endGrantsOfWallet } from '../../../src/domain/consent/end-grants.ts'
import type { ReceiptPage } from '../../../src/domain/model/pages.ts'
import type { Receipt } from '../../../src/domain/model/records.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { bytesOf, NOW, race, type Subject, someReceipt, someWallet } from './subject.ts'

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const sealedBy = (request: number) => bytesOf(`sealed-${request}`)

export function receiptsContract(subject: Subject): void {
  test('A receipt reads exactly as it was stored, and only under its own wallet', async () => {
    const [store, other] = subject().nodes
    const receipt = someReceipt({ scopes: ['a.b', 'c'], resources: [], walletKind: 'contract', sealed: EVERY_BYTE })
    expect(await store.receipts.insertReceipt(receipt, 0)).toBe('inserted')
    expect(await other.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual(receipt)
    expect(await other.receipts.readReceipt(someWallet(), receipt.id)).toBeNull()
    expect(await other.receipts.readReceipt(receipt.wallet, randomUUID())).toBeNull()
  })

  test('If fifty requests store one signed text at once, on two nodes, one receipt is stored', async () => {
    const receipt = someReceipt()
    const outcomes = await race(subject(), 50, (store, index) =>
      store.receipts.insertReceipt({ ...receipt, checkedAt: NOW + index, sealed: sealedBy(index) }, 0),
    )
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'taken')).toHaveLength(49)
    const first = outcomes.indexOf('inserted')
    expect(await subject().nodes[1].receipts.readReceipt(receipt.wallet, receipt.id)).toEqual({
      ...receipt,
      checkedAt: NOW + first,
      sealed: sealedBy(first),
    })
  })

  test('Deleting receipts deletes those of the wallet that are named, withdrawn or not, and can be repeated', async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    const [kept, deleted, withdrawn] = [someReceipt({ wallet }), someReceipt({ wallet }), someReceipt({ wallet })]
    for (const receipt of [kept, deleted, withdrawn]) await store.receipts.insertReceipt(receipt, 0)
    await store.receipts.withdrawReceipt(wallet, withdrawn.id, NOW)
    await store.receipts.deleteReceipts(someWallet(), [kept.id])
    for (const node of [store, other]) await node.receipts.deleteReceipts(wallet, [deleted.id, withdrawn.id, randomUUID()])
    const found = await Promise.all([kept, deleted, withdrawn].map(({ id }) => other.receipts.readReceipt(wallet, id)))
    expect(found).toEqual([kept, null, null])
  })

  test('A receipt is not stored if its wallet has raised its epoch since the proof', async () => {
    const [store, other] = subject().nodes
    const receipt = someReceipt()
    await other.wallets.raiseEpoch(receipt.wallet)
    expect(await store.receipts.insertReceipt(receipt, 0)).toBe('ended')
    expect(await other.receipts.readReceipt(receipt.wallet, receipt.id)).toBeNull()
    expect(await store.receipts.insertReceipt(receipt, 1)).toBe('inserted')
  })

  test('A receipt that is stored while its wallet ends everything is withdrawn or refused', async () => {
    for (let round = 0; round < 20; round++) {
      const receipt = someReceipt()
      const [outcomes] = await Promise.all([
        race(subject(), 4, (store, index) => store.receipts.insertReceipt({ ...receipt, id: `${round} ${index}` }, 0)),
        endGrantsOfWallet(subject().nodes[round % 2 === 0 ? 0 : 1], receipt.wallet, undefined, () => NOW),
      ])
      expect(await subject().nodes[0].receipts.listReceipts(receipt.wallet, { limit: 50 })).toEqual([])
      for (const outcome of outcomes) expect(['inserted', 'ended']).toContain(outcome)
    }
  })

  test('Repeating the insert of a receipt after a lost response reads as inserted, and stores it once', async () => {
    const receipt = someReceipt()
    const outcomes = await race(subject(), 10, (store) => store.receipts.insertReceipt(receipt, 0))
    expect(new Set(outcomes)).toEqual(new Set(['inserted']))
    const [store] = subject().nodes
    expect(await store.receipts.listReceipts(receipt.wallet, { limit: 10 })).toEqual([receipt])
    // Bytes that are longer, shorter, or different.
    for (const sealed of [Buffer.concat([receipt.sealed, Buffer.of(0)]), receipt.sealed.subarray(1), sealedBy(1)])
      expect(await store.receipts.insertReceipt({ ...receipt, sealed }, 0)).toBe('taken')
    expect(await store.receipts.insertReceipt({ ...receipt, sealed: Uint8Array.from(receipt.sealed) }, 0)).toBe('inserted')
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual(receipt)
  })

  test('A withdrawn receipt stays withdrawn if the same signed text is stored again', async () => {
    const [store] = subject().nodes
    const receipt = await storeReceipt(store)
    await store.receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW + 5)
    expect(await store.receipts.insertReceipt(receipt, 0)).toBe('taken')
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual({ ...receipt, withdrawnAt: NOW + 5 })
  })

  test('A list contains the active or the withdrawn receipts of one wallet, by client and then newest first, up to its limit', async () => {
    const [store] = subject().nodes
    const wallet = someWallet()
    const [clientId = '', other = ''] = [randomUUID(), randomUUID()].toSorted().toReversed()
    const second = await storeReceipt(store, { wallet, clientId, issuedAt: NOW + 1 })
    const last = await storeReceipt(store, { wallet, clientId: other, issuedAt: NOW + 9 })
    const gone = await storeReceipt(store, { wallet, clientId, issuedAt: NOW + 3 })
    const first = await storeReceipt(store, { wallet, clientId, issuedAt: NOW + 2 })
    await storeReceipt(store, { clientId })
    await store.receipts.withdrawReceipt(wallet, gone.id, NOW + 9)
    const list = async (page: ReceiptPage) => (await store.receipts.listReceipts(wallet, page)).map(({ id }) => id)
    expect(await list({ limit: 10 })).toEqual([first.id, second.id, last.id])
    expect(await list({ limit: 2 })).toEqual([first.id, second.id])
    expect(await list({ clientId, limit: 1 }), 'a withdrawn one takes no place').toEqual([first.id])
    expect(await list({ clientId, state: 'standing', limit: 10 })).toEqual([first.id, second.id])
    expect(await list({ state: 'withdrawn', limit: 10 })).toEqual([gone.id])
    expect(await list({ clientId: other, state: 'withdrawn', limit: 10 })).toEqual([])
    expect(await list({ clientId: '', limit: 10 }), 'no client is no wildcard').toEqual([])
    expect(await store.receipts.listReceipts(wallet, { state: 'withdrawn', limit: 1 })).toEqual([
      { ...gone, withdrawnAt: NOW + 9 },
    ])
  })

  test("A wallet's receipts, of all clients or of one, active or withdrawn, are listed completely page by page", async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    const clients = [randomUUID(), '', randomUUID()]
    const receipts: Receipt[] = []
    for (let index = 0; index < 60; index++)
      receipts.push(
        await storeReceipt(store, { wallet, clientId: clients[index % 3] ?? '', issuedAt: NOW + Math.floor(index / 9) }),
      )
    const withdrawn = receipts.filter((_, index) => index % 4 === 0).map(({ id }) => id)
    await store.receipts.withdrawReceipts(wallet, withdrawn, NOW + 5)
    for (const of of [{}, { state: 'withdrawn' }, { clientId: clients[0] }, { clientId: '', state: 'withdrawn' }] as const) {
      const all = await store.receipts.listReceipts(wallet, { ...of, limit: 100 })
      const paged: Receipt[] = []
      for (let page = all.slice(0, 4); page.length > 0; paged.push(...page))
        page = await other.receipts.listReceipts(wallet, { ...of, limit: 4, after: paged.at(-1) })
      expect(paged).toEqual(all)
      expect(all.length).toBeGreaterThanOrEqual(5)
    }
  })

  test('Withdrawing one receipt withdraws no other one, and a second withdrawal does not change its time', async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    const [receipt, bystander] = [await storeReceipt(store, { wallet }), await storeReceipt(store, { wallet })]
    await store.receipts.withdrawReceipt(wallet, receipt.id, NOW + 5)
    await other.receipts.withdrawReceipt(wallet, receipt.id, NOW + 6)
    expect(await store.receipts.readReceipt(wallet, receipt.id)).toEqual({ ...receipt, withdrawnAt: NOW + 5 })
    expect(await store.receipts.readReceipt(wallet, bystander.id)).toEqual(bystander)
  })

  test("A wallet cannot withdraw or change another wallet's receipt, and withdrawing an unknown receipt changes nothing", async () => {
    const [store] = subject().nodes
    const receipt = await storeReceipt(store)
    await store.receipts.withdrawReceipt(someWallet(), receipt.id, NOW)
    await store.receipts.withdrawReceipts(someWallet(), [receipt.id], NOW)
    await store.receipts.noteReceiptCheck(someWallet(), receipt.id, NOW + 9)
    await store.receipts.withdrawReceipt(receipt.wallet, randomUUID(), NOW)
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual(receipt)
    expect(await store.receipts.listReceipts(receipt.wallet, { limit: 10 })).toHaveLength(1)
  })

  test('Withdrawing several receipts withdraws exactly these, and does not change the time of one that was withdrawn before', async () => {
    const [store, other] = subject().nodes
    const wallet = someWallet()
    const receipts = [
      await storeReceipt(store, { wallet }),
      await storeReceipt(store, { wallet }),
      await storeReceipt(store, { wallet }),
    ]
    const [first, second, bystander] = receipts.map(({ id }) => id)
    await store.receipts.withdrawReceipt(wallet, first ?? '', NOW + 5)
    await other.receipts.withdrawReceipts(wallet, [first ?? '', second ?? '', randomUUID()], NOW + 6)
    await other.receipts.withdrawReceipts(wallet, [], NOW + 6)
    const times = await Promise.all(
      [first, second, bystander].map(async (id) => (await store.receipts.readReceipt(wallet, id ?? ''))?.withdrawnAt),
    )
    expect(times).toEqual([NOW + 5, NOW + 6, null])
  })

  test("A check of a contract wallet's signature moves the time of its last check forward, never back", async () => {
    const [store] = subject().nodes
    const receipt = await storeReceipt(store, { walletKind: 'contract' })
    await store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, NOW + 60)
    await store.receipts.noteReceiptCheck(receipt.wallet, receipt.id, NOW + 30)
    expect(await store.receipts.readReceipt(receipt.wallet, receipt.id)).toEqual({ ...receipt, checkedAt: NOW + 60 })
  })
}

async function storeReceipt(store: Store, receipt: Partial<Receipt> = {}): Promise<Receipt> {
  const whole = someReceipt(receipt)
  await store.receipts.insertReceipt(whole, 0)
  return whole
}
