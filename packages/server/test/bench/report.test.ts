/** From measurements to the published figures. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checksOf } from '../../../../bench/checks.ts'
import { kept, PAGE } from '../../../../bench/figures.ts'
import { parseOptions } from '../../../../bench/options.ts'
import type { PartResult } from '../../../../bench/parts.ts'
import { chartsFrom, withFigures } from '../../../../bench/performance-page.ts'
import { checksTable, measuredTable } from '../../../../bench/tables.ts'

const latency = (p99: number) => ({ rate: 1000, requests: 2000, p50: 1, p99, max: 9 })

function refreshed(ours: number[], theirs: number[], p99: [number, number], memory = 100): PartResult {
  const result = (server: string, perSecond: number[], tail: number) => ({
    operation: 'refresh' as const,
    server,
    perSecond,
    processorMicroseconds: perSecond.map((rate) => 1e6 / rate),
    busy: perSecond.map(() => 1),
    latency: { shared: latency(tail), own: latency(tail) },
  })
  return {
    part: 'peer',
    servers: [{ name: 'grantor', readyAfter: [300], peakMemory: memory }],
    results: [result('grantor', ours, p99[0]), result('oidc-provider', theirs, p99[1])],
    loadCheck: null,
  }
}

test('A published ratio is the quotient of two medians, so that single outliers do not change it', () => {
  const [check] = checksOf(refreshed([3000, 9000, 6100], [2000, 100, 2100], [1, 1]))
  expect(check).toMatchObject({ what: 'refresh', ours: '6,100/s', theirs: '2,000/s', measured: '3.05 ×', reached: true })
})

test('A target that was not reached is published as not reached', () => {
  const checks = checksOf(refreshed([5999], [2000], [3, 2], 144))
  expect(checks.map(({ what, reached }) => [what, reached])).toEqual([
    ['refresh', false],
    ['p99 of refresh at 1,000/s', false],
    // 144 MiB is 151 MB.
    ['memory at its highest, under load', false],
  ])
  expect(checksTable(checks).match(/\*\*not reached\*\*/g)).toHaveLength(3)
  expect(checksTable(checksOf(refreshed([6000], [2000], [2, 2], 143)))).not.toContain('not reached')
})

test('The target for p99.9 of a refresh on SQLite at half load is published as reached up to 25 ms', () => {
  const slowest = (p999: number) => ({ requests: 30_000, p50: 1, p99: 5, p999, max: 40 })
  const part = (p999: number): PartResult => ({
    part: 'stalls',
    servers: [],
    results: [],
    loadCheck: null,
    stalls: [
      {
        server: 'grantor',
        rate: 3000,
        atHalfLoad: slowest(p999),
        longestBlock: 20,
        secondProcess: slowest(30),
        disk: slowest(7),
      },
      { server: 'grantor, before', rate: 3000, atHalfLoad: slowest(500), longestBlock: 600, secondProcess: slowest(900) },
    ],
  })
  expect(checksOf(part(25))).toMatchObject([
    { measured: '25.00 ms', against: 'an append with fsync', theirs: '7.00 ms', required: '≤ 25 ms', reached: true },
  ])
  expect(checksOf(part(25.01))).toMatchObject([{ reached: false }])
  expect(measuredTable(part(9))).toContain(
    '| grantor, before | 3,000 | 1.00 ms / 5.00 ms / 500.00 ms / 40.00 ms |  | 600 ms | 1.00 ms / 5.00 ms / 40.00 ms |',
  )
})

test('The targets for unregistered clients and devices compare metadata documents and polls', () => {
  const rate = (perSecond: number) => ({ perSecond: [perSecond], processorMicroseconds: [100] })
  const part = (documents: number, transactions: number): PartResult => ({
    part: 'clients',
    servers: [],
    results: [],
    loadCheck: null,
    clients: { registered: rate(1000), document: rate(documents), poll: { ...rate(500), transactions, written: 0 } },
  })
  const reached = (measured: PartResult) => checksOf(measured).map((check) => check.reached)
  expect(reached(part(800, 1.04))).toEqual([true, true])
  expect(reached(part(799, 1.1))).toEqual([false, false])
  expect(measuredTable(part(800, 1))).toContain('| authorize without a session, a metadata document in memory | 800 |')
})

test('The target for refreshes one at a time is 0.7 of what one client of pgbench reaches', () => {
  const part = (grantor: number): PartResult => ({
    part: 'alone',
    servers: [],
    results: [],
    loadCheck: null,
    alone: { grantor: [grantor, 1, 9000], pgbench: [2000, 2000, 100] },
  })
  expect(checksOf(part(1400))).toMatchObject([{ measured: '0.70 ×', required: '≥ 0.7 ×', reached: true }])
  expect(checksOf(part(1390))).toMatchObject([{ reached: false }])
  expect(measuredTable(part(1250))).toContain('| grantor | 1,250 | 720 % | 0.80 ms |')
})

test('Refreshes one at a time are also published beside a Node server that sends the same statement, without an aim', () => {
  const part: PartResult = {
    part: 'alone',
    servers: [],
    results: [],
    loadCheck: null,
    alone: { grantor: [1200], pgbench: [4000], pgbenchApart: [3000], floor: [1500], emptyPost: [8000] },
  }
  expect(checksOf(part)).toMatchObject([
    { measured: '0.30 ×', required: '≥ 0.7 ×', reached: false },
    { against: 'a Node server with the same statement', theirs: '1,500/s', measured: '0.80 ×', required: '' },
  ])
  const table = measuredTable(part)
  expect(table).toContain('| the same on the core of the service | 3,000 | 0 % | 0.33 ms |')
  expect(table).toContain('| an empty post to that server | 8,000 | 0 % | 0.13 ms |')
})

