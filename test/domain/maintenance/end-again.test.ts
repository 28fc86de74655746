/** What a line of the log without its client ends: the log has no ids that look like secrets. */
import { expect, test } from 'vitest'
import { compareWithLog, readLog } from '../../../src/domain/maintenance/end-again.ts'
import { createLogger } from '../../../src/ops/log/logger.ts'
import { shortenAddress } from '../../../src/wallet/address.ts'
import { livingGrant, NOW, someWallet } from '../../store/contract/subject.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

/** The log of one event, as a server writes it. */
async function logOf(event: Record<string, string>) {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  logger.child({ log: 'audit' }).info(event, 'audit')
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
  const parts = { store, now: () => NOW }
  expect(await compareWithLog(parts, log, { ends: true })).toMatchObject({ revived: { grants: 2 }, acts: [] })
  const ended = await Promise.all(grants.map(async ({ id }) => (await store.grants.readGrant(id))?.endReason))
  expect(ended).toEqual(['restored', 'restored', null])
})

test('If the log does not have the client of a revoked token without a grant, an operator must act', async () => {
  const [store] = await openTwoNodes()
  const log = await logOf({ event: 'client_token_revoked', client_id: `grd.${'x'.repeat(60)}`, jti: 'j' })
  expect((await compareWithLog({ store, now: () => NOW }, log, { ends: true })).acts).toHaveLength(1)
})
