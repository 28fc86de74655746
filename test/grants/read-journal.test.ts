/** Whether a journal can account for everything since a backup: where it cannot, it is not believed at all. */
import { expect, test } from 'vitest'
import { ledgerName } from '../../src/grants/journal.ts'
import { readJournal, sweepKey } from '../../src/grants/read-journal.ts'

const SALT = 'the salt of this database'
const AT = 1_800_000_000
type Line = Record<string, unknown>

/** The lines of one program, from its first to its last. */
function run(number: number, ...events: Line[]): string[] {
  const lines = [{ event: 'opened', ledger: ledgerName(SALT) }, ...events, { event: 'closed' }]
  return lines.map((event, index) =>
    JSON.stringify({ journal: number, id: `id-${number}`, n: index + 1, at: AT + index, ...event }),
  )
}

async function* each(lines: Iterable<string>): AsyncGenerator<string> {
  yield* lines
}

/** A backup made when program 3 ran. */
const RUNS = { last: 3, salt: SALT, open: [{ number: 3, seenAt: AT }] }
const read = (lines: Iterable<string>, runs = RUNS) => readJournal([each(lines)], runs)

const whole = [...run(3, { event: 'grant_ended', grant_id: 'a' }), ...run(4), ...run(5, { event: 'grant_ended', grant_id: 'b' })]

test('a journal with every program since the backup, whole, accounts for everything', async () => {
  const account = await read(whole)
  expect(account.faults).toEqual([])
  expect([...account.ended]).toEqual(['a', 'b'])
  expect([account.lastRun, account.lastAt]).toEqual([5, AT + 2])
})

test('lines of a log in between, empty lines and lines that are there twice do no harm', async () => {
  const log = ['{"level":30,"msg":"request"}', '', 'null', '42']
  expect((await read([...log, ...whole, ...whole, ...log])).faults).toEqual([])
})

test('programs write into one file at once: each has its own numbers', async () => {
  const [three, four] = [run(3, { event: 'grant_ended', grant_id: 'a' }), run(4)]
  const mixed = [three[0], four[0], three[1], four[1], three[2]].map(String)
  expect((await read(mixed)).faults).toEqual([])
})

const withoutLine = (lines: string[], index: number) => lines.filter((_, at) => at !== index)

test.each([
  ['is empty', [], 'run 3 is missing'],
  ['has lost its end', whole.slice(0, -1), 'run 5 has no last line: its program was cut off, or the file was'],
  ['has lost its end in the middle of a line', [...whole.slice(0, -1), whole.at(-1)?.slice(0, 30)], 'line 8 is no journal line'],
  ['has lost a line in the middle', withoutLine(whole, 1), 'lines 2 to 2 of run 3 are missing'],
  ['begins later than the program that ran at the backup', whole.slice(1), 'lines 1 to 1 of run 3 are missing'],
  ['begins with a later start', whole.slice(3), 'run 3 is missing'],
  ['lacks a program in between', [...run(3), ...run(5)], 'run 4 is missing'],
  ['lacks the last program, of which another tells', [...run(3, { event: 'others', last: 4 })], 'run 4 is missing'],
  [
    'is of another database',
    whole.map((line) => line.replace(ledgerName(SALT), ledgerName('x'))),
    'run 3 is of another database',
  ],
  [
    'spans two databases of one backup',
    [...whole, ...run(5).map((line) => line.replace('id-5', 'other'))],
    'two programs have the number 5',
  ],
  [
    'tells of a program with a number out of this world',
    run(3, { event: 'others', last: 9_007_199_254_740_000 }),
    'is a number that no program can have',
  ],
  ['has a line that is no JSON', [...whole, 'Killed'], 'line 9 is no journal line'],
  ['has a line without its number', [...whole, '{"journal":5,"event":"grant_ended"}'], 'line 9 is no journal line'],
] as const)('a journal that %s accounts for nothing', async (_, lines, fault) => {
  expect((await read(lines.map(String))).faults.join('\n')).toContain(fault)
})

test('a journal that tells of nothing since the backup is not taken for "nothing happened"', async () => {
  const quiet = { ...RUNS, open: [] }
  expect((await read(run(3), quiet)).faults).toEqual(['it tells of no program that ran since the backup'])
})

