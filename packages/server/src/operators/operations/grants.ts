/** Grants of users: reads and ends them. */
import { endOneGrant } from '../../domain/consent/end-grants.ts'
import { countMatching } from '../../domain/consent/end-matching.ts'
import { type PagePlace, readGrantPage } from '../../domain/consent/list-grants.ts'
import { openReceipt } from '../../domain/consent/receipt.ts'
import { describeUse } from '../../domain/limits/use.ts'
import type { Order } from '../../domain/model/pages.ts'
import type { Grant, Receipt } from '../../domain/model/records.ts'
import { conditionsOf, matchingOf } from '../../domain/operators/jobs.ts'
import { type Address, parseAddress, shortenAddress } from '../../protocol/wallet/address.ts'
import type { Member, Members, Shown } from '../members/member.ts'
import { COUNTED_AT_MOST } from './clients.ts'
import { type JobRecord, jobRecord, jobs } from './jobs.ts'
import { Type } from './json-schema.ts'
import { countWords, type LimitRecord, leftWords, limitOrNull, limitRecord, signedWords } from './limit-fields.ts'
import { type Call, column, type Display, type RecordKind, type Subject } from './operation.ts'
import { conflict, invalid, notFound } from './refusal.ts'
import { fieldsOf, nameSchema, refTo, textOrNull, time, timeOrNull, walletSchema } from './schemas.ts'
import type { Service } from './service.ts'
import { operationsOn } from './standard.ts'
import { formatCount, utc } from './words.ts'

/** One wallet has few grants at one client. */
const COUNTED_AT_CLIENT = 100

type GrantAt = Grant & { at: number; ends: number }

const grantFields = fieldsOf<GrantAt>()({
  grant_id: [Type.String(), ({ id }) => id],
  client_id: [Type.String(), ({ clientId }) => clientId],
  wallet: [walletSchema, ({ wallet }) => wallet],
  scopes: [Type.Array(Type.String()), ({ scopes }) => scopes],
  resources: [Type.Array(Type.String({ maxLength: 2000 })), ({ resources }) => resources],
  scopes_by_resource: [
    Type.Union([Type.Record(Type.Array(Type.String())), Type.Null()], {
      description: 'The scopes of each resource; null if every resource has every scope.',
    }),
    ({ scopesByResource }) => scopesByResource,
  ],
  limit: [limitOrNull, (grant) => limitRecord(describeUse(grant, grant.at))],
  state: [Type.Enum(['active', 'expired', 'ended']), stateOf],
  created_at: [time, ({ createdAt }) => createdAt],
  refreshed_at: [time, ({ rotatedAt }) => rotatedAt],
  expires_at: [time, ({ ends }) => ends],
  ended_at: [timeOrNull, ({ endedAt }) => endedAt],
  end_reason: [textOrNull, ({ endReason }) => endReason],
})

type OpenReceipt = Receipt & { message: string; signature: string }

const receiptFields = fieldsOf<OpenReceipt>()({
  receipt_id: [Type.String(), ({ id }) => id],
  wallet: [walletSchema, ({ wallet }) => wallet],
  client_id: [Type.String(), ({ clientId }) => clientId],
  issued_at: [time, ({ issuedAt }) => issuedAt],
  expires_at: [time, ({ expiresAt }) => expiresAt],
  withdrawn_at: [timeOrNull, ({ withdrawnAt }) => withdrawnAt],
  message: [Type.String({ description: 'The text that the wallet signed.' }), ({ message }) => message],
  signature: [Type.String(), ({ signature }) => signature],
})

const receiptSchema = nameSchema('Receipt', Type.Object(receiptFields.schemas))

const grantKind: RecordKind = {
  name: 'grants',
  noun: 'grant',
  words: 'What users allowed',
  schemas: [nameSchema('Grant', Type.Object(grantFields.schemas)), receiptSchema],
  scope: 'admin.grants',
  settings: 'grants',
  idName: 'grant_id',
  displays: [
    ...['grant_id', 'wallet', 'client_id', 'scopes'].map((name) => ({ ...column(name.toUpperCase(), name), print: name })),
    ...['resources', 'scopes_by_resource'].map((name) => printed(name)),
    { ...column('LEFT', 'limit'), shown: ({ limit }) => limitShown(limit, leftWords) },
    { ...printed('limit'), shown: ({ limit }) => limitShown(limit, (of) => ({ lines: limitLines(of) })) },
    { ...column('SINCE', 'created_at', 'time'), print: 'created_at' },
    // For a grant that has ended, also the reason.
    {
      ...column('STATE', 'state'),
      shown: ({ state, end_reason: reason }) => [state, reason].filter((part) => typeof part === 'string').join(': '),
    },
    printed('state'),
    ...['refreshed_at', 'expires_at', 'ended_at'].map((name) => printed(name, 'time')),
    printed('end_reason'),
  ],
  empty: 'No grant matches.',
}
const { list, get, remove, act, existing } = operationsOn(grantKind)

