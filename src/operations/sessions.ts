/** Sessions of users: the browsers in which they are signed in. */
import { Type } from 'typebox'
import type { Session } from '../domain/model/records.ts'
import { shortenAddress } from '../wallet/address.ts'
import { WALLET, walletOf } from './grants.ts'
import type { Members } from './members/member.ts'
import { defineOperation, type Listed, readPage, type Subject } from './operation.ts'
import { notFound } from './refusal.ts'
import { named, pageOf, time, walletSchema } from './schemas.ts'
import type { Service } from './service.ts'

const subject = 'sessions'

export const sessionSchema = named(
  'Session',
  Type.Object({
    session_id: Type.String({ description: 'Identifies the session for this API. The id gives no access to the session.' }),
    wallet: walletSchema,
    method: Type.String({ description: 'How the wallet signed in.' }),
    signed_in_at: time,
    last_seen_at: time,
    expires_at: time,
  }),
)

export type SessionRecord = ReturnType<typeof sessionRecord>

/** `session_id` is the hash of the session's id. Only the browser has the id itself. */
export function sessionRecord(session: Session) {
  return {
    session_id: session.hash,
    wallet: session.wallet,
    method: session.method,
    signed_in_at: session.authTime,
    last_seen_at: session.lastSeenAt,
    expires_at: session.expiresAt,
  }
}

export const listSessions = defineOperation<{ wallet: string }, Listed<SessionRecord>>({
  id: 'listSessions',
  subject,
  kind: 'list',
  verb: 'list',
  scope: 'admin.read',
  summary: 'Lists the sessions of a wallet that have not ended, newest first.',
  input: [{ ...WALLET, required: true, option: { value: 'ADDRESS', words: 'The wallet.' } }],
  isPaged: true,
  answers: { done: 'A page of sessions.' },
  output: pageOf(sessionSchema),
  command: { examples: ['--wallet 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'] },
  async run({ service, input, page }) {
    const wallet = walletOf(input.wallet)
    const { items, next } = await readPage<Session, Pick<Session, 'authTime' | 'hash'>>(
      page,
      (limit, after) => service.store.sessions.listSessions(wallet, { at: service.now(), limit, after }),
      ({ authTime, hash }) => ({ authTime, hash }),
    )
    return { output: { items: items.map(sessionRecord), next } }
  },
})

export const endSession = defineOperation<Members, { wallet: string }>({
  id: 'endSession',
  subject,
  kind: 'delete',
  verb: 'end',
  scope: 'admin.grants',
  summary: 'Signs a browser out.',
  description: 'Grants stay valid.',
  answers: { done: 'The session has ended.' },
  output: null,
  // Only a server can notify the apps of the session.
  command: null,
  page: { link: 'End', button: 'End the session', done: 'That browser is signed out.' },
  async question({ service, id }) {
    const { wallet } = await readSession(service, id)
    return {
      title: 'End this session?',
      effect: `It signs 1 browser of ${shortenAddress(wallet)} out. It ends 0 grants.`,
      notes: ['Apps that want it are notified.'],
      isDangerous: true,
    }
  },
  async run({ service, id }) {
    const session = await readSession(service, id)
    const output = { wallet: session.wallet }
    if (session.endedAt !== null) return { output }
    await service.endSession(session)
    return { output, act: { event: 'session_ended', reason: 'operator', ...output } }
  },
})

async function readSession({ store }: Service, id: string): Promise<Session> {
  const session = await store.sessions.readSession(id)
  if (!session) throw notFound(subject, id)
  return session
}

export const sessions: Subject = {
  name: subject,
  noun: 'session',
  words: 'Browsers in which users are signed in',
  settings: 'grants',
  idName: 'session_id',
  displays: [
    { label: 'Session', column: 'SESSION_ID', shown: ({ session_id: id }) => ({ exact: String(id) }) },
    { label: 'Proof', column: 'METHOD', shown: ({ method }) => String(method) },
    { label: 'Signed in', column: 'SIGNED IN', shown: ({ signed_in_at: at }) => ({ time: at as number }) },
    { label: 'Last seen', column: 'LAST SEEN', shown: ({ last_seen_at: at }) => ({ time: at as number }) },
    { label: 'Ends', column: 'ENDS', shown: ({ expires_at: at }) => ({ time: at as number }) },
  ],
  empty: { page: 'This wallet is signed in nowhere.', terminal: 'The wallet is signed in nowhere.' },
  operations: [listSessions, endSession],
}
