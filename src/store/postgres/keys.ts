/** Keys on PostgreSQL, stored as they are passed: wrapped. Each change raises the store's revision in the same statement. */
import type { KeyRecord, KeyStore } from '../../domain/model/operator-store.ts'
import type { Connection } from './connection/connection.ts'
import { preparingConfirmation, raising } from './revision.ts'

type KeyRow = {
  id: string
  kind: string
  number: number
  algorithm: string
  wrapped: Uint8Array | null
  created_at: number
  starts_at: number
  retired_at: number | null
}

export function createKeyStore(connection: Connection): KeyStore {
  const insert = connection.prepare(
    'once',
    raising(`
      INSERT INTO keys (id, kind, number, algorithm, wrapped, created_at, starts_at, retired_at)
      VALUES (:id, :kind, :number, :algorithm, :wrapped, :createdAt, :startsAt, :retiredAt)
      ON CONFLICT DO NOTHING`),
  )
  const retire = connection.prepare(
    'once',
    raising('UPDATE keys SET retired_at = :at, wrapped = NULL WHERE id = :keyId AND kind = :kind AND retired_at IS NULL'),
  )
  const rewrap = connection.prepare(
    'once',
    raising('UPDATE keys SET wrapped = :to WHERE id = :id AND kind = :kind AND wrapped = :from'),
  )
  const confirm = preparingConfirmation(connection)
  const list = connection.prepare<KeyRow>(
    'read',
    'SELECT id, kind, number, algorithm, wrapped, created_at, starts_at, retired_at FROM keys ORDER BY kind, number',
  )
  return {
    insertKey: async (key) => ((await insert(key)).length > 0 ? 'inserted' : 'taken'),
    listKeys: async () => (await list()).map(keyOf),
    rewrapKey: async ({ id, kind }, from, to) => ((await rewrap({ id, kind, from, to })).length > 0 ? 'rewrapped' : 'changed'),
    async retireKey(keyId, kind, at) {
      if ((await retire({ keyId, kind, at })).length > 0) return 'retired'
      await confirm()
      return 'unknown'
    },
  }
}

function keyOf(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    kind: row.kind as KeyRecord['kind'],
    number: row.number,
    algorithm: row.algorithm as KeyRecord['algorithm'],
    wrapped: row.wrapped && new Uint8Array(row.wrapped),
    createdAt: row.created_at,
    startsAt: row.starts_at,
    retiredAt: row.retired_at,
  }
}