/** A value that only a single record shows. */
function printed(name: string, kind: 'text' | 'time' = 'text'): Display {
  const { column: _, ...display } = column(name, name, kind)
  return { ...display, print: name }
}

function limitShown(limit: unknown, words: (limit: LimitRecord) => Shown): Shown {
  return limit === null ? null : words(limit as LimitRecord)
}

function limitLines(limit: LimitRecord): string[] {
  const { signed, used, left, until } = limit
  return [
    signedWords(limit),
    `used ${countWords(used, signed)}`,
    `left ${countWords(left, signed)}${until === null ? '' : `, until ${utc(until)}`}`,
  ]
}

export type GrantRecord = ReturnType<typeof grantRecord>
export type ReceiptRecord = Awaited<ReturnType<typeof readReceipt>>

function grantRecord(grant: Grant, at: number) {
  return grantFields.read({ ...grant, at, ends: Math.min(grant.expiresAt, grant.refreshExpiresAt) })
}

function stateOf({ endedAt, ends, at }: GrantAt): 'active' | 'expired' | 'ended' {
  if (endedAt !== null) return 'ended'
  return ends <= at ? 'expired' : 'active'
}

/** Throws unless the text is an address. Mixed case must be the EIP-55 form. */
export function walletOf(text: string): Address {
  const parsed = parseAddress(text)
  if (parsed.kind === 'address') return parsed.address
  throw invalid([{ member: 'wallet', words: 'wallet is not an address with the right checksum (EIP-55).' }])
}

/** How a grant or a session is named to an operator. */
const CLIENT_ID: Member = { name: 'client_id', shape: { kind: 'text' } }
/** In which order grants and sessions are listed. */
export const ORDER: Member = {
  name: 'order',
  shape: { kind: 'text', choices: ['newest', 'oldest'] },
  words: 'The first ones; `newest` unless given.',
  option: { value: 'ORDER', words: 'newest first unless given, or oldest.' },
}
export const WALLET: Member = { name: 'wallet', shape: { kind: 'wallet' } }

export const listGrants = list<{ wallet?: string; client_id?: string; active?: boolean; order?: Order }, GrantRecord>({
  summary: 'Lists grants, newest first; the active grants of a wallet by client, and newest first within a client.',
  description:
    'A page can have fewer items than `limit`, even none, if few grants match. The list ends with the page whose `next` is null.',
  input: [
    { ...WALLET, option: { value: 'ADDRESS', words: 'Only grants of this wallet.' } },
    { ...CLIENT_ID, option: { name: 'client', value: 'CLIENT_ID', words: 'Only grants to this client.' } },
    {
      name: 'active',
      shape: { kind: 'flag' },
      words: 'true: only grants that have neither ended nor expired.',
      option: { name: 'living', words: 'Only grants that have neither ended nor expired.' },
    },
    ORDER,
  ],
  isPaged: true,
  command: {
    about:
      'The newest grants come first; with --wallet and --living the grants are in the order of their clients. LEFT is what is left of the limit that the wallet signed, in the current period. STATE is active, expired or, if a grant has ended, ended with the reason (docs/reference/errors.md). Reads and prints one page at a time, so a list of any length begins at once and needs little memory. Each grant is shown in its state when its page was read; grants that are created after the list began are not in it.',
    examples: ['--living --client 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20', '--all --json > grants.json'],
    stream: 'array',
  },
  async run({ service, input, page }) {
    const at = service.now()
    const wallet = input.wallet === undefined ? undefined : walletOf(input.wallet)
    const wanted = { wallet, clientId: input.client_id, living: input.active === true, order: input.order, at }
    const { items, ...places } = await readGrantPage(service.store.grants, wanted, page as PagePlace)
    return { output: { items: items.map((grant) => grantRecord(grant, at)), ...places } }
  },
})

export const getGrant = get<GrantRecord>({
  command: { examples: ['6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a'] },
  run: async ({ service, id }) => ({ output: grantRecord(await readGrant(service, id), service.now()) }),
})

