/** The kinds, states and times of the keys. No operation returns key material. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { retireKey, rotateKey } from '../../domain/maintenance/keep-keys.ts'
import { recordAct } from '../acts.ts'
import type { Admin } from '../admin.ts'
import { addOperation } from '../operation.ts'
import { notFound, Problem } from '../problem.ts'
import { keyRecord } from '../records.ts'
import { idParams, KEY_KINDS, keySchema } from '../schemas.ts'

const tag = 'keys'

export function keyRoutes(server: FastifyInstance, admin: Admin): void {
  addListKeys(server, admin)
  addRotateKey(server, admin)
  addRetireKey(server, admin)
}

function addListKeys(server: FastifyInstance, admin: Admin): void {
  const { store, keyKeeping } = admin

  addOperation(
    server,
    admin,
    {
      method: 'GET',
      path: '/v1/keys',
      id: 'listKeys',
      tag,
      summary: 'Lists the keys with their states.',
      scope: 'admin.read',
      answers: { 200: { description: 'All keys.', schema: Type.Object({ items: Type.Array(keySchema) }) } },
    },
    async () => {
      const records = await store.keys.listKeys()
      return { items: records.map((key) => keyRecord(keyKeeping, records, key)) }
    },
  )
}

function addRotateKey(server: FastifyInstance, admin: Admin): void {
  const { store, keyKeeping } = admin

  addOperation(
    server,
    admin,
    {
      method: 'POST',
      path: '/v1/keys',
      id: 'rotateKey',
      tag,
      summary: 'Makes the next key of a kind.',
      description: 'The key is announced for 60 seconds, then it takes over. Nothing stops working.',
      scope: 'admin.keys',
      body: Type.Object({ kind: Type.Enum([...KEY_KINDS]) }, { additionalProperties: false }),
      answers: { 201: { description: 'The new key.', schema: keySchema } },
      refusals: [409],
    },
    async ({ operator, body, reply }) => {
      const key = await rotateKey(keyKeeping, body.kind)
      if (key === 'taken') throw new Problem('conflict', 'Another process made a key of this kind just now.')
      recordAct(admin, operator, { event: 'key_made', reason: key.kind, key_id: key.id })
      const records = await store.keys.listKeys()
      return reply.code(201).send(keyRecord(keyKeeping, records, key))
    },
  )
}

function addRetireKey(server: FastifyInstance, admin: Admin): void {
  const { keyKeeping } = admin

  addOperation(
    server,
    admin,
    {
      method: 'DELETE',
      path: '/v1/keys/:id',
      id: 'retireKey',
      tag,
      summary: 'Deletes a key permanently.',
      description:
        'Refused while the key is in use, or while something that it made may be valid. With `at_once`, for a key that leaked, a new key takes over immediately, and everything that the old key made stops working.',
      scope: 'admin.keys',
      params: idParams,
      query: Type.Object({ at_once: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
      answers: { 204: { description: 'The key was retired.', schema: null } },
      refusals: [404, 409],
    },
    async ({ operator, params, query }) => {
      const outcome = await retireKey(keyKeeping, params.id, { atOnce: query.at_once === true })
      switch (outcome.kind) {
        case 'unknown':
          throw notFound('key')
        case 'still_makes':
          throw new Problem('conflict', 'The key is in use. Rotate the key first, or use at_once if it leaked.')
        case 'still_opens':
          throw new Problem('conflict', `What the key made may be valid until ${new Date(outcome.until * 1000).toISOString()}.`)
        case 'retired':
          recordAct(admin, operator, { event: 'key_retired', key_id: params.id })
      }
    },
  )
}
