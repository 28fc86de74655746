/** Sessions of users: the browsers in which they are signed in. */
import type { Order } from '../../domain/model/pages.ts'
import type { Session } from '../../domain/model/records.ts'
import { type Address, shortenAddress } from '../../protocol/wallet/address.ts'
import type { Members } from '../members/member.ts'
import { ORDER, WALLET, walletOf } from './grants.ts'
import { Type } from './json-schema.ts'
import {
  column,
  defineServerOperation,
  type Listed,
  type PageRequest,
  type RecordKind,
  readBothWays,
  readPage,
  type Subject,
  timeDisplay,
} from './operation.ts'
import { fieldsOf, nameSchema, time, walletSchema } from './schemas.ts'
import type { Service } from './service.ts'
import { operationsOn } from './standard.ts'

const fields = fieldsOf<Session>()({
  session_id: [
    Type.String({ description: 'Identifies the session for this API. The id gives no access to the session.' }),
    // Only the browser has the id itself.
    ({ hash }) => hash,
  ],
  wallet: [walletSchema, ({ wallet }) => wallet],
  method: [Type.String({ description: 'How the wallet signed in.' }), ({ method }) => method],
  signed_in_at: [time, ({ authTime }) => authTime],
  last_seen_at: [time, ({ lastSeenAt }) => lastSeenAt],
  expires_at: [time, ({ expiresAt }) => expiresAt],
})

const sessionKind: RecordKind = {
  name: 'sessions',
  noun: 'session',
  words: 'Browsers in which users are signed in',
  schemas: [nameSchema('Session', Type.Object(fields.schemas))],
  scope: 'admin.grants',
  settings: 'grants',
  idName: 'session_id',
  displays: [
    { label: 'Session', column: 'SESSION_ID', shown: ({ session_id: id }) => ({ exact: String(id) }) },
    { ...column('WALLET', 'wallet'), label: 'Wallet' },
    { label: 'Proof', column: 'METHOD', shown: ({ method }) => String(method) },
    timeDisplay('signed_in_at', 'Signed in', { column: 'SIGNED IN' }),
    timeDisplay('last_seen_at', 'Last seen', { column: 'LAST SEEN' }),
    timeDisplay('expires_at', 'Ends', { column: 'ENDS' }),
  ],
  empty: 'No wallet is signed in.',
}
const { list, existing } = operationsOn(sessionKind)

export type SessionRecord = ReturnType<typeof fields.read>

/** Counting stops at this number. */
const SESSIONS_COUNTED_AT_MOST = 10_000

export const listSessions = list<{ wallet?: string; order?: Order }, SessionRecord>({
  summary: 'Lists the sessions that have not ended, newest first: those of a wallet, or those of all wallets.',
  description: 'The list of all wallets is in the order in which the sessions end, and can be read in both directions.',
  input: [{ ...WALLET, option: { value: 'ADDRESS', words: 'Only sessions of this wallet.' } }, ORDER],
  isPaged: true,
  command: {
    examples: ['--wallet 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', '--limit 20'],
    stream: 'array',
  },
  run: async ({ service, input: { wallet, order = 'newest' }, page }) => ({
    output: wallet === undefined ? await allSessions(service, order, page) : await sessionsOf(service, walletOf(wallet), page),
  }),
})

async function sessionsOf({ store, now }: Service, wallet: Address, page: PageRequest): Promise<Listed<SessionRecord>> {
  const { items, next } = await readPage<Session, Pick<Session, 'authTime' | 'hash'>>(
    page,
    (limit, after) => store.sessions.listSessions(wallet, { at: now(), limit, after }),
    ({ authTime, hash }) => ({ authTime, hash }),
  )
  return { items: items.map(fields.read), next }
}

async function allSessions({ store, now }: Service, order: Order, page: PageRequest): Promise<Listed<SessionRecord>> {
  const at = now()
  const opposite = order === 'newest' ? 'oldest' : 'newest'
  const [{ items, ...places }, number] = await Promise.all([
    readBothWays<Session, Pick<Session, 'expiresAt' | 'hash'>>(
      page,
      ({ limit, place: after, isBackwards }) =>
        store.sessions.listAllSessions({ at, limit, after, order: isBackwards ? opposite : order }),
      ({ expiresAt, hash }) => ({ expiresAt, hash }),
    ),
    store.sessions.countSessions(at, SESSIONS_COUNTED_AT_MOST),
  ])
  const kindOfCount = number >= SESSIONS_COUNTED_AT_MOST ? 'at_least' : 'exact'
  return { items: items.map(fields.read), ...places, total: { number, kind: kindOfCount } }
}

export const endSession = defineServerOperation<Members, { wallet: string }>({
  id: 'endSession',
  subject: sessionKind.name,
  kind: 'delete',
  verb: 'end',
  scope: sessionKind.scope,
  summary: 'Signs a browser out.',
  description: 'Grants stay valid.',
  answers: { done: 'The session has ended.' },
  output: null,
  // Only a server can notify the apps of the session.
  needs: 'server',
  command: null,
  page: { link: 'End', done: 'That browser is signed out.' },
  async question({ service, id }) {
    const { wallet } = await readSession(service, id)
    return {
      effect: `It signs 1 browser of ${shortenAddress(wallet)} out. It ends 0 grants.`,
      notes: ['Apps that want it are notified.'],
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
  return existing(await store.sessions.readSession(id), id)
}

export const sessions: Subject = { ...sessionKind, operations: [listSessions, endSession] }