export const getReceiptOfGrant = get<ReceiptRecord>({
  id: 'getReceiptOfGrant',
  verb: 'receipt',
  path: ':id/receipt',
  summary: 'Reads the text that the wallet signed for a grant.',
  answers: { done: 'The receipt.' },
  output: refTo(receiptSchema),
  needs: 'keys',
  command: { examples: ['6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a --json'], printsMembers: true },
  run: async ({ service, id }) => ({ output: await readReceipt(service, id) }),
})

export const endGrant = remove<Members, 'ended' | 'ended_before'>({
  id: 'endGrant',
  verb: 'end',
  summary: 'Ends a grant.',
  description: 'The tokens of the grant are inactive from then on. Repeating the request changes nothing.',
  answers: { done: 'The grant has ended.' },
  // The command `grants revoke` ends one grant or those of a wallet: packages/server/src/app/commands/grants-revoke.ts.
  command: null,
  page: { link: 'End', done: 'The grant has ended.' },
  async question({ service, id }) {
    const { clientId, wallet } = await readGrant(service, id)
    const app = await nameOf(service, clientId)
    return {
      effect: `It ends 1 grant: ${app} loses the access that ${shortenAddress(wallet)} gave it.`,
      notes: ['The wallet can sign in to the app again.'],
    }
  },
  async run({ service, id }) {
    const { clientId: client_id, wallet } = await readGrant(service, id)
    const outcome = await endOneGrant(service.store, id, service.now())
    if (outcome === 'unknown') throw notFound(grantKind.name, id)
    const act = { event: 'grant_ended', reason: 'operator', client_id, grant_id: id, wallet } as const
    return { output: outcome, ...(outcome === 'ended' && { act }) }
  },
})

type AtClient = { wallet: string; client_id?: string }

export const endGrantsOfWallet = act<AtClient, { grants_ended: number }>({
  id: 'endGrantsOfWallet',
  verb: 'end',
  path: 'end',
  summary: 'Ends all grants of a wallet, or those at one client.',
  description:
    'Consents are withdrawn, and codes and sign-ins in progress become void. If the wallet has more than a thousand grants, a job ends the others: until a grant has ended, its tokens stay active.',
  input: [{ ...WALLET, label: 'Wallet', required: true }, CLIENT_ID],
  answers: {
    done: 'All grants have ended. The number of grants that ended.',
    started: 'The job that ends the other grants.',
  },
  output: Type.Object({ grants_ended: Type.Integer() }),
  command: null,
  page: { link: 'End all grants of this wallet', button: 'End the grants' },
  async question({ service, input: { wallet, client_id: clientId } }) {
    const address = walletOf(wallet)
    const atMost = clientId === undefined ? COUNTED_AT_MOST : COUNTED_AT_CLIENT
    const count = await countGrants(service, address, clientId)
    const app = clientId === undefined ? 'all apps' : await nameOf(service, clientId)
    return {
      title: `End all grants of ${shortenAddress(address)}?`,
      effect: `It ends ${formatCount(count, 'grant', atMost)} at ${app}, and withdraws what the wallet signed for ${clientId === undefined ? 'them' : 'it'}.`,
      notes: ['Codes and sign-ins in progress become void. Sessions stay.'],
      isDangerous: true,
    }
  },
  async run({ service, actor, input: { wallet: text, client_id } }: Call<AtClient>) {
    const wallet = walletOf(text)
    const { ended, job } = await service.endGrantsOfWallet({ wallet, clientId: client_id, startedBy: actor.id })
    const at = client_id === undefined ? {} : { client_id }
    if (job) return { output: jobRecord(job), isNew: true, act: { event: 'ending_of_grants_started', wallet, ...at } }
    const act = { event: 'grants_ended', reason: 'operator', wallet, ...at, details: { grants: ended } } as const
    return { output: { grants_ended: ended }, act }
  },
})

type Matching = { client_id?: string; wallet?: string; scope?: string; created_before?: number }

