/** The row of an audit line has no copy of the text that is hashed. The text is made again from the row, byte for byte. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AuditEntry, lineOf as lineOfEntry, newEntry } from '../../src/domain/audit/entry.ts'
import { placeAfter } from '../../src/domain/model/audit-chain.ts'
import { recordedEvents } from '../../src/domain/model/audit-events.ts'
import { NO_LINE, type UnplacedLine } from '../../src/domain/model/audit-store.ts'
import { lineOf, rowOf } from '../../src/store/audit-row.ts'
import { pack } from '../../src/store/packed.ts'
import { NOW } from './contract/subject.ts'

/** The line that a search returns after this line was stored as the 7th. */
function storedLine(line: UnplacedLine) {
  const [placed] = placeAfter({ seq: 6, hash: NO_LINE }, [line])
  if (!placed) throw new Error('no line')
  return { placed, read: lineOf({ ...rowOf(line), seq: placed.seq, hash: pack(placed.hash) }) }
}

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-fA-F]{${length}}$`))
const address = hex(40).map((digits) => `0x${digits}` as const)
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.uuid(),
  address,
  fc.constantFrom('', '0x', 'null', '{"seq":1,', '\ud800', '\u0000', '…'),
)
const entries: fc.Arbitrary<AuditEntry> = fc.record(
  {
    id: fc.oneof(fc.uuid(), text),
    at: fc.nat({ max: 2 ** 40 }),
    event: fc.constantFrom(...recordedEvents) as fc.Arbitrary<AuditEntry['event']>,
    result: fc.constantFrom('done', 'refused'),
    reason: text,
    operator: text,
    clientId: text,
    grantId: text,
    wallet: address,
    keyId: text,
    resource: text,
    requestId: text,
    network: text,
    details: fc.dictionary(text, fc.oneof(text, fc.double())),
  },
  { requiredKeys: ['id', 'at', 'event', 'result'] },
)

test('The text of a line that is made from its row is the text that was hashed, for every event and any members', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      const { placed, read } = storedLine(lineOfEntry(entry))
      expect(read).toEqual(placed)
    }),
    { numRuns: 2000 },
  )
})

test.each(recordedEvents)('A line of the event %s has no member of its text in a column and in the rest', (event) => {
  const entry = newEntry({
    at: NOW,
    event: event as AuditEntry['event'],
    reason: 'user',
    operator: 'cli:root',
    clientId: 'c',
    grantId: 'g',
    wallet: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    requestId: 'r',
    network: '203.0.113',
  })
  const row = rowOf(lineOfEntry(entry))
  expect(row.id).toEqual(pack(entry.id))
  expect(row.rest).toBeNull()
  const refused = { ...entry, result: 'refused', keyId: 'k', resource: 'https://api', details: { grants: 2 } } as const
  expect(rowOf(lineOfEntry(refused)).rest).toBe(
    '{"result":"refused","key_id":"k","resource":"https://api","details":{"grants":2}}',
  )
})

const line = lineOfEntry(newEntry({ at: NOW, event: 'session_started', clientId: 'c', requestId: 'r', details: { grants: 2 } }))

test.each<[string, UnplacedLine]>([
  ['has members in another order', { ...line, rest: '"at":1,"id":"x","event":"session_started","result":"done"}' }],
  ['has a member that no version writes', { ...line, rest: line.rest.replace('"at"', '"new":1,"at"') }],
  ['has a space', { ...line, rest: line.rest.replace(',', ', ') }],
  ['contradicts a column', { ...line, clientId: 'd' }],
  ['has a number as its id', { ...line, rest: line.rest.replace(/"id":"[^"]*"/, '"id":7') }],
  ['has an object as its network', { ...line, rest: line.rest.replace('"details"', '"network":{},"details"') }],
  ['has details that JSON.parse would sort', { ...line, rest: line.rest.replace('{"grants":2}', '{"b":1,"1":2}') }],
  ['has a number that JSON.parse would round', { ...line, rest: line.rest.replace('"grants":2', '"grants":2.0') }],
  ['is no JSON text', { ...line, rest: 'x' }],
  ['is empty', { ...line, rest: '' }],
])('A row has the whole text if the text %s, so that the text is never another one', (_, unusual) => {
  expect(rowOf(unusual)).toMatchObject({ id: null, request_id: null, network: null, rest: unusual.rest || null })
  const { placed, read } = storedLine(unusual)
  expect(read).toEqual(placed)
})

test('A row that was changed to any bytes can be read, so that the check of the chain can name the line', () => {
  const bytes = fc.option(fc.uint8Array({ maxLength: 45 }))
  const rows = fc.record({
    seq: fc.integer(),
    at: fc.integer(),
    event: text,
    reason: fc.option(text),
    operator: fc.option(text),
    network: fc.option(text),
    client_id: bytes,
    grant_id: bytes,
    wallet: bytes,
    id: bytes,
    request_id: bytes,
    hash: fc.uint8Array({ maxLength: 45 }),
    rest: fc.option(fc.oneof(text, fc.json())),
  })
  fc.assert(
    fc.property(rows, (row) => {
      expect(lineOf(row as Parameters<typeof lineOf>[0]).line).toEqual(expect.any(String))
    }),
  )
})
