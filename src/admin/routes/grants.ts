/** Grants and sessions of users: reading and ending them. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { endGrantsOfWallet, endOneGrant, endSession } from '../../domain/consent/end-grants.ts'
import { type GrantPlace, readGrantPage } from '../../domain/consent/list-grants.ts'
import { openReceipt } from '../../domain/consent/receipt.ts'
import type { Grant, Session } from '../../domain/model/records.ts'
import { recordAct } from '../acts.ts'
import type { Admin } from '../admin.ts'
import { addOperation } from '../operation.ts'
import { createPaging, createPlacedPaging } from '../paging.ts'
import { notFound } from '../problem.ts'
import { grantRecord, sessionRecord } from '../records.ts'
import { endedSchema, grantSchema, idParams, pageOf, pageQuery, receiptSchema, sessionSchema, walletSchema } from '../schemas.ts'
import { walletOf } from '../wallet.ts'

const CLOSED = { additionalProperties: false } as const
const clientId = Type.String({ minLength: 1, maxLength: 2000 })

export function grantRoutes(server: FastifyInstance, admin: Admin): void {
  addListGrants(server, admin)
  addGetGrant(server, admin)
  addGetReceiptOfGrant(server, admin)
  addEndGrant(server, admin)
  addEndGrantsOfWallet(server, admin)
}

function addListGrants(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin
  const pageGrants = createPlacedPaging<GrantPlace>(admin, 'grants')

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/grants',
      id: 'listGrants',
      tag: 'grants',
      summary: 'Lists grants, newest first; the active grants of a wallet by client, and newest first within a client.',
      description:
        'A page can have fewer items than `limit`, even none, if few grants match. The list ends with the page whose `next` is null.',
      scope: 'admin.read',
      query: Type.Object(
        {
          wallet: Type.Optional(walletSchema),
          client_id: Type.Optional(clientId),
          active: Type.Optional(Type.Boolean({ description: 'true: only grants that have neither ended nor expired.' })),
          ...pageQuery,
        },
        CLOSED,
      ),
      answers: { 200: { description: 'A page of grants.', schema: pageOf(grantSchema) } },
    },
    async ({ query }) => {
      const at = deps.now()
      const wallet = query.wallet === undefined ? undefined : walletOf(query.wallet)
      const wanted = { wallet, clientId: query.client_id, living: query.active === true, at }
      const { items, next } = await pageGrants(query, (limit, after) => readGrantPage(store.grants, wanted, { limit, after }))
      return { items: items.map((grant) => grantRecord(grant, at)), next }
    },
  )
}

function addGetGrant(server: FastifyInstance, admin: Admin): void {
  const { deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/grants/:id',
      id: 'getGrant',
      tag: 'grants',
      summary: 'Reads a grant.',
      scope: 'admin.read',
      params: idParams,
      answers: { 200: { description: 'The grant.', schema: grantSchema } },
      refusals: [404],
    },
    async ({ params }) => grantRecord(await readExistingGrant(admin, params.id), deps.now()),
  )
}

function addGetReceiptOfGrant(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/grants/:id/receipt',
      id: 'getReceiptOfGrant',
      tag: 'grants',
      summary: 'Reads the text that the wallet signed for a grant.',
      scope: 'admin.read',
      params: idParams,
      answers: { 200: { description: 'The receipt.', schema: receiptSchema } },
      refusals: [404],
    },
    async ({ params }) => {
      const { wallet, receiptId } = await readExistingGrant(admin, params.id)
      const receipt = receiptId === null ? null : await store.receipts.readReceipt(wallet, receiptId)
      const signed = receipt && openReceipt(deps.keys, receipt)
      if (!receipt || !signed) throw notFound('receipt')
      return {
        receipt_id: receipt.id,
        wallet,
        client_id: receipt.clientId,
        issued_at: receipt.issuedAt,
        expires_at: receipt.expiresAt,
        withdrawn_at: receipt.withdrawnAt,
        ...signed,
      }
    },
  )
}

function addEndGrant(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'DELETE',
      path: '/v1/grants/:id',
      id: 'endGrant',
      tag: 'grants',
      summary: 'Ends a grant.',
      description: 'The tokens of the grant are inactive from then on. Repeating the request changes nothing.',
      scope: 'admin.grants',
      params: idParams,
      answers: { 204: { description: 'The grant has ended.', schema: null } },
      refusals: [404],
    },
    async ({ operator, params }) => {
      const { clientId: client_id, wallet } = await readExistingGrant(admin, params.id)
      const outcome = await endOneGrant(store, params.id, deps.now())
      if (outcome === 'unknown') throw notFound('grant')
      if (outcome === 'ended')
        recordAct(admin, operator, {
          event: 'grant_ended',
          reason: 'operator',
          client_id,
          grant_id: params.id,
          wallet,
        })
    },
  )
}

function addEndGrantsOfWallet(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'POST',
      path: '/v1/grants/end',
      id: 'endGrantsOfWallet',
      tag: 'grants',
      summary: 'Ends all grants of a wallet, or those at one client.',
      description: 'Consents are withdrawn, and codes and logins in progress become void.',
      scope: 'admin.grants',
      body: Type.Object({ wallet: walletSchema, client_id: Type.Optional(clientId) }, CLOSED),
      answers: { 200: { description: 'The number of grants that ended.', schema: endedSchema } },
    },
    async ({ operator, body }) => {
      const wallet = walletOf(body.wallet)
      const ended = await endGrantsOfWallet(store, wallet, body.client_id, deps.now())
      recordAct(admin, operator, {
        event: 'grants_ended',
        reason: 'operator',
        wallet,
        ...(body.client_id === undefined ? {} : { client_id: body.client_id }),
        details: { grants: ended },
      })
      return { grants_ended: ended }
    },
  )
}

async function readExistingGrant({ store }: Admin, id: string): Promise<Grant> {
  const grant = await store.grants.readGrant(id)
  if (!grant) throw notFound('grant')
  return grant
}

export function sessionRoutes(server: FastifyInstance, admin: Admin): void {
  addListSessions(server, admin)
  addEndSession(server, admin)
}

function addListSessions(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin
  const pageSessions = createPaging<Pick<Session, 'authTime' | 'hash'>>(admin, 'sessions')

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/sessions',
      id: 'listSessions',
      tag: 'sessions',
      summary: 'Lists the sessions of a wallet that have not ended, newest first.',
      scope: 'admin.read',
      query: Type.Object({ wallet: walletSchema, ...pageQuery }, CLOSED),
      answers: { 200: { description: 'A page of sessions.', schema: pageOf(sessionSchema) } },
    },
    async ({ query }) => {
      const wallet = walletOf(query.wallet)
      const { items, next } = await pageSessions(
        query,
        (limit, after) => store.sessions.listSessions(wallet, { at: deps.now(), limit, after }),
        ({ authTime, hash }) => ({ authTime, hash }),
      )
      return { items: items.map(sessionRecord), next }
    },
  )
}

function addEndSession(server: FastifyInstance, admin: Admin): void {
  const { store, deps } = admin

  addOperation(
    server,
    admin,
    {
      method: 'DELETE',
      path: '/v1/sessions/:id',
      id: 'endSession',
      tag: 'sessions',
      summary: 'Signs a browser out.',
      description: 'Grants stay valid.',
      scope: 'admin.grants',
      params: idParams,
      answers: { 204: { description: 'The session has ended.', schema: null } },
      refusals: [404],
    },
    async ({ operator, params }) => {
      const session = await store.sessions.readSession(params.id)
      if (!session) throw notFound('session')
      if (session.endedAt !== null) return
      await endSession(deps, session)
      recordAct(admin, operator, { event: 'session_ended', reason: 'operator', wallet: session.wallet })
    },
  )
}
