/** The account page of a wallet: the connected apps with their receipts, the sessions, and how to end them. */
import { sealedFormat } from '../../protocol/keys/sealed.ts'
import { clientPlace } from '../../protocol/oauth/client-id-url.ts'
import type { ClientPlace } from '../../protocol/oauth/redirect-uri.ts'
import type { Address } from '../../protocol/wallet/address.ts'
import { type ApprovedAction, readApproval } from '../../protocol/wallet/read-approval.ts'
import { type OpenApproval, openStored } from '../approvals/answer.ts'
import { loginPageUrl } from '../authorization/authorize.ts'
import { newBrowserKey, sealChallenge } from '../authorization/challenge.ts'
import { ENDING, endAllowed, endSession, nameEnding } from '../consent/end-grants.ts'
import { openReceipt, type SignedMessage, scopesByResourceOf } from '../consent/receipt.ts'
import { clientLogoPath } from '../model/client-logo-path.ts'
import type { Deps } from '../model/deps.ts'
import { grantedAt } from '../model/granted-scopes.ts'
import { pagesOf, type SessionPage } from '../model/pages.ts'
import { isConsent, OF_APPROVALS, OF_NO_APP } from '../model/receipt-kinds.ts'
import type { Grant, Job, Receipt, ScopesByResource, Session } from '../model/records.ts'
import { type GrantLimit, limitsOf } from './limits.ts'

/** The number of apps, of sessions, and of receipts of an app on one page. */
const SHOWN = 50
/** The number of grants and of receipts that are read for a page of apps. If one app has more, the page shows the newest. */
const READ = 500

export type ConnectedApp = ClientPlace & {
  clientId: string
  name: string
  /** the path of the logo that an operator uploaded */
  logo: string | undefined
  scopes: string[]
  resources: string[]
  /** the scopes of each resource; null if there is only one resource */
  scopesByResource: ScopesByResource | null
  /** epoch seconds */
  since: number
  until: number
  lastRenewed: number
  /** of the active grants, those that were signed last first */
  limits: GrantLimit[]
  receipts: Receipt[]
  /** the cursor of the next page of receipts; null on the last page */
  moreReceipts: string | null
}

/** One page of a list. `more` is the cursor of the next page; null on the last page. */
type ListPage<Row> = { rows: Row[]; more: string | null }

/** A withdrawn receipt of an app that has no access any more. */
export type EndedReceipt = ClientPlace & { name: string; receipt: Receipt }

/** What the account page shows. The first page has all lists, every other page only one. */
export type ConnectedAccount = {
  /** the newest first; on the first page only */
  waiting?: WaitingApproval[]
  apps?: ListPage<ConnectedApp>
  /** the receipts of approvals, the newest first */
  approved?: ListPage<ApprovedReceipt>
  ended?: ListPage<EndedReceipt>
  sessions?: ListPage<Session>
}

/** An approval that waits for this wallet. */
export type WaitingApproval = Pick<OpenApproval, 'request' | 'apps'>

/** `action`: what the wallet signed. */
export type ApprovedReceipt = { receipt: Receipt; action: ApprovedAction }

/** A cursor: the last row of the previous page. A cursor is sealed and names its wallet, because a user can change a URL. */
type Cursor = { wallet: Address } & (
  | { list: 'apps'; clientId: string }
  | ({ list: 'sessions' } & NonNullable<SessionPage['after']>)
  | ({ list: 'receipts' } & ReceiptCursor)
  | ({ list: 'ended' } & Omit<ReceiptCursor, 'withdrawnAt'>)
  | ({ list: 'approved' } & Omit<ReceiptCursor, 'withdrawnAt'>)
)

const CURSOR = sealedFormat<Cursor>('accountCursor')

/**
 * The account page for a session. A vouched session gets no receipts. `page` is a cursor of an earlier page; any other text returns the first
 * page.
 */
