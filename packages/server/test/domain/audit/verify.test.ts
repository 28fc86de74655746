/** Changes of the trail in the database are found: by the chain itself, by its signed heads, or by a head that was noted elsewhere. */
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { ChainWriter } from '../../../src/domain/audit/chain.ts'
import { lineOf, newEntry } from '../../../src/domain/audit/entry.ts'
import { exportedLine, linePages, parseExportedLine } from '../../../src/domain/audit/export.ts'
import { createLineDeletion } from '../../../src/domain/audit/retention.ts'
import { searchAudit } from '../../../src/domain/audit/search.ts'
import { createHeadSigner } from '../../../src/domain/audit/signed-heads.ts'
import { columnsAgree, type HashChainFault, type VerifyOptions, verifyChain } from '../../../src/domain/audit/verify.ts'
import { verifyStore } from '../../../src/domain/audit/verify-store.ts'
import { hashOfLine } from '../../../src/domain/model/audit-chain.ts'
import { keysOfJwkSet, signAuditHead } from '../../../src/protocol/keys/audit-head.ts'
import { KeyRing } from '../../../src/protocol/keys/key-ring.ts'
import { newSigningMaterial, openSigningKey } from '../../../src/protocol/keys/signing-key.ts'
import { LINE_COLUMNS } from '../../../src/store/audit-row.ts'
import { pack } from '../../../src/store/packed.ts'
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/index.ts'
import { NOW, someWallet } from '../../store/contract/subject.ts'
import { newSqlitePath } from '../../store/sqlite-file.ts'

const DAY = 86_400

async function newRing(id: string): Promise<KeyRing> {
  const ring = new KeyRing(() => NOW)
  ring.replace([openSigningKey(await newSigningMaterial('ES256'), id, 'ES256', 0)])
  return ring
}

/** A trail whose lines are appended, signed and deleted as in a running service, and a connection that changes the tables. */
async function newTrail() {
  const path = await newSqlitePath()
  await migrateSqlite(path, NOW)
  const store = openSqliteStore(path)
  const attacker = new DatabaseSync(path)
  onTestFinished(async () => {
    attacker.close()
    await store.close()
  })
  const ring = await newRing('aaaaaaaaaa')
  const clock = { at: NOW }
  const now = () => clock.at
  const writer = new ChainWriter(store.audit, now)
  const faults: HashChainFault[] = []
  const uncovered: { since: number | null } = { since: null }
  const parts = {
    store: store.audit,
    cleaning: store.cleaning,
    write: (entry: Parameters<ChainWriter['append']>[0][number]) => writer.append([entry]),
    holder: 'this node',
    now,
  }
  const newSigner = (keys = ring) =>
    createHeadSigner({
      ...parts,
      issuer: 'https://auth.example',
      sign: (claims) => signAuditHead(keys, claims),
      findKey: (id) => keys.verifier(id),
      note: (fault) => faults.push(fault),
      noteUncovered: (since) => (uncovered.since = since),
    })
  const signHead = newSigner()
  return {
    store,
    clock,
    faults,
    uncovered,
    ring,
    newSigner,
    sql: (text: string) => attacker.exec(text),
    async append(count: number) {
      for (let n = 0; n < count; n++) {
        const wallet = someWallet()
        await writer.append([newEntry({ at: now(), event: 'session_started', reason: 'signature', clientId: 'c', wallet })])
      }
    },
    /** An hour later, the service signs the head. */
    async signHead() {
      clock.at += 3600
      await signHead()
    },
    deleteOlderThan: (days: number) => createLineDeletion({ ...parts, days, pause: () => Promise.resolve() })(),
    verify: (options: Partial<VerifyOptions> = {}) =>
      verifyChain({ pages: linePages(store.audit, 0), findKey: (id) => ring.verifier(id), ...options }),
    /** Computes all hashes again from a line on, as an attacker with the database can. */
    async rehash(from: number) {
      const lines = await store.audit.readLines({ after: from - 2, limit: 1000 })
      let previous = lines.shift()?.hash ?? ''
      for (const { seq, line } of lines) {
        previous = hashOfLine(previous, line)
        attacker.prepare('UPDATE audit_lines SET hash = ? WHERE seq = ?').run(pack(previous), seq)
      }
      attacker.prepare('UPDATE audit_head SET hash = ?').run(previous)
    },
  }
}

