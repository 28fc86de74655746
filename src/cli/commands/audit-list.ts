import { exportedLine } from '../../domain/audit/export.ts'
import { searchPages } from '../../domain/audit/search.ts'
import { fieldsOf } from '../../domain/audit/verify.ts'
import type { AuditFilter, AuditLine } from '../../domain/model/audit-store.ts'
import { dataOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { defineCommand, EXIT, UsageError } from '../terminal/command.ts'
import { growingColumns, time } from '../terminal/print.ts'
import { walletFrom } from '../terminal/wallet-option.ts'

const HEADINGS = ['LINE', 'TIME', 'EVENT', 'REASON', 'OPERATOR', 'CLIENT_ID', 'GRANT_ID', 'WALLET', 'NETWORK']

export const auditList = defineCommand({
  name: 'audit list',
  words: 'Lists lines of the audit trail (sign-ins, consents, endings, acts of operators), the newest first.',
  about: [
    'Several conditions must all hold. A time is a date (2026-11-23), a date with a time in UTC (2026-11-23T08:30Z), or how long ago it was (90m, 24h, 7d).',
  ],
  options: {
    wallet: { value: 'ADDRESS', words: 'Only lines about this wallet.' },
    client: { value: 'CLIENT_ID', words: 'Only lines about this client.' },
    grant: { value: 'GRANT_ID', words: 'Only lines about this grant.' },
    operator: { value: 'NAME', words: 'Only acts of this operator, such as cli:root.' },
    reason: { value: 'REASON', words: 'Only lines with this reason, such as refresh_replayed.' },
    event: { value: 'EVENT', words: 'Only this event, such as grant_ended.' },
    since: { value: 'TIME', words: 'Only lines from this time on.' },
    until: { value: 'TIME', words: 'Only lines before this time.' },
    limit: { value: 'N', words: 'The maximum number of lines: 100 unless given.' },
    data: dataOption,
    json: { words: 'Prints one JSON object per line, as grantor audit export does.' },
  },
  examples: [
    'grantor audit list --since 24h --event grant_ended',
    'grantor audit list --wallet 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 --json',
  ],
  program: 'grants',
  async run({ options }, environment) {
    const now = environment.now()
    const filter: AuditFilter = {
      wallet: walletFrom(options.wallet),
      clientId: options.client,
      grantId: options.grant,
      operator: options.operator,
      reason: options.reason,
      event: options.event,
      since: timeFrom('since', options.since, now),
      until: timeFrom('until', options.until, now),
    }
    const limit = limitFrom(options.limit)
    await withStore(settingsFor('grants', environment, options.data), environment, async ({ audit }) => {
      const table = growingColumns(HEADINGS)
      let found = 0
      for await (const page of searchPages(audit, filter, limit)) {
        found += page.length
        for (const line of options.json ? page.map(exportedLine) : table(page.map(cellsOf))) environment.print(line)
        if (environment.isRead?.() === false) return
      }
      if (found === 0 && !options.json) environment.print('No line matches.')
    })
    return EXIT.done
  },
})

function cellsOf({ seq, at, event, reason, line }: AuditLine): string[] {
  const fields: Readonly<Record<string, unknown>> = fieldsOf(line) ?? {}
  const cell = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '-')
  const others = ['operator', 'client_id', 'grant_id', 'wallet', 'network'].map(cell)
  return [String(seq), time(at), event, reason ?? '-', ...others]
}

function limitFrom(text = '100'): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (value >= 1) return value
  throw new UsageError(`--limit must be a whole number from 1 to 999999999, not "${text}"`)
}

const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 }
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/

function timeFrom(option: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const ago = /^(\d{1,6})([mhd])$/.exec(text)
  if (ago) return now - Number(ago[1]) * (UNITS[ago[2] ?? ''] ?? 0)
  const at = DATE.test(text) ? Date.parse(text) / 1000 : Number.NaN
  if (!Number.isNaN(at)) return at
  throw new UsageError(`--${option} must be a time such as 2026-11-23, 2026-11-23T08:30Z, 90m, 24h or 7d, not "${text}"`)
}