export async function readAccount(deps: Deps, session: Session, page: string | null): Promise<ConnectedAccount> {
  const cursor = page === null ? undefined : CURSOR.open(deps.keys, page)
  if (cursor?.wallet !== session.wallet) {
    const [waiting, apps, approved, ended, sessions] = await Promise.all([
      readWaiting(deps, session),
      readApps(deps, session),
      readApproved(deps, session),
      readEnded(deps, session),
      readSessions(deps, session),
    ])
    return { ...waiting, ...apps, ...approved, ...ended, ...sessions }
  }
  if (cursor.list === 'apps') return readApps(deps, session, cursor.clientId)
  if (cursor.list === 'sessions') return readSessions(deps, session, cursor)
  if (cursor.list === 'ended') return readEnded(deps, session, cursor)
  if (cursor.list === 'approved') return readApproved(deps, session, cursor)
  const { clientId } = cursor
  const allowed = await readAllowed(deps, session, { clientId })
  // The user ended the app since the previous page was shown.
  if (allowed.grants.length + allowed.receipts.length === 0) return { apps: { rows: [], more: null } }
  return { apps: { rows: [await connectedApp(deps, session, { clientId, ...allowed, cursor })], more: null } }
}

async function readSessions(deps: Deps, { wallet }: Session, after?: SessionPage['after']): Promise<ConnectedAccount> {
  const read = await deps.store.sessions.listSessions(wallet, { at: deps.now(), limit: SHOWN + 1, after })
  const sessions = read.slice(0, SHOWN)
  const last = sessions.at(-1)
  const isMore = last && read.length > SHOWN
  const more = isMore ? sealCursor(deps, { wallet, list: 'sessions', authTime: last.authTime, hash: last.hash }) : null
  return { sessions: { rows: sessions, more } }
}

/** A page of the withdrawn receipts, sorted by client id. The receipts of connected apps are with these apps. */
async function readEnded(deps: Deps, session: Session, after?: Omit<ReceiptCursor, 'withdrawnAt'>): Promise<ConnectedAccount> {
  if (session.method === 'vouched') return {}
  const { wallet } = session
  const read = await deps.store.receipts.listReceipts(wallet, { state: 'withdrawn', limit: SHOWN + 1, after })
  const receipts = read.slice(0, SHOWN)
  const clientIds = [...new Set(receipts.filter(isConsent).map(({ clientId }) => clientId))]
  const connected = await Promise.all(clientIds.map((clientId) => isConnected(deps, session, clientId)))
  const ended = new Set(clientIds.filter((_, i) => !connected[i]))
  const last = read.length > SHOWN ? receipts.at(-1) : undefined
  return {
    ended: {
      rows: await Promise.all(
        receipts.filter(({ clientId }) => ended.has(clientId)).map((receipt) => endedReceipt(deps, receipt)),
      ),
      more: last
        ? sealCursor(deps, { wallet, list: 'ended', clientId: last.clientId, issuedAt: last.issuedAt, id: last.id })
        : null,
    },
  }
}

async function readWaiting(deps: Deps, { wallet }: Session): Promise<ConnectedAccount> {
  const approvals = await deps.store.approvals.listWaiting(wallet, { at: deps.now(), limit: SHOWN })
  const found = await Promise.all(approvals.map((approval) => openStored(deps, approval)))
  return { waiting: found.filter((each) => typeof each !== 'string') }
}

/** A page of what the wallet approved, the newest first. A receipt whose key is retired is left out. */
async function readApproved(
  deps: Deps,
  { wallet, method }: Session,
  after?: Omit<ReceiptCursor, 'withdrawnAt'>,
): Promise<ConnectedAccount> {
  if (method === 'vouched') return {}
  const read = await deps.store.receipts.listReceipts(wallet, { clientId: OF_APPROVALS, limit: SHOWN + 1, after })
  const receipts = read.slice(0, SHOWN)
  const last = read.length > SHOWN ? receipts.at(-1) : undefined
  const rows = receipts.flatMap((receipt) => {
    const signed = openReceipt(deps.keys, receipt)
    const action = signed && readApproval(signed.message)
    return action ? [{ receipt, action }] : []
  })
  const more = last
    ? sealCursor(deps, { wallet, list: 'approved', clientId: last.clientId, issuedAt: last.issuedAt, id: last.id })
    : null
  return { approved: { rows, more } }
}

async function isConnected(deps: Deps, session: Session, clientId: string): Promise<boolean> {
  const { grants, receipts } = await readAllowed(deps, session, { clientId })
  return grants.length + receipts.length > 0
}

async function endedReceipt(deps: Deps, receipt: Receipt): Promise<EndedReceipt> {
  const { clientId, redirectUri } = receipt
  return { name: (await deps.clients.find(clientId))?.name ?? '', ...clientPlace(clientId, redirectUri), receipt }
}