test('An unbroken chain is accepted, with the line up to which it is signed, from the database and from an export', async () => {
  const trail = await newTrail()
  await trail.append(5)
  await trail.signHead()
  await trail.append(2)
  const last = await trail.store.audit.readHead()
  const expected = { fault: null, lines: 8, first: 1, last, signedThrough: { seq: 5, at: NOW + 3600 }, unknownKeys: 0 }
  expect(await trail.verify({ heads: [last] })).toEqual(expected)

  const lines = await trail.store.audit.readLines({ after: 0, limit: 100 })
  const exported = lines.map((line) => parseExportedLine(exportedLine(line)))
  expect(exported).toEqual(lines.map(({ seq, line, hash }) => ({ seq, line, hash })))
  const jwks = JSON.stringify({ keys: [trail.ring.maker('sign').publicJwk, { kty: 'oct', kid: 'x' }] })
  async function* pages() {
    for (const line of exported) if (line) yield [line]
  }
  expect(await verifyChain({ pages: pages(), findKey: keysOfJwkSet(jwks), mayBePart: true })).toEqual(expected)
  expect(parseExportedLine('{"seq":1}')).toBeNull()
  expect(() => keysOfJwkSet('{}')).toThrow(TypeError)
})

test('The signer notes since when lines have no signed head, until a head covers all lines, and not for a broken chain', async () => {
  const trail = await newTrail()
  await trail.append(2)
  const sign = trail.newSigner()
  await sign()
  expect(trail.uncovered.since).toBeNull()
  await trail.append(1)
  trail.clock.at += 600
  await sign()
  expect(trail.uncovered.since).toBe(NOW)
  trail.clock.at += 3000
  await sign()
  expect(trail.uncovered.since).toBeNull()

  await trail.append(1)
  trail.sql(VOUCHED(4))
  trail.clock.at += 3600
  await sign()
  expect(trail.faults).toEqual([{ seq: 4, kind: 'changed' }])
  expect(trail.uncovered.since).toBe(NOW + 3600)
})

/** The statement that changes a line. */
const VOUCHED = (seq: number) => `UPDATE audit_lines SET reason = 'vouched' WHERE seq = ${seq}`

test.for<[string, string, HashChainFault]>([
  ['removed', 'DELETE FROM audit_lines WHERE seq = 4', { seq: 4, kind: 'removed' }],
  ['removed from the start', 'DELETE FROM audit_lines WHERE seq < 4', { seq: 1, kind: 'removed' }],
  ['changed', VOUCHED(4), { seq: 4, kind: 'changed' }],
  ['no JSON any more', `UPDATE audit_lines SET rest = 'x' WHERE seq = 4`, { seq: 4, kind: 'changed' }],
  ['given another id', `UPDATE audit_lines SET id = zeroblob(16) WHERE seq = 4`, { seq: 4, kind: 'changed' }],
  [
    'inserted, with the others moved behind it',
    `UPDATE audit_lines SET seq = -seq WHERE seq >= 4; UPDATE audit_lines SET seq = 1 - seq WHERE seq < 0;
     INSERT INTO audit_lines SELECT 4, ${LINE_COLUMNS.replace('seq, ', '')} FROM audit_lines WHERE seq = 3`,
    { seq: 4, kind: 'changed' },
  ],
  [
    'exchanged with the next one',
    'UPDATE audit_lines SET seq = -4 WHERE seq = 4; UPDATE audit_lines SET seq = 4 WHERE seq = 5; UPDATE audit_lines SET seq = 5 WHERE seq = -4',
    { seq: 4, kind: 'changed' },
  ],
  ['given another hash', `UPDATE audit_lines SET hash = zeroblob(32) WHERE seq = 4`, { seq: 4, kind: 'changed' }],
])('A line that was %s is named', async ([, sql, fault]) => {
  const trail = await newTrail()
  await trail.append(8)
  trail.sql(sql)
  expect((await trail.verify()).fault).toEqual(fault)
})

