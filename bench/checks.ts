/** The aims of the project, each beside the measured figure. */
import { type AloneMeasured, ratioOfAlone } from './alone.ts'
import { type ClientsMeasured, ratiosOf } from './clients.ts'
import { ratioOf } from './hostile.ts'
import type { Result } from './measure.ts'
import { OPERATIONS, type OperationName } from './operations.ts'
import type { PartName } from './options.ts'
import type { PartResult } from './parts.ts'
import { FLOOR_OF_OPERATION } from './servers/floor.ts'
import { median, sum } from './statistics.ts'

export type Check = {
  what: string
  /** as in a table: `5,100/s` */
  ours: string
  against: string
  theirs: string
  measured: string
  required: string
  reached: boolean
}

const PEER = 'oidc-provider'
const FLOOR = 'empty Fastify post'
const OTHERS = ['hydra', 'keycloak']

/** The aims for which the part has figures. */
export function checksOf(part: PartResult): Check[] {
  return CHECKS[part.part](part)
}

const CHECKS: Record<PartName, (part: PartResult) => Check[]> = {
  peer: (part) => [
    ...rateCheck(part, 'code', 'grantor', PEER, 3.3),
    ...rateCheck(part, 'refresh', 'grantor', PEER, 3),
    ...rateCheck(part, 'same', 'grantor', PEER, 3),
    ...rateCheck(part, 'same', 'grantor', FLOOR, 0.55),
    ...rateCheck(part, 'new', 'grantor', PEER, 1.5),
    ...rateCheck(part, 'revoke', 'grantor', PEER, null),
    ...rateCheck(part, 'authorize', 'grantor', PEER, null),
    ...latencyCheck(part, 'refresh'),
    ...memoryCheck(part),
  ],
  floor: (part) => [
    ...floorCheck(part, 'refresh', 1.3),
    ...floorCheck(part, 'code', 1.2),
    ...floorCheck(part, 'other', 1.2),
    ...floorCheck(part, 'same', 1.4),
  ],
  postgres: (part) => rateCheck(part, 'refresh', 'grantor', PEER, 1.7, 'refresh on PostgreSQL, all on two cores'),
  workers: (part) =>
    rateCheck(
      part,
      'other',
      'grantor, two workers',
      'grantor, one worker',
      1.4,
      'introspect, tokens of another node, all on two cores',
    ),
  grants: (part) => {
    const [many, few] = part.servers
    if (!many || !few) return []
    const ready = median(many.readyAfter)
    return [
      ...rateCheck(part, 'refresh', many.name, few.name, 0.9, `refresh, ${many.name.replace('grantor, ', '')} in the store`),
      {
        what: `start to ready, ${many.name.replace('grantor, ', '')} in the store`,
        ours: `${Math.round(ready)} ms`,
        against: '',
        theirs: '',
        measured: `${(ready / 1000).toFixed(2)} s`,
        required: '≤ 1 s',
        reached: ready <= 1000,
      },
    ]
  },
  stalls: ({ stalls = [] }) =>
    stalls
      .filter(({ server }) => server === 'grantor')
      .map(({ rate, atHalfLoad: { p999 }, disk }) => ({
        what: `p99.9 of refresh of random grants on SQLite at half load, ${rate.toLocaleString('en')}/s`,
        ours: `${p999.toFixed(2)} ms`,
        against: disk ? 'an append with fsync' : '',
        theirs: disk ? `${disk.p999.toFixed(2)} ms` : '',
        measured: `${p999.toFixed(2)} ms`,
        required: '≤ 25 ms',
        reached: p999 <= 25,
      })),
  clients: ({ clients }) => (clients ? clientChecks(clients) : []),
  alone: ({ alone }) => (alone ? aloneChecks(alone) : []),
  hostile: ({ hostile = [] }) =>
    hostile.map((measured) => ({
      what: `p99 of refresh at half load beside: ${measured.scene}`,
      ours: `${median(measured.beside.p99).toFixed(2)} ms`,
      against: 'beside nothing',
      theirs: `${median(measured.nothing.p99).toFixed(2)} ms`,
      measured: `${ratioOf(measured).toFixed(2)} ×, ${sum(measured.beside.errors)} errors`,
      required: '≤ 1.5 ×, 0 errors',
      reached: ratioOf(measured) <= 1.5 && sum(measured.beside.errors) === 0,
    })),
  memory: ({ memory = [] }) =>
    memory.map(({ server, peak }) => ({
      what: `memory at its highest, six operations at once, ${server.replace('grantor, ', 'on ')}`,
      ours: `${Math.round(peak)} MiB`,
      against: '',
      theirs: '',
      measured: `${Math.round(peak)} MiB`,
      required: '≤ 150 MiB',
      reached: peak <= 150,
    })),
  limits: (part) =>
    part.servers.flatMap(({ name }): Check[] => {
      const [draws, refreshes] = [resultOf(part, 'draw', name), resultOf(part, 'refresh', name)]
      if (!draws || !refreshes) return []
      const ratio = median(draws.perSecond) / median(refreshes.perSecond)
      return [
        {
          what: `draw from a limit, ${name.replace('grantor, ', 'on ')}`,
          ours: rate(draws.perSecond),
          against: 'refresh',
          theirs: rate(refreshes.perSecond),
          measured: `${ratio.toFixed(2)} ×`,
          required: '≥ 0.5 ×',
          reached: ratio >= 0.5,
        },
      ]
    }),
  others: (part) => [
    ...OTHERS.flatMap((other) =>
      (['code', 'refresh', 'same', 'new'] as const).flatMap((operation) =>
        rateCheck(part, operation, 'grantor', other, 10, `${OPERATIONS[operation].name}, on PostgreSQL`),
      ),
    ),
    ...memoryCheck(part, ', on PostgreSQL'),
  ],
}