/** A page of apps, sorted by client id, so that all grants and receipts of an app are on one page. */
async function readApps(deps: Deps, session: Session, after?: string): Promise<ConnectedAccount> {
  const { grants, receipts, completeFrom } = await readAllowed(deps, session, { after })
  const clientIds = [...new Set([...grants, ...receipts].map(({ clientId }) => clientId))]
    .filter((clientId) => clientId >= completeFrom)
    .toSorted()
    .toReversed()
  const shown = clientIds.slice(0, SHOWN)
  const last = clientIds.length > SHOWN ? shown.at(-1) : completeFrom
  const apps = await Promise.all(
    shown.map((clientId) => {
      const isOfApp = (row: Grant | Receipt): boolean => row.clientId === clientId
      return connectedApp(deps, session, { clientId, grants: grants.filter(isOfApp), receipts: receipts.filter(isOfApp) })
    }),
  )
  const more = last ? sealCursor(deps, { wallet: session.wallet, list: 'apps', clientId: last }) : null
  return { apps: { rows: apps.toSorted((a, b) => b.lastRenewed - a.lastRenewed), more } }
}

/**
 * The valid grants and receipts of a wallet: for one client, for the clients after a cursor, or for all. They are complete for the
 * clients from `completeFrom` on.
 */
async function readAllowed(
  { store, now }: Deps,
  { wallet, method }: Session,
  { clientId, after }: { clientId?: string; after?: string | undefined },
): Promise<{ grants: Grant[]; receipts: Receipt[]; completeFrom: string }> {
  const at = now()
  const afterClient = after === undefined ? after : { clientId: after, createdAt: 0, issuedAt: 0, id: '' }
  const page = { clientId, limit: READ, after: afterClient }
  const [grants, receipts] = await Promise.all([
    store.grants.listUnendedGrants({ wallet, ...page }),
    method === 'vouched' ? [] : store.receipts.listReceipts(wallet, page),
  ])
  return {
    grants: grants.filter(({ refreshExpiresAt }) => refreshExpiresAt > at),
    receipts: receipts.filter((receipt) => isConsent(receipt) && receipt.expiresAt > at),
    completeFrom: [lastComplete(grants), lastComplete(receipts)].toSorted().at(-1) ?? '',
  }
}

/** The last client whose rows are all in the list, or that has `READ` rows there. Empty if the list was read to its end. */
function lastComplete(rows: { clientId: string }[]): string {
  const [last = '', before = last] = [...new Set(rows.map(({ clientId }) => clientId))].toReversed()
  return rows.length < READ || last === '' ? '' : before
}

type Allowed = { clientId: string; grants: Grant[]; receipts: Receipt[]; cursor?: ReceiptCursor }
type ReceiptCursor = Pick<Receipt, 'clientId' | 'issuedAt' | 'id' | 'withdrawnAt'>

async function connectedApp(deps: Deps, { wallet, method }: Session, allowed: Allowed): Promise<ConnectedApp> {
  const { clientId, grants, receipts: valid, cursor } = allowed
  const client = await deps.clients.find(clientId)
  const read = method === 'vouched' ? [] : await readReceipts(deps, { wallet, clientId, cursor })
  const receipts = read.slice(0, SHOWN)
  const last = read.length > SHOWN ? receipts.at(-1) : undefined
  const uri = receipts[0]?.redirectUri ?? client?.redirectUris[0]
  return {
    clientId,
    // If the client was deleted, the page shows only the host of the redirect URI.
    name: client?.name ?? '',
    logo: client ? clientLogoPath(client) : undefined,
    ...clientPlace(clientId, uri ?? ''),
    ...allowedScopes([
      ...grants,
      ...valid.map((receipt) => ({ ...receipt, scopesByResource: scopesByResourceOf(deps.keys, receipt) })),
    ]),
    since: Math.min(...grants.map(({ createdAt }) => createdAt), ...valid.map(({ issuedAt }) => issuedAt)),
    until: Math.max(...[...grants, ...valid].map(({ expiresAt }) => expiresAt)),
    lastRenewed: Math.max(...grants.map(({ rotatedAt }) => rotatedAt), ...valid.map(({ issuedAt }) => issuedAt)),
    limits: limitsOf(grants, deps.now(), { hasReceipts: method !== 'vouched' }),
    receipts,
    moreReceipts: last ? receiptCursor(deps, last) : null,
  }
}

