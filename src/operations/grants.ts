/** Grants of users: reading and ending them. */
import { Type } from 'typebox'
import { endOneGrant } from '../domain/consent/end-grants.ts'
import { type GrantPlace, readGrantPage } from '../domain/consent/list-grants.ts'
import { openReceipt } from '../domain/consent/receipt.ts'
import type { Grant } from '../domain/model/records.ts'
import { type Address, parseAddress, shortenAddress } from '../wallet/address.ts'
import { COUNTED_AT_MOST } from './clients.ts'
import { jobRecord, jobSchema } from './jobs.ts'
import type { Member, Members } from './members/member.ts'
import { type Call, defineOperation, type Listed, type Subject } from './operation.ts'
import { invalid, notFound } from './refusal.ts'
import { named, pageOf, refTo, textOrNull, time, timeOrNull, walletSchema } from './schemas.ts'
import type { Service } from './service.ts'
import { counted } from './words.ts'

const subject = 'grants'
/** One wallet has few grants at one client. */
const COUNTED_AT_CLIENT = 100

export const grantSchema = named(
  'Grant',
  Type.Object({
    grant_id: Type.String(),
    client_id: Type.String(),
    wallet: walletSchema,
    scopes: Type.Array(Type.String()),
    resources: Type.Array(Type.String({ maxLength: 2000 })),
    scopes_by_resource: Type.Union([Type.Record(Type.String(), Type.Array(Type.String())), Type.Null()], {
      description: 'The scopes of each resource; null if every resource has every scope.',
    }),
    state: Type.Enum(['active', 'expired', 'ended']),
    created_at: time,
    refreshed_at: time,
    expires_at: time,
    ended_at: timeOrNull,
    end_reason: textOrNull,
  }),
)

export const receiptSchema = named(
  'Receipt',
  Type.Object({
    receipt_id: Type.String(),
    wallet: walletSchema,
    client_id: Type.String(),
    issued_at: time,
    expires_at: time,
    withdrawn_at: timeOrNull,
    message: Type.String({ description: 'The text that the wallet signed.' }),
    signature: Type.String(),
  }),
)

export type GrantRecord = ReturnType<typeof grantRecord>
export type ReceiptRecord = Awaited<ReturnType<typeof readReceipt>>

export function grantRecord(grant: Grant, at: number) {
  const expiresAt = Math.min(grant.expiresAt, grant.refreshExpiresAt)
  return {
    grant_id: grant.id,
    client_id: grant.clientId,
    wallet: grant.wallet,
    scopes: grant.scopes,
    resources: grant.resources,
    scopes_by_resource: grant.scopesByResource,
    state: grant.endedAt !== null ? 'ended' : expiresAt <= at ? 'expired' : 'active',
    created_at: grant.createdAt,
    refreshed_at: grant.rotatedAt,
    expires_at: expiresAt,
    ended_at: grant.endedAt,
    end_reason: grant.endReason,
  }
}

/** Throws unless the text is an address. Mixed case must be the EIP-55 form. */
export function walletOf(text: string): Address {
  const parsed = parseAddress(text)
  if (parsed.kind === 'address') return parsed.address
  throw invalid(['wallet is not an address with the right checksum (EIP-55).'])
}

/** How a grant or a session is named to an operator. */
const CLIENT_ID: Member = { name: 'client_id', shape: { kind: 'text' } }
export const WALLET: Member = { name: 'wallet', shape: { kind: 'wallet' } }

export const listGrants = defineOperation<{ wallet?: string; client_id?: string; active?: boolean }, Listed<GrantRecord>>({
  id: 'listGrants',
  subject,
  kind: 'list',
  verb: 'list',
  scope: 'admin.read',
  summary: 'Lists grants, newest first; the active grants of a wallet by client, and newest first within a client.',
  description:
    'A page can have fewer items than `limit`, even none, if few grants match. The list ends with the page whose `next` is null.',
  input: [
    WALLET,
    CLIENT_ID,
    { name: 'active', shape: { kind: 'flag' }, words: 'true: only grants that have neither ended nor expired.' },
  ],
  isPaged: true,
  answers: { done: 'A page of grants.' },
  output: pageOf(grantSchema),
  // The command `grants list` prints a list of any length: src/cli/commands/grants-list.ts.
  command: null,
  async run({ service, input, page }) {
    const at = service.now()
    const wallet = input.wallet === undefined ? undefined : walletOf(input.wallet)
    const wanted = { wallet, clientId: input.client_id, living: input.active === true, at }
    const { limit, after } = page
    const { items, next } = await readGrantPage(service.store.grants, wanted, { limit, after: after as GrantPlace | undefined })
    return { output: { items: items.map((grant) => grantRecord(grant, at)), next } }
  },
})

export const getGrant = defineOperation<Members, GrantRecord>({
  id: 'getGrant',
  subject,
  kind: 'get',
  verb: 'show',
  scope: 'admin.read',
  summary: 'Reads a grant.',
  answers: { done: 'The grant.' },
  output: refTo(grantSchema),
  command: { examples: ['6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a'] },
  run: async ({ service, id }) => ({ output: grantRecord(await readGrant(service, id), service.now()) }),
})

