/**
 * What a wallet sees of itself: the apps it allowed, with the texts it signed for them, and its sessions; and how it ends
 * them.
 */
import { redirectUriHost } from '../oauth/redirect-uri.ts'
import { loginPageUrl } from './authorize.ts'
import { type LoginPurpose, newBrowserKey, sealChallenge } from './challenge.ts'
import type { Deps } from './deps.ts'
import { endForWallet, endSession } from './end-grants.ts'
import type { Grant, Receipt, Session } from './model.ts'
import { openReceipt, type SignedMessage } from './receipt.ts'

/** More than anybody reads; the youngest come first. */
const SHOWN_AT_MOST = 500

export type ConnectedApp = {
  clientId: string
  name: string
  host: string
  scopes: string[]
  /** epoch seconds */
  since: number
  until: number
  lastUsed: number
  receipts: Receipt[]
}

export type Account = { apps: ConnectedApp[]; sessions: Session[] }

/** What a session may see. One that was only vouched for is shown no receipts. */
export async function readAccount(deps: Deps, session: Session): Promise<Account> {
  const { store } = deps
  const at = deps.now()
  const [grants, receipts, sessions] = await Promise.all([
    store.grants.listGrants({ wallet: session.wallet, living: true, at, limit: SHOWN_AT_MOST }),
    session.method === 'vouched' ? [] : store.receipts.listReceipts(session.wallet, { limit: SHOWN_AT_MOST }),
    store.sessions.listSessions(session.wallet, at),
  ])
  const holding = receipts.filter((receipt) => receipt.clientId !== '' && receipt.withdrawnAt === null && receipt.expiresAt > at)
  const clientIds = new Set([...grants, ...holding].map(({ clientId }) => clientId))
  const apps = await Promise.all(
    [...clientIds].map((clientId) =>
      connectedApp(
        deps,
        clientId,
        grants.filter((grant) => grant.clientId === clientId),
        receipts.filter((receipt) => receipt.clientId === clientId),
      ),
    ),
  )
  return { apps: apps.sort((a, b) => b.lastUsed - a.lastUsed), sessions }
}

async function connectedApp(deps: Deps, clientId: string, grants: Grant[], receipts: Receipt[]): Promise<ConnectedApp> {
  const client = await deps.clients.find(clientId)
  const holding = receipts.filter((receipt) => receipt.withdrawnAt === null && receipt.expiresAt > deps.now())
  const uri = receipts[0]?.redirectUri ?? client?.redirectUris[0]
  return {
    clientId,
    // A client that was deleted since keeps at least the host that was agreed to.
    name: client?.name ?? '',
    host: uri === undefined ? '' : redirectUriHost(uri),
    scopes: [...new Set([...grants, ...holding].flatMap(({ scopes }) => scopes))].sort(),
    since: Math.min(...grants.map(({ createdAt }) => createdAt), ...holding.map(({ issuedAt }) => issuedAt)),
    until: Math.max(...[...grants, ...holding].map(({ expiresAt }) => expiresAt)),
    lastUsed: Math.max(...grants.map(({ rotatedAt }) => rotatedAt), ...holding.map(({ issuedAt }) => issuedAt)),
    receipts,
  }
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
  const { store } = deps
  const { wallet } = session
  await endForWallet(store, wallet, async () => {
    await store.grants.endGrants({ wallet, clientId }, 'user', deps.now())
    await store.receipts.withdrawReceipts({ wallet, clientId }, deps.now())
  })
  deps.audit({ event: 'app_ended', client_id: clientId })
}

/** Ends one session of the wallet, by its handle; true where it was the caller's own. */
export async function endSessionOf(deps: Deps, session: Session, handle: string): Promise<boolean> {
  const sessions = await deps.store.sessions.listSessions(session.wallet, deps.now())
  const named = sessions.find(({ hash }) => sessionHandle(hash) === handle)
  if (!named) return false
  await endSession(deps, named)
  return named.hash === session.hash
}

/** Ends all but this one, and every login under way, which would be another one in a moment. */
export async function endOtherSessions(deps: Deps, { wallet, hash: own }: Session): Promise<void> {
  const { sessions } = deps.store
  const at = deps.now()
  const hashes = await endForWallet(deps.store, wallet, async () => {
    const ended: string[] = []
    for (const { hash } of await sessions.listSessions(wallet, deps.now())) {
      if (hash !== own && (await sessions.endSession(hash, deps.now())) === 'ended') ended.push(hash)
    }
    return ended
  })
  deps.announceEnded({ wallet, hashes, at })
  deps.audit({ event: 'other_sessions_ended' })
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
