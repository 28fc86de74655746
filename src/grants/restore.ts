/**
 * A database put back from a backup has forgotten every ending and every rotation since. Nobody can tell which, so all
 * that it allows ends, and nothing that was ever made with its keys counts any more. Where a journal can tell (all of
 * it, or it is not believed), only what it tells of ends, and the rest goes on from where the journal says it was.
 */
import { randomBytes } from 'node:crypto'

import { recordPrint, sessionName, walletName } from './journal.ts'
import { type KeyKeeping, replaceKeys, retireKey } from './keep-keys.ts'
import type { Client } from './model.ts'
import { LATE_BY_AT_MOST, type Restoration, type Store } from './ports.ts'
import { type Account, sweepKey } from './read-journal.ts'

export type Ended = { grants: number; sessions: number; receipts: number; keys: number }

/**
 * Ends all. Broken off anywhere it is to be repeated: the store counts as unconfirmed from the first step on, and
 * a repetition ends and replaces what is left, and once more what is new.
 */
export async function endRestored(
  store: Pick<Store, 'restorations' | 'runs'>,
  keeping: KeyKeeping,
): Promise<{ restoration: Restoration; ended: Ended }> {
  const restoration = await store.restorations.beginRestoration(keeping.now())
  // The keys first: with them go codes, challenges and tokens, those of after the backup as well.
  const keys = await replaceKeys(keeping)
  const ended = await store.restorations.endEverything(keeping.now())
  // What is done from here on has nothing to do with what was done on the database that is lost.
  await store.runs.beginJournal(randomBytes(16).toString('hex'))
  return { restoration, ended: { ...ended, keys } }
}

/**
 * Codes, challenges and verifiers leave no row until they are used, so a journal does not tell which were: none may be left
 * that still counts. The longest of them live 600 seconds, and a verifier 60 more; what is over bears clocks that differ.
 */
export const LIVES_UNSEEN = 600 + 60 + 60

/** A client of the backup that is not what it was: `disabled` here, because it was disabled or deleted since. */
export type ClientSince = { clientId: string; since: 'disabled' | 'deleted' | 'changed' }

/** Whole batches are looked at together; each row is judged and ended by itself. */
const BATCH = 500

/** Brings what the backup holds up to what the journal tells. `account` has no faults. May be repeated. */
export async function bringUpToDate(
  store: Pick<Store, 'restorations' | 'runs' | 'grants' | 'sessions' | 'receipts' | 'clients' | 'keys'>,
  keeping: KeyKeeping,
  account: Account,
): Promise<{ restoration: Restoration; ended: Ended; advanced: number; clients: ClientSince[] }> {
  const at = keeping.now()
  const restoration = await store.restorations.beginRestoration(at)
  const { salt } = await store.runs.readRuns()
  const keys = await retireKeys(keeping, account)
  const sessions = await endSessions(store, account, salt, at)
  const receipts = await withdrawReceipts(store, account, salt, at)
  const { ended, advanced } = await bringGrantsUp(store, account, salt, at)
  const clients = await bringClientsUp(store, account, at)
  // What these programs did is in the row now; their numbers are not given again.
  await store.runs.resetRuns(account.lastRun)
  return { restoration, ended: { grants: ended, sessions, receipts, keys }, advanced, clients }
}

async function retireKeys(keeping: KeyKeeping, { retiredKeys }: Account): Promise<number> {
  const living = (await keeping.book.listKeys()).filter((key) => key.retiredAt === null && retiredKeys.has(key.id))
  for (const key of living) await retireKey(keeping, key.id, true)
  return living.length
}

async function endSessions(
  { restorations, sessions }: Pick<Store, 'restorations' | 'sessions'>,
  account: Account,
  salt: string,
  at: number,
) {
  let ended = 0
  for (let after = ''; ; ) {
    const batch = await restorations.livingSessions(after, BATCH)
    const over = batch.filter(
      ({ hash, wallet, authTime }) =>
        account.endedSessions.has(sessionName(hash)) || isBefore(authTime, account.sessionsEnded.get(walletName(salt, wallet))),
    )
    await Promise.all(over.map(({ hash }) => sessions.endSession(hash, at)))
    ended += over.length
    if (batch.length < BATCH) return ended
    after = batch.at(-1)?.hash ?? ''
  }
}

