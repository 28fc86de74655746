/** Stored keys on SQLite: always wrapped. Every change raises the store's revision in the same commit. */
import type { KeyRecord, KeyStore } from '../../domain/model/operator-store.ts'
import type { Connection } from './connection.ts'
import { raiseRevision } from './revision.ts'

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
  const insert = connection.prepareWrite(`
    INSERT INTO keys (id, kind, number, algorithm, wrapped, created_at, starts_at, retired_at)
    VALUES (:id, :kind, :number, :algorithm, :wrapped, :createdAt, :startsAt, :retiredAt)
    ON CONFLICT DO NOTHING`)
  const retire = connection.prepareWrite(
    'UPDATE keys SET retired_at = :at, wrapped = NULL WHERE id = :keyId AND kind = :kind AND retired_at IS NULL',
  )
  const rewrap = connection.prepareWrite('UPDATE keys SET wrapped = :to WHERE id = :id AND kind = :kind AND wrapped = :from')
  const raise = raiseRevision(connection)
  const list = connection.prepareRead(
    'SELECT id, kind, number, algorithm, wrapped, created_at, starts_at, retired_at FROM keys ORDER BY kind, number',
  )
  return {
    insertKey: (key) =>
      connection.write(() => {
        if (insert.run({ ...key }).changes === 0) return 'taken'
        raise(key.id)
        return 'inserted'
      }),
    listKeys: () => connection.read(() => list.all().map((row) => keyOf(row as KeyRow))),
    rewrapKey: ({ id, kind }, from, to) =>
      connection.write(() => {
        if (rewrap.run({ id, kind, from, to }).changes === 0) return 'changed'
        raise(id)
        return 'rewrapped'
      }),
    retireKey: (keyId, kind, at) =>
      connection.write(() => {
        if (retire.run({ keyId, kind, at }).changes === 0) return 'unknown'
        raise(keyId)
        return 'retired'
      }),
  }
}

function keyOf(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    kind: row.kind as KeyRecord['kind'],
    number: row.number,
    algorithm: row.algorithm as KeyRecord['algorithm'],
    wrapped: row.wrapped,
    createdAt: row.created_at,
    startsAt: row.starts_at,
    retiredAt: row.retired_at,
  }
}
