/**
 * What a wallet sees of itself: the apps it allowed, with the texts it signed for them, and its sessions; and how it ends
 * them.
 */
import { seal, unseal } from '../keys/sealed.ts'
import { type ClientPlace, redirectUriPlace } from '../oauth/redirect-uri.ts'
import type { Address } from '../wallet/address.ts'
import { loginPageUrl } from './authorize.ts'
import { type LoginPurpose, newBrowserKey, sealChallenge } from './challenge.ts'
import type { Deps } from './deps.ts'
import { endAllowed, endSession } from './end-grants.ts'
import type { Grant, Receipt, Session } from './model.ts'
import { pagesOf, type SessionPage } from './pages.ts'
import { openReceipt, type SignedMessage } from './receipt.ts'

/** Apps, sessions, and receipts of an app, on one page. */
const SHOWN = 50
/** Grants, and receipts, that are read for a page of apps. If one app has more, the page shows what the newest allow. */
const READ = 500

export type ConnectedApp = ClientPlace & {
  clientId: string
  name: string
  scopes: string[]
  /** epoch seconds */
  since: number
  until: number
  lastUsed: number
  receipts: Receipt[]
  /** the cursor of the next page of its receipts */
  moreReceipts: string | null
}

/** One page of a list. `more` is the cursor of the next page; null on the last page. */
type Part<Row> = { rows: Row[]; more: string | null }

/** A page after the first has one of the lists only. */
export type Account = { apps?: Part<ConnectedApp>; sessions?: Part<Session> }

/** A cursor: the last row of the page before. It is sealed for its wallet, because a person can change a URL. */
type Place = { wallet: Address } & (
  | { list: 'apps'; clientId: string }
  | ({ list: 'sessions' } & NonNullable<SessionPage['after']>)
  | ({ list: 'receipts' } & ReceiptPlace)
)

/**
 * What a session may see. One that was only vouched for is shown no receipts. `page` is a cursor of an earlier page; anything
 * else shows the first page.
 */
export async function readAccount(deps: Deps, session: Session, page: string | null): Promise<Account> {
  const place = page === null ? undefined : (unseal(deps.keys, 'gra', page) as Place | undefined)
  if (place?.wallet !== session.wallet) return { ...(await readApps(deps, session)), ...(await readSessions(deps, session)) }
  if (place.list === 'apps') return readApps(deps, session, place.clientId)
  if (place.list === 'sessions') return readSessions(deps, session, place)
  const { clientId } = place
  const allowed = await readAllowed(deps, session, { clientId })
  // Ended since the page before.
  if (allowed.grants.length + allowed.receipts.length === 0) return { apps: { rows: [], more: null } }
  return { apps: { rows: [await connectedApp(deps, session, { clientId, ...allowed, place })], more: null } }
}

async function readSessions(deps: Deps, { wallet }: Session, after?: SessionPage['after']): Promise<Account> {
  const read = await deps.store.sessions.listSessions(wallet, { at: deps.now(), limit: SHOWN + 1, after })
  const sessions = read.slice(0, SHOWN)
  const last = sessions.at(-1)
  const isMore = last && read.length > SHOWN
  const more = isMore ? sealPlace(deps, { wallet, list: 'sessions', authTime: last.authTime, hash: last.hash }) : null
  return { sessions: { rows: sessions, more } }
}

/** A page of apps, in the order of their client ids: so each app is on one page, with all that it may do. */
async function readApps(deps: Deps, session: Session, after?: string): Promise<Account> {
  const { grants, receipts, whole } = await readAllowed(deps, session, { after })
  const clientIds = [...new Set([...grants, ...receipts].map(({ clientId }) => clientId))]
    .filter((clientId) => clientId >= whole)
    .toSorted()
    .toReversed()
  const shown = clientIds.slice(0, SHOWN)
  const last = clientIds.length > SHOWN ? shown.at(-1) : whole
  const apps = await Promise.all(
    shown.map((clientId) => {
      const isOfApp = (row: Grant | Receipt): boolean => row.clientId === clientId
      return connectedApp(deps, session, { clientId, grants: grants.filter(isOfApp), receipts: receipts.filter(isOfApp) })
    }),
  )
  const more = last ? sealPlace(deps, { wallet: session.wallet, list: 'apps', clientId: last }) : null
  return { apps: { rows: apps.toSorted((a, b) => b.lastUsed - a.lastUsed), more } }
}

/**
 * What a wallet allows now: to one client, or to the clients that come after one, or to all. Clients before `whole` were not
 * read to their end.
 */
async function readAllowed(
  { store, now }: Deps,
  { wallet, method }: Session,
  { clientId, after }: { clientId?: string; after?: string | undefined },
): Promise<{ grants: Grant[]; receipts: Receipt[]; whole: string }> {
  const at = now()
  const place = after === undefined ? after : { clientId: after, createdAt: 0, issuedAt: 0, id: '' }
  const page = { clientId, limit: READ, after: place }
  const [grants, receipts] = await Promise.all([
    store.grants.listUnendedGrants({ wallet, ...page }),
    method === 'vouched' ? [] : store.receipts.listReceipts(wallet, page),
  ])
  return {
    grants: grants.filter(({ refreshExpiresAt }) => refreshExpiresAt > at),
    // A sign-in to the account page is kept too, but it allowed no app anything.
    receipts: receipts.filter((receipt) => receipt.clientId !== '' && receipt.expiresAt > at),
    whole: [lastWhole(grants), lastWhole(receipts)].toSorted().at(-1) ?? '',
  }
}

