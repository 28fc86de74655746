import { createReadStream, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseExportedLine } from '../../domain/audit/export.ts'
import { type ChainedLine, type ChainReport, type HashChainFault, verifyChain } from '../../domain/audit/verify.ts'
import { verifyStore } from '../../domain/audit/verify-store.ts'
import { readKeyRing } from '../../domain/maintenance/keep-keys.ts'
import type { AuditHead } from '../../domain/model/audit-store.ts'
import { StoreUnavailable } from '../../domain/model/store-errors.ts'
import { type CommandEnvironment, CommandError, defineCommand, EXIT, UsageError } from '../../operators/terminal/command.ts'
import { formatCount, time } from '../../operators/terminal/print.ts'
import { type FindKey, keysOfJwkSet } from '../../protocol/keys/audit-head.ts'
import type { OpenedStore } from '../../store/cluster-health.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { keyKeeping, withStore } from '../compose/with-store.ts'

export const auditVerify = defineCommand({
  name: 'audit verify',
  words: 'Checks that no line of the audit trail was removed, changed, inserted or moved.',
  about: [
    'Computes the hash of every line again, compares the chain with the signed heads in it, and names the first line at which it is broken; the exit code is then 1. Without --file the database is checked, which needs GRANTOR_SECRET for the signatures.',
    'Lines after the last signed head can be removed from the end by a person who can change the database, and so can the signed heads. Keep the last line of each check or export elsewhere, and name it with --head at the next check.',
  ],
  options: {
    file: { value: 'FILE', words: 'Checks this export instead of the database. It may begin with any line.' },
    jwks: {
      value: 'FILE',
      words: 'With --file: the JWK Set of the service, for the signed heads. Without it, signatures are not checked.',
    },
    head: { value: 'LINE:HASH', repeatable: true, words: 'The chain must contain this line with this hash.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor audit verify',
    'grantor audit verify --file audit.ndjson --jwks jwks.json --head 1204:2Jb0s1bGm5n3vGm3H2k7o4cWnq1kqv0b8o8m2nX0m1E',
  ],
  program: 'keys',
  async run({ options }, environment) {
    const heads = options.head.map(headFrom)
    if (options.jwks !== undefined && options.file === undefined) throw new UsageError('--jwks can only be used with --file')
    const { waiting = 0, ...report } =
      options.file === undefined
        ? await verifyDatabase(environment, options.data, heads)
        : await verifyFile(options.file, options.jwks, heads)
    if (options.json) environment.print(JSON.stringify({ ...reportRecord(report), waiting }))
    else for (const line of [...reportLines(report), ...waitingLine(waiting)]) environment.print(line)
    if (report.fault && !options.json) throw new CommandError(faultWords(report.fault))
    return report.fault ? EXIT.failed : EXIT.done
  },
})

/** `waiting`: lines that wait outside of the chain; null if they cannot be counted. */
type DatabaseReport = ChainReport & { waiting?: number | null }

async function verifyDatabase(
  environment: CommandEnvironment,
  data: string | undefined,
  heads: AuditHead[],
): Promise<DatabaseReport> {
  const settings = settingsFor('keys', environment, data)
  return withStore(settings, environment, async (store, now) => {
    const ring = await readKeyRing(keyKeeping(settings, store, now))
    // The head is read before the lines, so that it names a line that the check reaches.
    const head = await store.audit.readHead()
    const present = head.seq === 0 ? [] : [head]
    const report = await verifyStore(store.audit, { findKey: (id) => ring.verifier(id), heads: [...present, ...heads] })
    return { ...report, waiting: await countWaiting(store) }
  })
}

/** The lines wait on the other machines of a cluster, and the chain can be checked while one of these is away. */
async function countWaiting(store: OpenedStore): Promise<number | null> {
  try {
    return (await store.placement().waitingBatches?.countLines()) ?? 0
  } catch (error) {
    if (error instanceof StoreUnavailable) return null
    throw error
  }
}

async function verifyFile(path: string, jwks: string | undefined, heads: AuditHead[]): Promise<DatabaseReport> {
  const findKey: FindKey = jwks === undefined ? () => undefined : readJwkSet(jwks)
  try {
    return await verifyChain({ pages: fileLines(path), findKey, heads, mayBePart: true })
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${path} cannot be read: ${error instanceof Error ? error.message : ''}`)
  }
}

async function* fileLines(path: string): AsyncGenerator<ChainedLine[]> {
  let number = 0
  for await (const text of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY })) {
    number++
    const line = parseExportedLine(text)
    if (!line) throw new CommandError(`line ${number} of ${path} is not a line of grantor audit export`)
    yield [line]
  }
}

function readJwkSet(path: string): FindKey {
  try {
    return keysOfJwkSet(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new CommandError(`${path} is not a JWK Set: ${error instanceof Error ? error.message : ''}`)
  }
}

function headFrom(text: string): AuditHead {
  const [, seq, hash] = /^(\d{1,15}):([\w-]{43})$/.exec(text) ?? []
  if (seq === undefined || hash === undefined)
    throw new UsageError(`--head must be the number and the hash of a line, as in 1204:2Jb0s…, not "${text}"`)
  return { seq: Number(seq), hash }
}

const FAULTS: Readonly<Record<HashChainFault['kind'], string>> = {
  removed: 'was removed',
  changed: 'was changed',
  moved: 'was inserted, or is at the place of another line',
  not_signed_so: 'is not the line that was signed or noted: the chain was computed again from here or from an earlier line',
  truncated: 'and the lines after it were removed from the end',
  head_forged: 'contains a signed head that no key of the service signed',
}

function faultWords({ seq, kind }: HashChainFault): string {
  return `the audit trail is broken: line ${seq} ${FAULTS[kind]}`
}

function reportLines({ fault, lines, first, last, signedThrough, unknownKeys }: ChainReport): string[] {
  if (lines === 0) return [fault ? 'There is no line to check.' : 'The audit trail is empty.']
  const signed = signedThrough
    ? `Signed up to line ${signedThrough.seq}, at ${time(signedThrough.at)}.`
    : 'No signed head was checked.'
  return [
    `Checked ${formatCount(lines, 'line')}, from ${first} to ${last.seq}.`,
    unknownKeys === 0 ? signed : `${signed} ${formatCount(unknownKeys, 'signed head')} of keys that were deleted.`,
    ...(fault ? [] : [`The chain is unbroken. Its last line is ${last.seq}:${last.hash}`]),
  ]
}

function waitingLine(waiting: number | null): string[] {
  if (waiting === null) return ['The lines that wait outside of the chain cannot be counted: a machine of the database is away.']
  return waiting === 0 ? [] : [`${formatCount(waiting, 'line')} outside of the chain wait for the coordinator of the database.`]
}

function reportRecord({ fault, lines, first, last, signedThrough, unknownKeys }: ChainReport) {
  return { unbroken: fault === null, fault, lines, first, last, signed_through: signedThrough, unknown_keys: unknownKeys }
}
