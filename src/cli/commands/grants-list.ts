import { type GrantPlace, type GrantQuery, readGrantPage } from '../../domain/consent/list-grants.ts'
import type { Grant } from '../../domain/model/records.ts'
import type { Store } from '../../domain/model/store.ts'
import { dataOption, jsonOption, settingsFor } from '../compose/settings.ts'
import { withStore } from '../compose/with-store.ts'
import { type CommandEnvironment, defineCommand, EXIT, UsageError } from '../terminal/command.ts'
import { growingColumns, time } from '../terminal/print.ts'
import { walletFrom } from '../terminal/wallet-option.ts'

/** Rows of one read. */
const PAGE = 500

export const grantsList = defineCommand({
  name: 'grants list',
  words: 'Lists grants (wallet, client, scopes), the newest first; the living grants of a wallet by client.',
  about: [
    'Reads and prints one page at a time, so a list of any length begins at once and needs little memory. Each grant is shown in its state when its page was read; grants that are created after the list began are not in it.',
  ],
  options: {
    wallet: { value: 'ADDRESS', words: 'Only grants of this wallet.' },
    client: { value: 'CLIENT_ID', words: 'Only grants to this client.' },
    living: { words: 'Only grants that have neither ended nor expired.' },
    limit: { value: 'N', words: 'The maximum number of grants: 100 unless given.' },
    all: { words: 'All grants, without a limit.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor grants list --living --client 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
    'grantor grants list --all --json > grants.json',
  ],
  program: 'grants',
  async run({ options }, environment) {
    const at = environment.now()
    const query = { wallet: walletFrom(options.wallet), clientId: options.client, living: options.living, at }
    const limit = limitFrom(options)
    await withStore(settingsFor('grants', environment, options.data), environment, async (store) => {
      const pages = pagesOf(store, query, limit)
      await (options.json ? printJson(pages, at, environment) : printTable(pages, at, environment))
    })
    return EXIT.done
  },
})

function limitFrom({ limit: text, all }: { limit: string | undefined; all: boolean }): number {
  if (all && text !== undefined) throw new UsageError('--limit and --all contradict each other; give one of them')
  if (all) return Number.POSITIVE_INFINITY
  const value = /^\d{1,9}$/.test(text ?? '100') ? Number(text ?? '100') : 0
  if (value >= 1) return value
  throw new UsageError(`--limit must be a whole number from 1 to 999999999, not "${text}"; for all grants: --all`)
}

/** At most `limit` grants, one page at a time; a page is read when the one before it was consumed. */
async function* pagesOf({ grants }: Store, query: GrantQuery, limit: number): AsyncGenerator<Grant[]> {
  let after: GrantPlace | undefined
  for (let left = limit; left > 0; ) {
    const { items, next } = await readGrantPage(grants, query, { limit: Math.min(left, PAGE), after })
    if (items.length > 0) yield items
    if (next === null) return
    left -= items.length
    after = next
  }
}

async function printTable(pages: AsyncGenerator<Grant[]>, at: number, environment: CommandEnvironment): Promise<void> {
  const table = growingColumns(['GRANT_ID', 'WALLET', 'CLIENT_ID', 'SCOPES', 'SINCE', 'STATE'])
  let isEmpty = true
  for await (const page of pages) {
    isEmpty = false
    for (const line of table(page.map((grant) => cellsOf(grant, at)))) environment.print(line)
    if (environment.isRead?.() === false) return
  }
  if (isEmpty) environment.print('No grant matches.')
}

/** One array with one grant per line. */
async function printJson(pages: AsyncGenerator<Grant[]>, at: number, environment: CommandEnvironment): Promise<void> {
  // A line is printed when it is known whether a comma follows.
  let last = '['
  for await (const page of pages) {
    for (const grant of page) {
      environment.print(last === '[' ? last : `${last},`)
      last = JSON.stringify(grantRecord(grant, at))
    }
    if (environment.isRead?.() === false) return
  }
  environment.print(last === '[' ? '[]' : `${last}\n]`)
}

function stateOf(grant: Grant, at: number): string {
  if (grant.endedAt !== null) return grant.endReason ?? 'ended'
  return Math.min(grant.expiresAt, grant.refreshExpiresAt) <= at ? 'expired' : 'living'
}

/** Times are epoch seconds. */
function grantRecord(grant: Grant, at: number) {
  return {
    grant_id: grant.id,
    client_id: grant.clientId,
    wallet: grant.wallet,
    scopes: grant.scopes,
    resources: grant.resources,
    // null if every resource has every scope
    scopes_by_resource: grant.scopesByResource,
    state: stateOf(grant, at),
    created_at: grant.createdAt,
    refreshed_at: grant.rotatedAt,
    expires_at: Math.min(grant.expiresAt, grant.refreshExpiresAt),
    ended_at: grant.endedAt,
    end_reason: grant.endReason,
  }
}

function cellsOf(grant: Grant, at: number): string[] {
  return [grant.id, grant.wallet, grant.clientId, grant.scopes.join(' '), time(grant.createdAt), stateOf(grant, at)]
}