export const getReceiptOfGrant = defineOperation<Members, ReceiptRecord>({
  id: 'getReceiptOfGrant',
  subject,
  kind: 'get',
  verb: 'receipt',
  path: ':id/receipt',
  scope: 'admin.read',
  summary: 'Reads the text that the wallet signed for a grant.',
  answers: { done: 'The receipt.' },
  output: refTo(receiptSchema),
  command: { examples: ['6f1d2c3b-8a47-4c5e-b1a0-9d3e7f2c4b5a --json'], settings: 'keys' },
  run: async ({ service, id }) => ({ output: await readReceipt(service, id) }),
})

export const endGrant = defineOperation<Members, 'ended' | 'ended_before'>({
  id: 'endGrant',
  subject,
  kind: 'delete',
  verb: 'end',
  scope: 'admin.grants',
  summary: 'Ends a grant.',
  description: 'The tokens of the grant are inactive from then on. Repeating the request changes nothing.',
  answers: { done: 'The grant has ended.' },
  output: null,
  // The command `grants revoke` ends one grant or those of a wallet: src/cli/commands/grants-revoke.ts.
  command: null,
  page: { link: 'End', button: 'End the grant', done: 'The grant has ended.' },
  async question({ service, id }) {
    const { clientId, wallet } = await readGrant(service, id)
    const app = await nameOf(service, clientId)
    return {
      title: 'End this grant?',
      effect: `It ends 1 grant: ${app} loses the access that ${shortenAddress(wallet)} gave it.`,
      notes: ['The wallet can sign in to the app again.'],
      isDangerous: true,
    }
  },
  async run({ service, id }) {
    const { clientId: client_id, wallet } = await readGrant(service, id)
    const outcome = await endOneGrant(service.store, id, service.now())
    if (outcome === 'unknown') throw notFound(subject, id)
    const act = { event: 'grant_ended', reason: 'operator', client_id, grant_id: id, wallet } as const
    return { output: outcome, ...(outcome === 'ended' && { act }) }
  },
})

type AtClient = { wallet: string; client_id?: string }

export const endGrantsOfWallet = defineOperation<AtClient, { grants_ended: number }>({
  id: 'endGrantsOfWallet',
  subject,
  kind: 'act',
  verb: 'end',
  path: 'end',
  scope: 'admin.grants',
  summary: 'Ends all grants of a wallet, or those at one client.',
  description:
    'Consents are withdrawn, and codes and logins in progress become void. If the wallet has more than a thousand grants, a job ends the others: until a grant has ended, its tokens stay active.',
  input: [{ ...WALLET, required: true }, CLIENT_ID],
  answers: {
    done: 'All grants have ended. The number of grants that ended.',
    started: 'The job that ends the other grants.',
  },
  output: Type.Object({ grants_ended: Type.Integer() }),
  startedOutput: refTo(jobSchema),
  command: null,
  page: { link: 'End all grants of this wallet', button: 'End the grants' },
  async question({ service, input: { wallet, client_id: clientId } }) {
    const address = walletOf(wallet)
    const atMost = clientId === undefined ? COUNTED_AT_MOST : COUNTED_AT_CLIENT
    const count = await countGrants(service, address, clientId)
    const app = clientId === undefined ? 'all apps' : await nameOf(service, clientId)
    return {
      title: `End all grants of ${shortenAddress(address)}?`,
      effect: `It ends ${counted(count, 'grant', atMost)} at ${app}, and withdraws what the wallet signed for ${clientId === undefined ? 'them' : 'it'}.`,
      notes: ['Codes and logins in progress become void. Sessions stay.'],
      facts: [['Wallet', address]],
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

async function readGrant({ store }: Service, id: string): Promise<Grant> {
  const grant = await store.grants.readGrant(id)
  if (!grant) throw notFound(subject, id)
  return grant
}

async function readReceipt(service: Service, id: string) {
  const { wallet, receiptId } = await readGrant(service, id)
  const receipt = receiptId === null ? null : await service.store.receipts.readReceipt(wallet, receiptId)
  const signed = receipt && openReceipt(service.keys().ring, receipt)
  if (!receipt || !signed) throw notFound('receipts', id)
  return {
    receipt_id: receipt.id,
    wallet,
    client_id: receipt.clientId,
    issued_at: receipt.issuedAt,
    expires_at: receipt.expiresAt,
    withdrawn_at: receipt.withdrawnAt,
    ...signed,
  }
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
  name: subject,
  noun: 'grant',
  words: 'What users allowed',
  operand: { name: 'GRANT_ID', words: 'The id of the grant, from grantor grants list.' },
  settings: 'grants',
  idName: 'grant_id',
  operations: [listGrants, getGrant, getReceiptOfGrant, endGrant, endGrantsOfWallet],
}