test.for<[string, (lines: string[]) => string[]]>([
  ['inserted', (lines) => lines.toSpliced(3, 0, lines[2] ?? '')],
  ['exchanged with the next one', (lines) => [...lines.slice(0, 3), lines[4] ?? '', lines[3] ?? '', ...lines.slice(5)]],
])(
  'A line of an export that was %s is named as moved, also if the lines were numbered again outside of their texts',
  async ([, change]) => {
    const trail = await newTrail()
    await trail.append(8)
    const lines = await trail.store.audit.readLines({ after: 0, limit: 100 })
    const changed = change(lines.map(exportedLine)).map(parseExportedLine)
    async function* pages() {
      for (const [index, line] of changed.entries()) if (line) yield [{ ...line, seq: index + 1 }]
    }
    expect((await trail.verify({ pages: pages() })).fault).toEqual({ seq: 4, kind: 'moved' })
  },
)

test('A search column that contradicts a line whose row has the whole text is named', async () => {
  const trail = await newTrail()
  await trail.append(1)
  const unusual = lineOf(newEntry({ at: NOW, event: 'session_started', clientId: 'c' }))
  await trail.store.audit.append({
    writer: 'w',
    number: 1,
    at: NOW,
    lines: [{ ...unusual, rest: unusual.rest.replace(',', ' ,') }],
  })
  const fault = async () => (await verifyStore(trail.store.audit, { findKey: () => undefined })).fault
  expect(await fault()).toBeNull()
  trail.sql(`UPDATE audit_lines SET client_id = X'00' WHERE seq = 2`)
  expect(await fault()).toEqual({ seq: 2, kind: 'changed' })
})

test('A line that was changed together with all hashes after it contradicts the signed head', async () => {
  const trail = await newTrail()
  await trail.append(5)
  await trail.signHead()
  await trail.append(3)
  trail.sql(VOUCHED(3))
  await trail.rehash(3)
  expect((await trail.verify()).fault).toEqual({ seq: 5, kind: 'not_signed_so' })
})

test('Lines that were removed from the end, together with the stored head, are found with a head that was noted before', async () => {
  const trail = await newTrail()
  await trail.append(5)
  const noted = await trail.store.audit.readHead()
  const [third] = await trail.store.audit.readLines({ after: 2, limit: 1 })
  trail.sql(`DELETE FROM audit_lines WHERE seq > 3;
    UPDATE audit_head SET seq = 3, hash = '${third?.hash}'`)
  expect((await trail.verify()).fault).toBeNull()
  expect((await trail.verify({ heads: [noted] })).fault).toEqual({ seq: 4, kind: 'truncated' })
  await trail.append(4)
  expect((await trail.verify({ heads: [noted] })).fault, 'with other lines in their place').toEqual({
    seq: 5,
    kind: 'not_signed_so',
  })
})

test.for<[string, string, number, HashChainFault]>([
  ['computed again', VOUCHED(5), 5, { seq: 5, kind: 'not_signed_so' }],
  ['changed', VOUCHED(7), 0, { seq: 7, kind: 'changed' }],
  ['changed at the line that the head names', VOUCHED(5), 0, { seq: 5, kind: 'changed' }],
  ['changed in a search column', `UPDATE audit_lines SET wallet = X'00' WHERE seq = 7`, 0, { seq: 7, kind: 'changed' }],
  ['shortened at its start', 'DELETE FROM audit_lines WHERE seq <= 5', 0, { seq: 1, kind: 'removed' }],
  ['without a line', 'DELETE FROM audit_lines WHERE seq = 5', 0, { seq: 5, kind: 'removed' }],
  [
    'shortened at its end',
    'DELETE FROM audit_lines WHERE seq IN (3, 4, 5, 7, 8); UPDATE audit_head SET seq = 2',
    0,
    { seq: 3, kind: 'truncated' },
  ],
])('A running node does not sign a chain that was %s, and reports it once', async ([, sql, from, fault]) => {
  const trail = await newTrail()
  await trail.append(5)
  await trail.signHead()
  await trail.append(2)
  trail.sql(sql)
  if (from > 0) await trail.rehash(from)
  await trail.signHead()
  await trail.signHead()
  expect(trail.faults).toEqual([fault])
  expect(await trail.store.audit.searchLines({ event: 'audit_head_signed' }, { limit: 9 })).toHaveLength(1)
})