type AllowedScopes = Pick<Grant, 'scopes' | 'resources' | 'scopesByResource'>

/** All that these grants and receipts allow together. */
function allowedScopes(all: AllowedScopes[]): AllowedScopes {
  const pairs = new Map<string, Set<string>>()
  for (const each of all) {
    for (const resource of each.resources) {
      const scopes = pairs.get(resource) ?? new Set()
      for (const scope of grantedAt(each, resource)) scopes.add(scope)
      pairs.set(resource, scopes)
    }
  }
  const resources = [...pairs.keys()].sort()
  const lists = resources.map((resource) => [resource, [...(pairs.get(resource) ?? [])]] as const)
  return {
    scopes: [...new Set(all.flatMap(({ scopes }) => scopes))].sort(),
    resources,
    scopesByResource: resources.length > 1 ? Object.fromEntries(lists) : null,
  }
}

/** The receipts of an app after a cursor, one more than are shown. Valid receipts come first, then withdrawn ones. */
async function readReceipts(
  { store: { receipts } }: Deps,
  { wallet, clientId, cursor }: { wallet: Address; clientId: string; cursor: ReceiptCursor | undefined },
): Promise<Receipt[]> {
  const [validAfter, withdrawnAfter] = cursor && cursor.withdrawnAt !== null ? [undefined, cursor] : [cursor, undefined]
  const valid = withdrawnAfter ? [] : await receipts.listReceipts(wallet, { clientId, limit: SHOWN + 1, after: validAfter })
  const limit = SHOWN + 1 - valid.length
  if (limit === 0) return valid
  return [...valid, ...(await receipts.listReceipts(wallet, { clientId, state: 'withdrawn', limit, after: withdrawnAfter }))]
}

function receiptCursor(deps: Deps, { wallet, clientId, issuedAt, id, withdrawnAt }: Receipt): string {
  return sealCursor(deps, { wallet, list: 'receipts', clientId, issuedAt, id, withdrawnAt })
}

function sealCursor(deps: Deps, cursor: Cursor): string {
  return CURSOR.seal(deps.keys, cursor)
}

export type OwnReceipt = Receipt & SignedMessage & Pick<Grant, 'scopesByResource'>

/** An opened receipt of the session's wallet; null if the receipt does not exist or the session may not see it. */
export async function readOwnReceipt(deps: Deps, session: Session, id: string): Promise<OwnReceipt | null> {
  if (session.method === 'vouched') return null
  const receipt = await deps.store.receipts.readReceipt(session.wallet, id)
  if (receipt?.clientId === OF_NO_APP) return null
  const signed = receipt && openReceipt(deps.keys, receipt)
  return receipt && signed ? { ...receipt, ...signed, scopesByResource: scopesByResourceOf(deps.keys, receipt) } : null
}

/** Ends the grants and withdraws the receipts of one app. Returns the name of the job that ends the other grants; null if all have ended. */
export async function endApp(deps: Deps, { wallet }: Session, clientId: string): Promise<string | null> {
  const { job } = await endAllowed(deps, { wallet, clientId, startedBy: wallet }, 'user')
  await deps.audit({ event: 'app_ended', client_id: clientId, wallet, ...(job && { details: { grants_ended_by: job.id } }) })
  return job && nameEnding(deps, job)
}

/** Null for a text that names no ending of the last days. */
export async function readEnding(deps: Deps, name: string): Promise<Job | null> {
  const id = ENDING.open(deps.keys, name)
  return id === undefined ? null : deps.endings.read(id)
}

/** Ends one session of the wallet, by the session's handle. Returns true if the session is the caller's own. */
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

/** A short name of a session for forms of the account page. The name gives no access to the session. */
export function sessionHandle(hash: string): string {
  return hash.slice(0, 16)
}

/** Begins a login without an app. */
export function beginLogin(
  deps: Deps,
  kind: 'account' | 'end_everything',
  browserKey: string | null,
): { to: string; browserKey: string } {
  const key = browserKey ?? newBrowserKey()
  const challenge = sealChallenge(deps, { kind }, null, { browserKey: key })
  if (challenge === null) throw new Error('The challenge of a login without an app is too long.')
  return { to: loginPageUrl(deps, challenge), browserKey: key }
}
