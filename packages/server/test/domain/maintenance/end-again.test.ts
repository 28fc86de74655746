/** What the log has not: complete addresses, ids that look like secrets, and lines that are whole. */
import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { appendEntries } from '../../../src/domain/audit/chain.ts'
import { newEntry } from '../../../src/domain/audit/entry.ts'
import { compareWithLog, readLog } from '../../../src/domain/maintenance/end-again.ts'
import { createLogger } from '../../../src/observability/log/logger.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { shortenAddress } from '../../../src/protocol/wallet/address.ts'
import { livingGrant, NOW, someReceipt, someWallet } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

/** The log of one event, as a server writes it. */
async function logOf(event: Record<string, string>) {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  logger.child({ log: 'audit' }).info(event, 'audit')
  return readLines(lines)
}

function readLines(lines: string[]) {
  const texts = async function* () {
    yield* lines
  }
  return readLog(texts(), () => NOW * 1000)
}

test('If the log does not have the id of the app that a user ended, all grants of the wallet end', async () => {
  const [store] = await openTwoNodes()
  const [wallet, other] = [someWallet(), someWallet()]
  const selfRegistered = `grd.${'x'.repeat(60)}`
  const grants = [
    await livingGrant(store, { wallet, clientId: selfRegistered }),
    await livingGrant(store, { wallet, clientId: 'another' }),
    await livingGrant(store, { wallet: other, clientId: selfRegistered }),
  ]
  const log = await logOf({ event: 'app_ended', client_id: selfRegistered, wallet: shortenAddress(wallet) })
  expect(log.effects).toMatchObject([{ clientId: undefined }])
  const parts = { store, waiting: null, now: () => NOW }
  expect(await compareWithLog(parts, log, { ends: true })).toMatchObject({ revived: { grants: 2 }, acts: [] })
  const ended = await Promise.all(grants.map(async ({ id }) => (await store.grants.readGrant(id))?.endReason))
  expect(ended).toEqual(['restored', 'restored', null])
})

test('If the log does not have the client of a revoked token without a grant, an operator must act', async () => {
  const [store] = await openTwoNodes()
  const log = await logOf({ event: 'client_token_revoked', client_id: `grd.${'x'.repeat(60)}`, jti: 'j' })
  expect((await compareWithLog({ store, waiting: null, now: () => NOW }, log, { ends: true })).acts).toHaveLength(1)
})

test('If the trail has the line, only the wallet of the event is compared, and not one that is shortened alike', async () => {
  const [store] = await openTwoNodes()
  const attacker = someWallet()
  const victim = `${attacker.slice(0, 6)}${'0'.repeat(32)}${attacker.slice(-4)}` as Address
  const grant = await livingGrant(store, { wallet: victim })
  const entry = newEntry({ at: NOW, event: 'everything_ended', wallet: attacker })
  const log = await logOf({ event: 'everything_ended', wallet: shortenAddress(attacker), audit_id: entry.id })
  const parts = { store, waiting: null, now: () => NOW }
  expect((await compareWithLog(parts, log, { ends: false })).revived, 'without the line').toMatchObject({ grants: 1 })
  await appendEntries(store.audit, [entry])
  expect((await compareWithLog(parts, log, { ends: true })).revived).toMatchObject({ grants: 0 })
  expect((await store.grants.readGrant(grant.id))?.endedAt).toBeNull()
})

test('If the trail has the line of an app that registered itself, only the grants of this app end', async () => {
  const [store] = await openTwoNodes()
  const wallet = someWallet()
  const clientId = `grd.${'x'.repeat(60)}`
  await livingGrant(store, { wallet, clientId })
  await livingGrant(store, { wallet, clientId: 'another' })
  const entry = newEntry({ at: NOW, event: 'app_ended', wallet, clientId })
  await appendEntries(store.audit, [entry])
  const log = await logOf({ event: 'app_ended', client_id: clientId, wallet: shortenAddress(wallet), audit_id: entry.id })
  expect((await compareWithLog({ store, waiting: null, now: () => NOW }, log, { ends: true })).revived).toMatchObject({
    grants: 1,
  })
})