test('A head is signed once an hour by one of two nodes if lines were appended since, and a node that starts continues from this head', async () => {
  const trail = await newTrail()
  const heads = () => trail.store.audit.searchLines({ event: 'audit_head_signed' }, { limit: 9 })
  await trail.signHead()
  expect(await heads(), 'of an empty trail').toHaveLength(0)
  await trail.append(1)
  await trail.signHead()
  await trail.signHead()
  expect(await heads(), 'no line since').toHaveLength(1)
  await trail.append(1)
  trail.clock.at += 3600
  const started = trail.newSigner()
  await started()
  await started()
  expect(await heads()).toHaveLength(2)
  expect((await trail.verify()).signedThrough?.seq).toBe(3)
  expect(trail.faults).toEqual([])
})

test('A head that another key signed under the id of a key of the service is forged, and a head of a deleted key is counted', async () => {
  const trail = await newTrail()
  await trail.append(1)
  trail.clock.at += 3600
  await trail.newSigner(await newRing('aaaaaaaaaa'))()
  expect((await trail.verify()).fault).toEqual({ seq: 2, kind: 'head_forged' })
  expect(await trail.verify({ findKey: () => undefined })).toMatchObject({ fault: null, unknownKeys: 1, signedThrough: null })
})

test('Lines are deleted by age once a day, a line records that, and the chain is checked from the first remaining line', async () => {
  const trail = await newTrail()
  await trail.append(3)
  trail.clock.at += DAY
  await trail.append(3)
  trail.clock.at = NOW + 400 * DAY
  await trail.deleteOlderThan(400)
  expect((await trail.verify()).first, 'a line stays for the whole of its last day').toBe(1)
  trail.clock.at = (Math.floor(NOW / DAY) + 401) * DAY
  await trail.deleteOlderThan(400)
  await trail.deleteOlderThan(400)
  const report = await trail.verify()
  expect(report).toMatchObject({ fault: null, first: 4, lines: 4 })
  expect(await trail.store.audit.searchLines({ event: 'audit_lines_deleted' }, { limit: 9 })).toHaveLength(1)
  trail.sql('DELETE FROM audit_lines WHERE seq = 4')
  expect((await trail.verify()).fault, 'more than was recorded').toEqual({ seq: 1, kind: 'removed' })
})

test('A deletion that was interrupted is finished by the next one without a second line, and a line that names too much is ignored', async () => {
  const trail = await newTrail()
  await trail.append(1200)
  trail.clock.at += DAY
  await trail.append(2)
  trail.clock.at = (Math.floor(NOW / DAY) + 11) * DAY
  const deleteLines = trail.store.audit.deleteLines
  trail.store.audit.deleteLines = async () => {
    throw new Error('killed')
  }
  await expect(trail.deleteOlderThan(10)).rejects.toThrow('killed')
  expect((await trail.verify()).fault).toBeNull()
  trail.store.audit.deleteLines = deleteLines
  await deleteLines(700, 700)
  expect(await trail.verify()).toMatchObject({ fault: null, first: 701 })
  await trail.deleteOlderThan(10)
  expect(await trail.verify()).toMatchObject({ fault: null, first: 1201, lines: 3 })
})

test('The search columns of a line agree with its text, and a client id of any length is found', async () => {
  const trail = await newTrail()
  const clientId = `grd.${'x'.repeat(1500)}`
  await new ChainWriter(trail.store.audit, () => NOW).append([
    newEntry({ at: NOW, event: 'session_started', clientId, grantId: 'g', operator: someWallet(), wallet: someWallet() }),
  ])
  const [line] = await searchAudit(trail.store.audit, { clientId }, { limit: 1 })
  expect(line && columnsAgree(line)).toBe(true)
  for (const change of [{ at: 1 }, { event: 'x' }, { reason: 'x' }, { clientId: null }, { grantId: 'h' }, { operator: null }])
    expect({ change, agrees: line && columnsAgree({ ...line, ...change }) }).toEqual({ change, agrees: false })
})