test('a program that was cut off long before the backup is not asked for', async () => {
  const runs = { ...RUNS, open: [{ number: 1, seenAt: AT - 601 }, ...RUNS.open] }
  expect((await read(whole, runs)).faults).toEqual([])
})

test('of a refresh chain the furthest generation counts; one of which the answer was lost ends', async () => {
  const refreshed = (grantId: string, generation: number) => ({
    event: 'grant_refreshed',
    grant_id: grantId,
    generation,
    key_id: 'k',
    refreshed_at: AT + generation,
    refresh_until: AT + 99,
  })
  const unsure = { event: 'grant_refreshed', grant_id: 'unsure', unsure: true }
  const { refreshed: chains, ended } = await read([
    ...run(3, refreshed('a', 2), refreshed('b', 1), refreshed('a', 1)),
    ...run(4, unsure),
  ])
  expect(chains.get('a')).toEqual({ generation: 2, refreshKeyId: 'k', rotatedAt: AT + 2, refreshExpiresAt: AT + 99 })
  expect(chains.get('b')).toMatchObject({ generation: 1 })
  expect(ended.has('unsure')).toBe(true)
})

test('of a client the latest word counts; what of it was changed without being known counts as changed', async () => {
  const client = (kind: Line) => ({ event: 'client_changed', client_id: 'c', ...kind })
  const enabled = await read(run(3, client({ enabled: false, print: 'x' }), client({ enabled: true, print: 'y' })))
  expect(enabled.clients.get('c')).toMatchObject({ kind: 'enabled', print: 'y' })
  const gone = await read(run(3, client({ enabled: true, print: 'x' }), { event: 'client_deleted', client_id: 'c' }))
  expect(gone.clients.get('c')).toMatchObject({ kind: 'deleted' })
  const unsure = await read(run(3, client({ unsure: true })))
  expect(unsure.clients.get('c')).toEqual({ at: AT + 1, kind: 'unknown', print: null })
})

test('a wallet’s ending for one app is that app’s alone', async () => {
  const { endedTogether } = await read(
    run(3, { event: 'grants_ended', wallet: 'w', client_id: 'c' }, { event: 'grants_ended', wallet: 'v' }),
  )
  expect([...endedTogether.keys()]).toEqual([sweepKey('w', 'c'), sweepKey('v', undefined)])
})

test('a clock that was put back between two lines does not put an ending before what it ended', async () => {
  const made = AT + 600
  const { endedTogether, sessionsEnded, clients } = await read(
    run(
      3,
      { event: 'grant_made', grant_id: 'a', client_id: 'c', at: made },
      { event: 'client_changed', client_id: 'c', enabled: true, print: 'x', at: made },
      { event: 'grants_ended', wallet: 'w', at: made - 600 },
      { event: 'sessions_ended', wallet: 'w', at: made - 600 },
      { event: 'client_changed', client_id: 'c', enabled: false, print: 'y', at: made - 600 },
    ),
  )
  expect(endedTogether.get(sweepKey('w', undefined))?.map(({ at }) => at)).toEqual([made])
  expect(sessionsEnded.get('w')).toBe(made)
  expect(clients.get('c')).toMatchObject({ kind: 'disabled', print: 'y' })
})

test('what a program ended that began after the backup, ended for every row of the backup, whatever its clock said', async () => {
  const { endedTogether, withdrawnTogether } = await read([
    ...run(3),
    ...run(4, { event: 'grants_ended', client_id: 'c', at: 5 }, { event: 'receipts_withdrawn', wallet: 'w', at: 6 }),
  ])
  for (const sweeps of [endedTogether, withdrawnTogether])
    for (const [{ at } = { at: 0 }] of sweeps.values()) expect(at).toBe(Number.POSITIVE_INFINITY)
})

test('a long journal is read line by line: what is kept is one entry a grant', async () => {
  function* lines() {
    const [first, last] = run(3) as [string, string]
    yield first
    for (let n = 2; n < 100_000; n++)
      yield `{"journal":3,"id":"id-3","n":${n},"at":${AT},"event":"grant_refreshed","grant_id":"g${n % 10}","generation":${n}}`
    yield last.replace('"n":2', '"n":100000')
  }
  const account = await read(lines())
  expect(account.faults).toEqual([])
  expect(account.refreshed.size).toBe(10)
  expect(account.refreshed.get('g9')?.generation).toBe(99_999)
})
