/**
 * A journal: one line for each change of the ledger, kept apart from the database, so that a backup can be brought up to
 * what happened after it (`restore.ts`). What it holds, and why that is enough: docs/decisions/0006-a-journal.md.
 *
 * It stands between the domain and the store, because there nothing passes by it. A line tells what came of a move. Where
 * that is unknown, because the answer was lost, the line says so, and what it names counts as ended.
 */
import { createHash, createHmac } from 'node:crypto'
import type { Address } from '../wallet/address.ts'
import type { Client, Grant } from './model.ts'
import type { ClientBook, GrantLedger, KeyBook, ReceiptBook, SessionBook, Store } from './ports.ts'

/** Nothing in it is a secret or of use to anybody who has no database; `wallet` is a name made by `walletName`. */
export type JournalEvent = {
  event: string
  grant_id?: string
  client_id?: string
  wallet?: string
  /** of `sessionName` */
  session?: string
  receipt_id?: string
  except?: string
  key_id?: string
  kind?: string
  /** of the refresh token that is good now */
  generation?: number
  /** epoch seconds */
  refreshed_at?: number
  refresh_until?: number
  reason?: string
  enabled?: boolean
  /** of `recordPrint` */
  print?: string
  /** the last number a program took */
  last?: number
  program?: string
  /** of `ledgerName` */
  ledger?: string
  /** whether it came to that is unknown */
  unsure?: true
}

export type Note = (event: JournalEvent) => void

export type Journal = {
  /** Makes a change, and notes it, while lines are taken: after the last line none is made. */
  during: <Outcome>(change: () => Promise<Outcome>) => Promise<Outcome>
  note: Note
  /** names a wallet in this database's journal without being its address */
  walletName: (wallet: Address) => string
}

/** Needs the database to be tried out: nobody who has the journal alone finds the address. */
export function walletName(salt: string, wallet: Address): string {
  return createHmac('sha256', salt).update(wallet.toLowerCase()).digest('hex').slice(0, 32)
}

/**
 * A store that lost an answer asks again, and then finds its own ending. Whoever was told that a grant is ended may rely
 * on it, so the line is written once too often rather than never.
 */
const ENDED_BEFORE = 'ended_before'

/** As much of a session's hash as names it. */
export function sessionName(hash: string): string {
  return hash.slice(0, 22)
}

/** Tells whether a client's record is another now, in whatever order its members stand. */
export function recordPrint(client: Client): string {
  const members = Object.entries(client).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(members)).digest('hex').slice(0, 32)
}

/** Tells which database a journal belongs to. */
export function ledgerName(salt: string): string {
  return createHash('sha256').update(`ledger ${salt}`).digest('hex').slice(0, 16)
}

/** The same store, with every change noted. */
export function journalled(store: Store, journal: Journal): Store {
  /** Makes a move, and notes what came of it: `told` gives the line, or null where nothing changed. */
  function noting<Outcome>(
    move: () => Promise<Outcome>,
    told: (outcome: Outcome) => JournalEvent | null,
    feared: () => JournalEvent,
  ): Promise<Outcome> {
    return journal.during(async () => {
      let outcome: Outcome
      try {
        outcome = await move()
      } catch (error) {
        journal.note({ ...feared(), unsure: true })
        throw error
      }
      const event = told(outcome)
      if (event) journal.note(event)
      return outcome
    })
  }
  const scribe: Scribe = { noting, walletName: journal.walletName }
  return {
    ...store,
    grants: grantsNoting(store.grants, scribe),
    sessions: sessionsNoting(store.sessions, scribe),
    receipts: receiptsNoting(store.receipts, scribe),
    clients: clientsNoting(store.clients, scribe),
    keys: keysNoting(store.keys, scribe),
  }
}

type Scribe = {
  noting: <Outcome>(
    move: () => Promise<Outcome>,
    told: (outcome: Outcome) => JournalEvent | null,
    feared: () => JournalEvent,
  ) => Promise<Outcome>
  walletName: (wallet: Address) => string
}

