/** Every statement that the PostgreSQL store prepares, with values for each of its parameters. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { everyStatement } from '../../../src/store/citus/every-statement.ts'
import { pack } from '../../../src/store/packed.ts'
import { Recorder } from '../../../src/store/postgres/statements/recorder.ts'
import type { Ask, Batched, RowLocation, StatementKind } from '../../../src/store/postgres/statements/statement.ts'

const SOURCE = fileURLToPath(new URL('../../../src/store/', import.meta.url))

/** The calls that prepare the statements of `everyStatement`, as `file:line`. */
export async function preparingCalls(): Promise<ReadonlySet<string>> {
  const callSites = new Set<string>()
  class Noting extends Recorder {
    override prepare<Row>(kind: StatementKind, sql: string, place?: RowLocation): Ask<Row> {
      callSites.add(callSite())
      return super.prepare<Row>(kind, sql, place)
    }
    override prepareTogether<Row>(batched: Batched, apart: Ask<Row>): Ask<Row> {
      callSites.add(callSite())
      return super.prepareTogether<Row>(batched, apart)
    }
    override prepareForMany() {
      callSites.add(callSite())
      return super.prepareForMany()
    }
  }
  await everyStatement(new Noting())
  return callSites
}

/** The line of the stores' source that called `prepare`. */
function callSite(): string {
  const frames = (new Error('for its stack').stack ?? '').split('\n')
  const found = frames.map((frame) => /src\/store\/((?:postgres|citus)\/[\w-]+\.ts:\d+)/.exec(frame)?.[1])
  return found.find((each) => each !== undefined) ?? 'unknown'
}

/** Every line of the stores' source, outside of `connection`, that calls a method which prepares a statement. */
export function callSitesInSource(): string[] {
  const lines = globSync('{postgres,citus}/*.ts', { cwd: SOURCE }).flatMap((file) =>
    readFileSync(join(SOURCE, file), 'utf8')
      .split('\n')
      .map((line, index) => ({ line, at: `${file}:${index + 1}` })),
  )
  return lines.flatMap(({ line, at }) => (/\.prepare[A-Za-z]*[<(]/.test(line) ? [at] : [])).sort()
}

/** So many keys that each partition contains some. */
const MANY = Array.from({ length: 100 }, (_, index) => `r${index + 1}`)

export const VALUES: Record<string, unknown> = {
  since: 0,
  id: 'g1', grantId: 'g1', clientId: 'c1', wallet: 'w1', hash: 'h1', isContract: false, isVouched: false, notedJti: 'j', receiptId: null, consented: true,
  scopes: 's', requestedScopes: '{s}', requestedResources: '{}', clientScopes: '{s}', resources: '', expiresAt: 9e9, refreshIdle: 9e8, refreshKeyId: 'k', attemptId: 'b', endReason: null,
  generation: 0, walletChecked: true, storable: true, retryWindow: 60, jti: 'j', reason: 'revoked', chainId: 1, 
  epoch: 0, authTime: 1, lastSeenAt: 1, endedAt: null, redirectUri: 'u', issuedAt: 1, withdrawnAt: null, checkedAt: 1, sealed: Buffer.from('s'),
  except: null, standing: true, naming: ['s'], limit: 50, overFor: 1, madeAt: 9e9, after: '', afterId: '~', afterMadeAt: 9e9, after1: '',
  from: pack('w1'), to: pack('w2'), ending: pack(''), first: 1, last: 50, seen: 0, oldest: '0', ids: MANY, key0: 'g1', key1: 'r1', after0: '',
  dpopJkt: null, sessionHash: 'h1', sessionReceiptId: null, elsewhere: false, browser: 'Firefox/Windows', replacedBy: null, by: 'h2', request: '{}', kind: 1, atMost: 1000,
  grantIds: MANY, digest: 'd', apps: 'c', userCode: 'u1', scope: 's', summary: 's', isLast: false, signedFor: 600,
  series: 'b1', position: 1, writer: 'w', number: 1, addedAt: 1, size: 1, lines: '[]', previous: '',
  signedLimit: null, key: 'k1', jtis: '{j}', tokenScopes: '{s}', amount: null, beforeNumber: 10,
  mostRows: 1e6, rotatedAt: 1, refreshExpiresAt: 9e9, scopesByResource: null, resource: null,
} // biome-ignore format: a list of values

/** Values of the statements on tables of the coordinator. */
export const MORE_VALUES: Record<string, unknown> = {
  createdAt: 1, record: '{}', uri: 'u', number: 1, algorithm: 'EdDSA', wrapped: Buffer.from('w'), startsAt: 1, retiredAt: null,
  after: '0', name: 'operators', holder: 'n', lifetime: 60, items: '[]', attempts: '', operator: 'o', event: 'e',
  sinceUnit: 0, beforeAt: 9e9, beforeUnit: 9e8, beforeSeq: 0, through: 1, writer: 'w', lines: [], url: 'u', secret: 's',
  events: [], cursor: 0, failingSince: null, nextAt: 0, pausedAt: null, listedAs: 'c1', before_record: '{}', before_createdAt: 1,
  before_kind: 'sign', before_number: 1, before_algorithm: 'EdDSA', before_wrapped: null, before_startsAt: 1, before_retiredAt: 1,
  before_url: 'u', before_secret: 's', before_events: [], before_cursor: 0, before_failingSince: null, before_nextAt: 0, before_pausedAt: 1,
  period: 'd2026-11-26', signIns: 1, sketch: Buffer.from('s'), before_signIns: 1, before_sketch: Buffer.from('s'), table: 'grants',
  before_items: '[]', before_attempts: '', logo: null, before_logo: null, path: '/', content: '', keys: '[]', rows: '[]', before: '[]',
  deliveries: '[]', before_deliveries: '[]', within: 1, before_at: 1,
} // biome-ignore format: a list of values

/** Keys of rows that do not exist. */
export const FRESH = { id: 'new', grantId: 'new', hash: 'new', wallet: 'new', sessionHash: 'new' }
