/**
 * PostgreSQL on full disks. The disks are small file systems in memory, so the test needs root on Linux. `npm run test:store`
 * runs it.
 */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chownSync, cpSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Store } from '../../../src/domain/model/store.ts'
import { StoreUnavailable } from '../../../src/domain/model/store-errors.ts'
import { migratePostgres, openPostgresStore } from '../../../src/store/postgres/index.ts'
import { addressOf } from '../../support/postgres.ts'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts'
import { connect } from '../../support/sql.ts'
import { livingGrant, NOW, newGrant, rotationOf, someSession } from '../contract/subject.ts'

const able = process.env.TEST_STORE === 'full' && process.platform === 'linux' && process.getuid?.() === 0

describe.runIf(able)('PostgreSQL on a full disk', () => {
  let server: PostgresServer
  let disk: string
  beforeEach(async () => {
    server = await startPostgres({ wal_keep_size: '0', max_wal_size: '64MB', min_wal_size: '32MB' })
    disk = mkdtempSync(join(tmpdir(), 'grantor-small-disk-'))
  })
  afterEach(async () => {
    await server.remove()
    try {
      execFileSync('umount', ['--lazy', disk], { stdio: 'ignore' })
    } finally {
      rmSync(disk, { recursive: true, force: true })
    }
  })

  /** Mounts a file system of this many megabytes that belongs to the server's user. */
  function mountSmallDisk(megabytes: number): void {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', disk])
    const { uid, gid } = statSync(server.folder)
    chownSync(disk, uid, gid)
  }

  /** Fills the disk completely. Returns the function that frees the space again. */
  function fillUp(): () => void {
    const ballast = join(disk, 'ballast')
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(1 << 20), { flag: 'a' })
    } catch (error) {
      expect((error as { code: string }).code).toBe('ENOSPC')
    }
    return () => rmSync(ballast)
  }

  /** Redeems codes until one fails. Returns the ids of the acknowledged grants, the errors, and the refused grants. */
  async function putUntilFull(store: Store) {
    const put: string[] = []
    for (;;) {
      const grants = Array.from({ length: 50 }, () => newGrant())
      const outcomes = await Promise.allSettled(grants.map((grant) => store.grants.redeemCode(grant, randomUUID(), NOW)))
      put.push(...grants.filter((_, index) => outcomes[index]?.status === 'fulfilled').map(({ id }) => id))
      const refusals = outcomes.filter((each) => each.status === 'rejected').map(({ reason }) => reason as unknown)
      if (refusals.length > 0) return { put, refusals, refused: grants.filter(({ id }) => !put.includes(id)) }
      expect(put.length, 'a disk this small is full by now').toBeLessThan(500_000)
    }
  }

  test('If the data disk is full, writes fail with StoreUnavailable and leave nothing, reads succeed, and writes work once there is room', async () => {
    mountSmallDisk(48)
    const admin = addressOf(server.urlOf('postgres'))
    const sql = connect(server.urlOf('postgres'))
    await sql.unsafe(`CREATE TABLESPACE small LOCATION '${disk}'`)
    await sql.unsafe('CREATE DATABASE grantor TABLESPACE small')
    await sql.end()
    const address = { ...admin, database: 'grantor' }
    await migratePostgres(address, NOW)
    const store = await openPostgresStore(address, { clock: 'given' })
    const grant = await livingGrant(store)
    const makeRoom = fillUp()
    const { put, refusals, refused } = await putUntilFull(store)
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(StoreUnavailable)
      expect(String(refusal)).toContain('53100')
    }
    expect(await store.grants.readGrant(grant.id)).toMatchObject({ generation: 0, endedAt: null })
    for (const { id } of refused) expect(await store.grants.readGrant(id), 'refused means not there').toBeNull()
    makeRoom()
    const again = () => store.grants.redeemCode(refused[0] ?? newGrant(), 'again', NOW).then(({ kind }) => kind, String)
    await expect.poll(again, { interval: 50 }).toBe('redeemed')
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
    for (const id of put) expect(await store.grants.readGrant(id), 'acknowledged means there').toMatchObject({ endedAt: null })
    await store.close()
  })

  test('If the disk of the write-ahead log is full, no acknowledged write is lost, and the store works once the server is back', async () => {
    const address = addressOf(server.urlOf('postgres'))
    await migratePostgres(address, NOW)
    await server.stop('fast')
    mountSmallDisk(96)
    const log = join(server.folder, 'pg_wal')
    cpSync(log, join(disk, 'pg_wal'), { recursive: true, preserveTimestamps: true })
    execFileSync('chown', ['-R', '--reference', server.folder, join(disk, 'pg_wal')])
    rmSync(log, { recursive: true })
    symlinkSync(join(disk, 'pg_wal'), log)
    await server.start()
    const store = await openPostgresStore(address, { clock: 'given' })
    const grant = await livingGrant(store)
    const makeRoom = fillUp()
    const { put, refusals } = await putUntilFull(store)
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(StoreUnavailable)
    await expect(store.sessions.startSession(someSession(), 'a')).rejects.toBeInstanceOf(StoreUnavailable)
    await server.stop('immediate')
    makeRoom()
    await server.start()
    const read = () => store.grants.readGrant(grant.id).catch(() => null)
    await expect.poll(read, { interval: 50 }).toMatchObject({ generation: 0, endedAt: null })
    for (const id of put) expect(await store.grants.readGrant(id), 'acknowledged means there').toMatchObject({ endedAt: null })
    expect((await store.grants.rotateRefreshToken(rotationOf(grant, 0))).kind).toBe('rotated')
    await store.close()
  })
})