export const endMatchingGrants = act<Matching, JobRecord>({
  id: 'endMatchingGrants',
  verb: 'end-matching',
  path: 'end-matching',
  summary: 'Ends all grants of a client, of a wallet, with a scope, or from before a time.',
  description:
    'Several conditions must all hold, and at least one is needed. Sessions, consents and sign-ins in progress stay, so an app may get a new grant without a signature. Without a client and a wallet, the job reads all grants.',
  input: [
    {
      ...CLIENT_ID,
      label: 'Client',
      hint: 'A client id.',
      option: { name: 'client', value: 'CLIENT_ID', words: 'Only grants to this client.' },
    },
    {
      ...WALLET,
      label: 'Wallet',
      hint: '0x and 40 hexadecimal digits.',
      option: { value: 'ADDRESS', words: 'Only grants of this wallet.' },
    },
    {
      name: 'scope',
      shape: { kind: 'text' },
      longest: 64,
      label: 'Scope',
      option: { value: 'SCOPE', words: 'Only grants with this scope.' },
    },
    {
      name: 'created_before',
      shape: { kind: 'time' },
      label: 'Created before (UTC)',
      option: { value: 'TIME', words: 'Only grants from before this time: a date, a time in UTC, or how long ago, such as 90d.' },
    },
  ],
  refusals: ['conflict'],
  answers: { started: 'The job, which goes on without the caller.' },
  output: refTo(jobs.schemas[0]),
  command: {
    examples: ['--scope enhancement --created-before 90d --yes'],
    isConfirmed: true,
    done: ({ grants_ended: ended }: JobRecord) => `Ended ${formatCount(ended, 'grant')}.`,
    json: ({ client_id, wallet, grants_ended }: JobRecord) => ({ client_id, wallet, grants_ended }),
  },
  page: {
    link: 'End several grants',
    intro: 'All conditions that are given must hold. Leave a field empty for any value.',
    button: 'End the grants',
  },
  async question({ service, input }) {
    const { clientId } = conditionsIn(input)
    const { number: count, kind: how } = await countMatchingGrants(service, input)
    const of = clientId === '' ? 'all apps' : await nameOf(service, clientId)
    return {
      title: 'End these grants?',
      effect: `It ends ${how === 'at_least' ? 'at least ' : ''}${formatCount(count, 'grant')} of ${of}.`,
      notes: [
        ...(how === 'at_least' ? ['There are too many grants to count all of them here. The job counts them.'] : []),
        'Sessions, consents and sign-ins in progress stay, so an app may get a new grant without a signature. This cannot be undone.',
      ],
      isDangerous: true,
    }
  },
  async run({ service, actor, input }) {
    const { clientId, matching } = conditionsIn(input)
    const job = await service.startJob({ kind: 'end_matching_grants', clientId, matching, startedBy: actor.id })
    if (job === null) throw conflict('Too many jobs are under way. Wait until one is done.')
    const { doneAt, grantsEnded } = job
    const act = {
      event: doneAt === null ? 'ending_of_grants_started' : 'grants_ended',
      ...(clientId !== '' && { client_id: clientId }),
      ...(matching.wallet !== null && { wallet: matching.wallet }),
      details: { ...conditionsOf(matching), ...(doneAt !== null && { grants: grantsEnded }) },
    } as const
    return { output: jobRecord(job), isNew: true, act }
  },
})

/** The grants that match and have not ended. `rows`: the most rows that are read. */
export function countMatchingGrants({ store }: Service, input: Matching, rows?: number): ReturnType<typeof countMatching> {
  return countMatching(store, matchingOf(conditionsIn(input)), rows)
}

function conditionsIn({ client_id: clientId = '', wallet, scope, created_before: before }: Matching) {
  const matching = {
    wallet: wallet === undefined ? null : walletOf(wallet),
    scope: scope ?? null,
    createdBefore: before ?? null,
  }
  if (clientId === '' && Object.values(matching).every((value) => value === null))
    throw invalid([{ member: null, words: 'At least one condition is needed.' }])
  return { clientId, matching }
}

async function readGrant({ store }: Service, id: string): Promise<Grant> {
  return existing(await store.grants.readGrant(id), id)
}

async function readReceipt(service: Service, id: string) {
  const { wallet, receiptId } = await readGrant(service, id)
  const receipt = receiptId === null ? null : await service.store.receipts.readReceipt(wallet, receiptId)
  const signed = receipt && openReceipt(service.keys().ring, receipt)
  if (!receipt || !signed) throw notFound('receipts', id)
  return receiptFields.read({ ...receipt, ...signed })
}

/** The store counts the grants of a wallet, or reads those at one client. */
async function countGrants({ store, now }: Service, wallet: Address, clientId: string | undefined): Promise<number> {
  if (clientId === undefined) return store.grants.countUnendedGrants({ wallet }, COUNTED_AT_MOST)
  const active = { wallet, clientId, living: true, at: now() }
  return (await readGrantPage(store.grants, active, { limit: COUNTED_AT_CLIENT })).items.length
}

/** The client id, if the client was deleted or has no name. */
async function nameOf({ nameOfClient }: Service, clientId: string): Promise<string> {
  return (await nameOfClient(clientId)) || clientId
}

export const grants: Subject = {
  ...grantKind,
  operations: [listGrants, getGrant, getReceiptOfGrant, endGrant, endGrantsOfWallet, endMatchingGrants],
}