test('The target for refreshes beside hostile work is published as reached up to 1.5 times the p99 beside nothing and without errors', () => {
  const side = (used: number, ...p99: number[]) => ({
    p50: [1],
    p99,
    busy: [0.5],
    used: [used],
    usedByDatabase: [used],
    errors: [0],
    collections: p99.map((value) => (value >= 100 ? 1 : 0)),
    delay: [used * 10],
    delayOfLoad: [7],
  })
  const part = (p99: number, errors = 0): PartResult => ({
    part: 'hostile',
    servers: [],
    results: [],
    loadCheck: null,
    hostile: [
      {
        scene: 'wrong secrets',
        server: 'grantor, PostgreSQL',
        rate: 2000,
        nothing: side(1, 4, 2, 100),
        beside: { ...side(1.2, p99, 1, 500), errors: [0, errors] },
        memory: 150,
        answered: { 401: 1990, 429: 10 },
      },
    ],
  })
  expect(checksOf(part(6))).toMatchObject([{ measured: '1.50 ×, 0 errors', required: '≤ 1.5 ×, 0 errors', reached: true }])
  expect(checksOf(part(6.1))).toMatchObject([{ reached: false }])
  expect(checksOf(part(6, 1))).toMatchObject([{ reached: false }])
  expect(measuredTable(part(6))).toContain(
    '| wrong secrets | grantor, PostgreSQL, 2,000/s | 4.00, 6.00 ms | 1.50 × | 0 | 1, 1 of 3 | 150 MiB | 100 µs |',
  )
})

test('The tables and the chart of docs/evidence/performance.md are those that docs/evidence/bench generates', () => {
  const page = readFileSync(PAGE, 'utf8')
  expect(kept().map(({ part }) => part)).toContain('peer')
  expect(withFigures(page, kept()), 'run: npm run bench, or edit what is outside of the marks').toBe(page)
  const charts = chartsFrom(kept())
  expect(charts.map(([file]) => [file, readFileSync(file, 'utf8')])).toEqual(charts)
})

test('Only a complete run of the bench replaces the published figures without --write-docs', () => {
  expect(parseOptions([])).toMatchObject({
    writeDocs: true,
    parts: ['peer', 'floor', 'postgres', 'workers', 'grants', 'stalls', 'clients', 'alone', 'hostile', 'memory', 'limits'],
    rounds: 5,
  })
  expect(parseOptions(['--no-build'])).toMatchObject({ writeDocs: true })
  expect(parseOptions(['peer'])).toMatchObject({ writeDocs: false })
  expect(parseOptions(['--rounds', '1'])).toMatchObject({ writeDocs: false })
  expect(parseOptions(['peer', '--write-docs'])).toMatchObject({ writeDocs: true })
})

test('The part others compares with Hydra and Keycloak, of which the user provides at least one', () => {
  expect(() => parseOptions(['others'])).toThrow('others takes --hydra or --keycloak')
  expect(parseOptions(['others', '--hydra', 'hydra'])).toMatchObject({ parts: ['others'], hydra: 'hydra', keycloak: null })
  const result = (server: string, rate: number): PartResult['results'][number] => {
    return { operation: 'code', server, perSecond: [rate], processorMicroseconds: [100], busy: [1], latency: null }
  }
  const part: PartResult = {
    part: 'others',
    servers: [{ name: 'grantor', readyAfter: [300], peakMemory: 143 }],
    results: [result('grantor', 4000), result('hydra', 400), result('keycloak', 401)],
    loadCheck: null,
  }
  expect(checksOf(part)).toMatchObject([
    { what: 'code exchange, on PostgreSQL', against: 'hydra', measured: '10.00 ×', reached: true },
    { what: 'code exchange, on PostgreSQL', against: 'keycloak', measured: '9.98 ×', reached: false },
    { what: 'memory at its highest, under load, on PostgreSQL', reached: true },
  ])
})

test('The bench refuses an unknown part, operation or option, and a wrong value', () => {
  expect(() => parseOptions(['pear'])).toThrow('there is no part pear')
  expect(() => parseOptions(['--only', 'refresh,reload'])).toThrow('there is no operation reload')
  expect(() => parseOptions(['--seconds', '0'])).toThrow('--seconds')
  expect(() => parseOptions(['--fast'])).toThrow('--fast')
})

test('The target for the memory under mixed load is published as reached up to 150 MiB, for each engine', () => {
  const memory = [
    { server: 'grantor, SQLite', perSecond: [7000, 1, 6000], start: 103, peak: 150, end: 140 },
    { server: 'grantor, PostgreSQL', perSecond: [4000], start: 104, peak: 150.1, end: 150 },
  ]
  const part: PartResult = { part: 'memory', servers: [], results: [], loadCheck: null, memory }
  expect(checksOf(part)).toMatchObject([
    { what: 'memory at its highest, six operations at once, on SQLite', reached: true },
    { what: 'memory at its highest, six operations at once, on PostgreSQL', reached: false },
  ])
  expect(measuredTable(part)).toContain('| grantor, SQLite | 6,000 | 103 MiB | 150 MiB | 140 MiB |')
})