/** The last client of which every row was read, or as many as are read at once. Empty if the list was read to its end. */
function lastWhole(rows: { clientId: string }[]): string {
  const [last = '', before = last] = [...new Set(rows.map(({ clientId }) => clientId))].toReversed()
  return rows.length < READ || last === '' ? '' : before
}

type Allowed = { clientId: string; grants: Grant[]; receipts: Receipt[]; place?: ReceiptPlace }
type ReceiptPlace = Pick<Receipt, 'clientId' | 'issuedAt' | 'id' | 'withdrawnAt'>

async function connectedApp(deps: Deps, { wallet, method }: Session, allowed: Allowed): Promise<ConnectedApp> {
  const { clientId, grants, receipts: holding, place } = allowed
  const client = await deps.clients.find(clientId)
  const read = method === 'vouched' ? [] : await readReceipts(deps, wallet, clientId, place)
  const receipts = read.slice(0, SHOWN)
  const last = read.length > SHOWN ? receipts.at(-1) : undefined
  const uri = receipts[0]?.redirectUri ?? client?.redirectUris[0]
  return {
    clientId,
    // A client that was deleted since keeps at least the host that was agreed to.
    name: client?.name ?? '',
    ...redirectUriPlace(uri ?? ''),
    scopes: [...new Set([...grants, ...holding].flatMap(({ scopes }) => scopes))].sort(),
    since: Math.min(...grants.map(({ createdAt }) => createdAt), ...holding.map(({ issuedAt }) => issuedAt)),
    until: Math.max(...[...grants, ...holding].map(({ expiresAt }) => expiresAt)),
    lastUsed: Math.max(...grants.map(({ rotatedAt }) => rotatedAt), ...holding.map(({ issuedAt }) => issuedAt)),
    receipts,
    moreReceipts: last ? placeAfter(deps, last) : null,
  }
}

/** The receipts of an app from a place on, one more than are shown. Those that stand come first. */
async function readReceipts(
  { store: { receipts } }: Deps,
  wallet: Address,
  clientId: string,
  place?: ReceiptPlace,
): Promise<Receipt[]> {
  const [standingAfter, withdrawnAfter] = place && place.withdrawnAt !== null ? [undefined, place] : [place, undefined]
  const standing = withdrawnAfter ? [] : await receipts.listReceipts(wallet, { clientId, limit: SHOWN + 1, after: standingAfter })
  const limit = SHOWN + 1 - standing.length
  if (limit === 0) return standing
  return [...standing, ...(await receipts.listReceipts(wallet, { clientId, state: 'withdrawn', limit, after: withdrawnAfter }))]
}

function placeAfter(deps: Deps, { wallet, clientId, issuedAt, id, withdrawnAt }: Receipt): string {
  return sealPlace(deps, { wallet, list: 'receipts', clientId, issuedAt, id, withdrawnAt })
}

function sealPlace(deps: Deps, place: Place): string {
  return seal(deps.keys, 'gra', place)
}

/** A receipt of this session's own wallet, opened; null where there is none, or the session may not see it. */
export async function readOwnReceipt(deps: Deps, session: Session, id: string): Promise<(Receipt & SignedMessage) | null> {
  if (session.method === 'vouched') return null
  const receipt = await deps.store.receipts.readReceipt(session.wallet, id)
  // A sign-in to the account page is kept too, but it allowed no app anything.
  if (receipt?.clientId === '') return null
  const signed = receipt && openReceipt(deps.keys, receipt)
  return receipt && signed ? { ...receipt, ...signed } : null
}

/** Ends what the wallet allowed to one app, and withdraws what it signed for it. */
export async function endApp(deps: Deps, session: Session, clientId: string): Promise<void> {
  await endAllowed(deps.store, { wallet: session.wallet, clientId }, 'user', deps.now())
  deps.audit({ event: 'app_ended', client_id: clientId })
}

/** Ends one session of the wallet, by its handle; true where it was the caller's own. */
export async function endSessionOf(deps: Deps, session: Session, handle: string): Promise<boolean> {
  const { sessions } = deps.store
  for await (const page of pagesOf<Session>((part) => sessions.listSessions(session.wallet, { at: deps.now(), ...part }))) {
    const named = page.find(({ hash }) => sessionHandle(hash) === handle)
    if (!named) continue
    await endSession(deps, named)
    return named.hash === session.hash
  }
  return false
}

/** Names a session on its owner's page without being of use for anything else. */
export function sessionHandle(hash: string): string {
  return hash.slice(0, 16)
}

/** Begins a sign-in that no app asked for. */
export function beginLogin(
  deps: Deps,
  kind: Exclude<LoginPurpose['kind'], 'app'>,
  browserKey: string | null,
): { to: string; browserKey: string } {
  const key = browserKey ?? newBrowserKey()
  const challenge = sealChallenge(deps, { kind }, null, key)
  if (challenge === null) throw new Error('a challenge without a request is too long')
  return { to: loginPageUrl(deps, challenge), browserKey: key }
}