/** The processor time of an operation, divided by that of its floor. */
function floorCheck({ results }: PartResult, operation: OperationName, most: number): Check[] {
  const timeOf = (name: string) =>
    median(results.find((result) => result.operation === operation && result.server === name)?.processorMicroseconds ?? [])
  const [ours, floor] = [timeOf('grantor'), timeOf(FLOOR_OF_OPERATION)]
  if (Number.isNaN(ours) || Number.isNaN(floor)) return []
  return [
    {
      what: `${OPERATIONS[operation].name}, processor time`,
      ours: `${Math.round(ours)} µs`,
      against: 'floor',
      theirs: `${Math.round(floor)} µs`,
      measured: `${(ours / floor).toFixed(2)} ×`,
      required: `≤ ${most} ×`,
      reached: ours / floor <= most,
    },
  ]
}

function aloneChecks(alone: AloneMeasured): Check[] {
  const against = (theirs: number[], name: string) => ({
    what: 'refresh, one at a time, on PostgreSQL',
    ours: rate(alone.grantor),
    against: name,
    theirs: rate(theirs),
    measured: `${ratioOfAlone(alone, theirs).toFixed(2)} ×`,
  })
  const { pgbench, floor } = alone
  return [
    {
      ...against(pgbench, 'one client of pgbench, same statement'),
      required: '≥ 0.7 ×',
      reached: ratioOfAlone(alone, pgbench) >= 0.7,
    },
    // Not an aim: what is possible in a Node server with this database.
    ...(floor ? [{ ...against(floor, 'a Node server with the same statement'), required: '', reached: true }] : []),
  ]
}

function clientChecks(measured: ClientsMeasured): Check[] {
  const { registered, document, poll } = measured
  const ratios = ratiosOf(measured)
  return [
    {
      what: 'authorize for a metadata document in memory',
      ours: rate(document.perSecond),
      against: 'a registered client',
      theirs: rate(registered.perSecond),
      measured: `${ratios.authorize.toFixed(2)} ×`,
      required: '≥ 0.8 ×',
      reached: ratios.authorize >= 0.8,
    },
    {
      what: 'queries for a poll of a pending device code, on PostgreSQL',
      ours: rate(poll.perSecond),
      against: '',
      theirs: '',
      measured: `${poll.transactions.toFixed(2)} queries, ${poll.written.toFixed(2)} rows written`,
      required: '≤ 1 query, 0 rows',
      // The service's own statements in the same seconds can only be estimated.
      reached: poll.transactions < 1.05 && poll.written < 0.05,
    },
  ]
}

export function resultOf({ results }: PartResult, operation: OperationName, server: string): Result | undefined {
  return results.find((result) => result.operation === operation && result.server === server)
}

function rateCheck(
  part: PartResult,
  operation: OperationName,
  server: string,
  other: string,
  required: number | null,
  what: string = OPERATIONS[operation].name,
): Check[] {
  const [ours, theirs] = [resultOf(part, operation, server), resultOf(part, operation, other)]
  if (!ours || !theirs) return []
  const ratio = median(ours.perSecond) / median(theirs.perSecond)
  return [
    {
      what,
      ours: rate(ours.perSecond),
      against: other,
      theirs: rate(theirs.perSecond),
      measured: `${ratio.toFixed(2)} ×`,
      required: required === null ? '' : `≥ ${required} ×`,
      reached: required === null || ratio >= required,
    },
  ]
}

function latencyCheck(part: PartResult, operation: OperationName): Check[] {
  const ours = resultOf(part, operation, 'grantor')?.latency?.shared
  const theirs = resultOf(part, operation, PEER)?.latency?.shared
  if (!ours || !theirs) return []
  return [
    {
      what: `p99 of ${OPERATIONS[operation].name} at ${ours.rate.toLocaleString('en')}/s`,
      ours: `${ours.p99.toFixed(2)} ms`,
      against: PEER,
      theirs: `${theirs.p99.toFixed(2)} ms`,
      measured: `${(ours.p99 / theirs.p99).toFixed(2)} ×`,
      required: '≤ 1 ×',
      reached: ours.p99 <= theirs.p99,
    },
  ]
}

function memoryCheck({ servers }: PartResult, where = ''): Check[] {
  const [ours, theirs] = [servers.find(({ name }) => name === 'grantor'), servers.find(({ name }) => name === PEER)]
  if (!ours) return []
  return [
    {
      what: `memory at its highest, under load${where}`,
      ours: `${Math.round(ours.peakMemory)} MiB`,
      against: theirs ? PEER : '',
      theirs: theirs ? `${Math.round(theirs.peakMemory)} MiB` : '',
      measured: `${Math.round(ours.peakMemory)} MiB`,
      required: '≤ 150 MB',
      reached: ours.peakMemory * 1.048576 <= 150,
    },
  ]
}

function rate(perSecond: number[]): string {
  return `${Math.round(median(perSecond)).toLocaleString('en')}/s`
}