const LINE = `{"level":"info","time":"2026-11-26T18:59:26.123Z","log":"audit","event":"grant_ended","grant_id":"${randomUUID()}"}`

test.each([
  { what: 'is cut', text: LINE.slice(0, 90) },
  { what: 'is cut before it is known to be of the audit log', text: LINE.slice(0, 50) },
  { what: 'is mixed with another', text: `${LINE.slice(0, 90)}${LINE}` },
  { what: 'has an event that this version does not have', text: LINE.replace('grant_ended', 'other') },
])('A line that $what is counted, because it can be an ending', async ({ text }) => {
  expect(await readLines([text, LINE])).toMatchObject({ lines: 1, unreadable: 1, firstUnreadable: text })
})

test('A line after a prefix with a brace is read', async () => {
  expect(await readLines([`{app="grantor"} ${LINE}`])).toMatchObject({
    lines: 1,
    unreadable: 0,
    effects: [{ event: 'grant_ended' }],
  })
})

test('A line of another log that contains the mark of the audit log within a member has no effect', async () => {
  expect(await readLines([`{"request":{"log":"audit"},"event":"grant_ended","time":"2026-11-26T18:59:26Z"}`])).toMatchObject({
    lines: 0,
    effects: [],
  })
})

test('A wallet whose ellipsis a collector changed is compared', async () => {
  const [store] = await openTwoNodes()
  const { wallet } = await livingGrant(store, { wallet: someWallet() })
  const log = await logOf({ event: 'everything_ended', wallet: shortenAddress(wallet).replace('…', '\u00e2\u20ac\u00a6') })
  expect((await compareWithLog({ store, waiting: null, now: () => NOW }, log, { ends: false })).revived).toMatchObject({
    grants: 1,
  })
})

test.each([{ event: 'everything_ended' }, { event: 'grant_ended' }])(
  'A line of $event that does not name what ended is listed for an operator',
  async ({ event }) => {
    const [store] = await openTwoNodes()
    const log = await logOf({ event })
    const { acts } = await compareWithLog({ store, waiting: null, now: () => NOW }, log, { ends: false })
    expect(acts).toEqual([expect.stringContaining(event)])
  },
)

test('Many lines of one wallet are compared with its rows once', async () => {
  const [store] = await openTwoNodes()
  const { wallet } = await livingGrant(store, { wallet: someWallet() })
  const line = (event: string) =>
    JSON.stringify({ time: '', log: 'audit', event, wallet: shortenAddress(wallet), audit_id: randomUUID() })
  const log = await readLines(
    Array.from({ length: 100 }, (_, index) => line(index % 2 === 0 ? 'everything_ended' : 'session_ended')),
  )
  const reads = vi.spyOn(store.sessions, 'listSessions')
  expect(await compareWithLog({ store, waiting: null, now: () => NOW }, log, { ends: true })).toMatchObject({
    revived: { grants: 1 },
  })
  expect(reads).toHaveBeenCalledTimes(2)
})

test('If an operator ended the grants of a wallet and only its receipt is valid, the act is listed', async () => {
  const [store] = await openTwoNodes()
  const receipt = someReceipt({ wallet: someWallet(), issuedAt: NOW - 10 })
  await store.receipts.insertReceipt(receipt, 0)
  const entry = newEntry({ at: NOW, event: 'grants_ended', reason: 'operator', wallet: receipt.wallet })
  await appendEntries(store.audit, [entry])
  const log = await logOf({
    event: 'grants_ended',
    reason: 'operator',
    wallet: shortenAddress(receipt.wallet),
    audit_id: entry.id,
  })
  expect((await compareWithLog({ store, waiting: null, now: () => NOW }, log, { ends: false })).acts).toHaveLength(1)
  await store.receipts.withdrawReceipt(receipt.wallet, receipt.id, NOW)
  expect((await compareWithLog({ store, waiting: null, now: () => NOW }, log, { ends: false })).acts).toEqual([])
})