function grantsNoting(grants: GrantLedger, { noting, walletName: nameOf }: Scribe): GrantLedger {
  const ended = (grantId: string, reason: string): JournalEvent => ({ event: 'grant_ended', grant_id: grantId, reason })
  const standing = (event: string, grant: Grant): JournalEvent => ({
    event,
    grant_id: grant.id,
    client_id: grant.clientId,
    generation: grant.generation,
    key_id: grant.refreshKeyId,
    refreshed_at: grant.rotatedAt,
    refresh_until: grant.refreshExpiresAt,
  })
  return {
    ...grants,
    redeemCode: (grant, attemptId, at) =>
      noting(
        () => grants.redeemCode(grant, attemptId, at),
        (outcome) => (outcome.kind === 'redeemed' ? standing('grant_made', outcome.grant) : null),
        () => ({ event: 'grant_made', grant_id: grant.id, client_id: grant.clientId }),
      ),
    // A grant that lives is not touched by it, so it ends none.
    spendCode: (grant, attemptId, at) =>
      noting(
        () => grants.spendCode(grant, attemptId, at),
        () => ({ event: 'code_spent', grant_id: grant.id }),
        () => ({ event: 'code_spent', grant_id: grant.id }),
      ),
    rotateRefreshToken: (rotation) =>
      noting(
        () => grants.rotateRefreshToken(rotation),
        (outcome) => {
          if (outcome.kind === 'rotated') return standing('grant_refreshed', outcome.grant)
          if (outcome.kind === 'replayed') return ended(rotation.grantId, 'refresh_replayed')
          if (outcome.kind === 'ended') return ended(rotation.grantId, ENDED_BEFORE)
          return outcome.kind === 'newer_than_row' ? ended(rotation.grantId, 'refresh_newer_than_row') : null
        },
        () => ({ event: 'grant_refreshed', grant_id: rotation.grantId }),
      ),
    endGrant: (grantId, reason, at, clientId) =>
      noting(
        () => grants.endGrant(grantId, reason, at, clientId),
        (outcome) => {
          if (outcome === 'ended') return ended(grantId, reason)
          return outcome === ENDED_BEFORE ? ended(grantId, ENDED_BEFORE) : null
        },
        () => ended(grantId, reason),
      ),
    revokeAccessToken: (token) =>
      noting(
        () => grants.revokeAccessToken(token),
        (outcome) =>
          outcome === 'revoked' || outcome === 'grant_ended'
            ? { event: 'access_token_revoked', grant_id: token.grantId, reason: outcome }
            : null,
        () => ({ event: 'access_token_revoked', grant_id: token.grantId }),
      ),
    endGrants(of, reason, at) {
      const event = () => ({
        event: 'grants_ended',
        ...(of.wallet === undefined ? {} : { wallet: nameOf(of.wallet) }),
        ...(of.clientId === undefined ? {} : { client_id: of.clientId }),
        reason,
      })
      return noting(() => grants.endGrants(of, reason, at), event, event)
    },
  }
}

function sessionsNoting(sessions: SessionBook, { noting, walletName: nameOf }: Scribe): SessionBook {
  const one = (event: string, hash: string): JournalEvent => ({ event, session: sessionName(hash) })
  return {
    ...sessions,
    startSession: (session, attemptId) =>
      noting(
        () => sessions.startSession(session, attemptId),
        (outcome) => (outcome === 'started' ? one('session_started', session.hash) : null),
        () => one('session_started', session.hash),
      ),
    endSession: (hash, at) =>
      noting(
        () => sessions.endSession(hash, at),
        () => one('session_ended', hash),
        () => one('session_ended', hash),
      ),
    endSessions(wallet, at) {
      const event = () => ({ event: 'sessions_ended', wallet: nameOf(wallet) })
      return noting(() => sessions.endSessions(wallet, at), event, event)
    },
  }
}

function receiptsNoting(receipts: ReceiptBook, { noting, walletName: nameOf }: Scribe): ReceiptBook {
  return {
    ...receipts,
    insertReceipt: (receipt) =>
      noting(
        () => receipts.insertReceipt(receipt),
        (outcome) => (outcome === 'inserted' ? { event: 'receipt_kept', receipt_id: receipt.id } : null),
        () => ({ event: 'receipt_kept', receipt_id: receipt.id }),
      ),
    withdrawReceipts(of, at) {
      // Those that name one scope are not told apart: with them all of the app's go, but the one that says so.
      const event = () => ({
        event: 'receipts_withdrawn',
        wallet: nameOf(of.wallet),
        ...(of.clientId === undefined ? {} : { client_id: of.clientId }),
        ...(of.except === undefined ? {} : { except: of.except }),
      })
      return noting(() => receipts.withdrawReceipts(of, at), event, event)
    },
    withdrawReceipt(wallet, id, at) {
      const event = () => ({ event: 'receipt_withdrawn', receipt_id: id })
      return noting(() => receipts.withdrawReceipt(wallet, id, at), event, event)
    },
  }
}

function clientsNoting(clients: ClientBook, { noting }: Scribe): ClientBook {
  const changed = (event: string, client: Client): JournalEvent => ({
    event,
    client_id: client.id,
    enabled: client.disabledAt === null,
    print: recordPrint(client),
  })
  const unknown = (clientId: string): JournalEvent => ({ event: 'client_changed', client_id: clientId })
  return {
    ...clients,
    insertClient: (client) =>
      noting(
        () => clients.insertClient(client),
        (outcome) => (outcome === 'inserted' ? changed('client_made', client) : null),
        () => unknown(client.id),
      ),
    replaceClient: (client) =>
      noting(
        () => clients.replaceClient(client),
        (outcome) => (outcome === 'replaced' ? changed('client_changed', client) : null),
        () => unknown(client.id),
      ),
    changeClient: (clientId, change) =>
      noting(
        () => clients.changeClient(clientId, change),
        (client) => client && changed('client_changed', client),
        () => unknown(clientId),
      ),
    deleteClient: (clientId) =>
      noting(
        () => clients.deleteClient(clientId),
        (outcome) => (outcome === 'deleted' ? { event: 'client_deleted', client_id: clientId } : null),
        () => ({ event: 'client_deleted', client_id: clientId }),
      ),
  }
}

function keysNoting(keys: KeyBook, { noting }: Scribe): KeyBook {
  return {
    ...keys,
    insertKey: (key) =>
      noting(
        () => keys.insertKey(key),
        (outcome) => (outcome === 'inserted' ? { event: 'key_made', key_id: key.id, kind: key.kind } : null),
        () => ({ event: 'key_made', key_id: key.id, kind: key.kind }),
      ),
    retireKey: (keyId, kind, at) =>
      noting(
        () => keys.retireKey(keyId, kind, at),
        (outcome) => (outcome === 'retired' ? { event: 'key_retired', key_id: keyId, kind } : null),
        () => ({ event: 'key_retired', key_id: keyId, kind }),
      ),
  }
}