async function withdrawReceipts(
  { restorations, receipts }: Pick<Store, 'restorations' | 'receipts'>,
  account: Account,
  salt: string,
  at: number,
) {
  let withdrawn = 0
  for (let after = { wallet: '' as `0x${string}`, id: '' }; ; ) {
    const batch = await restorations.livingReceipts(after, BATCH)
    const over = batch.filter(({ id, wallet, clientId, issuedAt }) => {
      const sweeps = sweepsOf(account.withdrawnTogether, walletName(salt, wallet), clientId)
      return account.withdrawn.has(id) || sweeps.some((sweep) => sweep.except !== id && isBefore(issuedAt, sweep.at))
    })
    await Promise.all(over.map(({ wallet, id }) => receipts.withdrawReceipt(wallet, id, at)))
    withdrawn += over.length
    if (batch.length < BATCH) return withdrawn
    after = batch.at(-1) ?? after
  }
}

async function bringGrantsUp(store: Pick<Store, 'restorations' | 'grants' | 'keys'>, account: Account, salt: string, at: number) {
  const { restorations, grants } = store
  const keyIds = new Set((await store.keys.listKeys()).filter((key) => key.retiredAt === null).map((key) => key.id))
  let [ended, advanced] = [0, 0]
  for (let after = ''; ; ) {
    const batch = await restorations.livingGrants(after, BATCH)
    await Promise.all(
      batch.map(async ({ id, wallet, clientId, createdAt, generation }) => {
        const chain = account.refreshed.get(id)
        const sweeps = sweepsOf(account.endedTogether, walletName(salt, wallet), clientId)
        const lost = chain !== undefined && chain.generation > generation && !keyIds.has(chain.refreshKeyId)
        if (account.ended.has(id) || lost || sweeps.some((sweep) => isBefore(createdAt, sweep.at))) {
          await grants.endGrant(id, 'restored', at)
          ended++
        } else if (chain && chain.generation > generation) {
          await restorations.advanceGrant(id, chain)
          advanced++
        }
      }),
    )
    if (batch.length < BATCH) return { ended, advanced }
    after = batch.at(-1)?.id ?? ''
  }
}

/** What ended a wallet's rows, a client's, or the wallet's for that client. */
function sweepsOf(sweeps: Account['endedTogether'], wallet: string, clientId: string) {
  return [
    ...(sweeps.get(sweepKey(wallet, undefined)) ?? []),
    ...(sweeps.get(sweepKey(undefined, clientId)) ?? []),
    ...(sweeps.get(sweepKey(wallet, clientId)) ?? []),
  ]
}

/** Made within the same seconds counts as made before: it ends rather than lives by mistake. */
function isBefore(madeAt: number, endedAt: number | undefined): boolean {
  return endedAt !== undefined && madeAt <= endedAt + LATE_BY_AT_MOST
}

/** Disables what was disabled or deleted since. A secret that was made since is only its owner's to give again. */
async function bringClientsUp({ clients }: Pick<Store, 'clients'>, account: Account, at: number): Promise<ClientSince[]> {
  const since: ClientSince[] = []
  for (const client of await clients.listClients()) {
    const now = account.clients.get(client.id)
    if (!now || (now.print !== null && now.print === recordPrint(client))) continue
    const kind = now.kind === 'enabled' || now.kind === 'unknown' ? 'changed' : now.kind
    since.push({ clientId: client.id, since: kind })
    if (kind !== 'changed') await clients.changeClient(client.id, (present) => disabledSince(present, at))
  }
  return since
}

function disabledSince(client: Client, at: number): Client {
  return { ...client, disabledAt: client.disabledAt ?? at }
}
