import type { Grant } from '../../grants/model.ts'
import type { GrantFilter, GrantLedger } from '../../grants/ports.ts'
import { defineCommand, EXIT, UsageFailure, type World } from '../command.ts'
import { withStore } from '../compose.ts'
import { growingColumns, time } from '../print.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'
import { walletFrom } from '../wallet-option.ts'

/** Rows of one read. The grants of a wallet are sorted for each read, so fewer reads are made. */
const [PAGE, PAGE_OF_WALLET] = [500, 10_000]

export const grantsList = defineCommand({
  name: 'grants list',
  words: 'Lists who allowed what to whom, the newest first.',
  about: [
    'Reads a page at a time and prints each as it comes, so a list of any length begins at once and needs no memory. Each grant stands as it was when its page was read; what is allowed after the list began is not in it.',
  ],
  options: {
    wallet: { value: 'ADDRESS', words: 'Only what this wallet allowed.' },
    client: { value: 'CLIENT_ID', words: 'Only what was allowed to this client.' },
    living: { words: 'Only grants that have neither ended nor expired.' },
    limit: { value: 'N', words: 'At most so many: 100 unless given.' },
    all: { words: 'However many there are.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: [
    'grantor grants list --living --client 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20',
    'grantor grants list --all --json > grants.json',
  ],
  program: 'grants',
  async run({ options }, world) {
    const at = world.now()
    const wallet = walletFrom(options.wallet)
    const filter = {
      ...(wallet ? { wallet } : {}),
      ...(options.client === undefined ? {} : { clientId: options.client }),
      ...(options.living ? { living: true } : {}),
      limit: limitFrom(options),
      at,
    }
    await withStore(settingsFor('grants', world, options.data), world, async ({ grants }) => {
      const pages = pagesOf(grants, filter)
      await (options.json ? printJson(pages, at, world) : printTable(pages, at, world))
    })
    return EXIT.done
  },
})

function limitFrom({ limit: text, all }: { limit: string | undefined; all: boolean }): number {
  if (all && text !== undefined) throw new UsageFailure('--limit and --all say different things; give one of them')
  if (all) return Number.POSITIVE_INFINITY
  const value = /^\d{1,9}$/.test(text ?? '100') ? Number(text ?? '100') : 0
  if (value >= 1) return value
  throw new UsageFailure(`--limit must be a whole number from 1 to 999999999, not "${text}"; for all there are: --all`)
}

/** `limit` grants at most, a page at a time; each page is asked for once the one before it was taken. */
async function* pagesOf(grants: Pick<GrantLedger, 'listGrants'>, filter: GrantFilter): AsyncGenerator<Grant[]> {
  let after: Grant | undefined
  const size = filter.wallet === undefined ? PAGE : PAGE_OF_WALLET
  for (let left = filter.limit; left > 0; left -= size) {
    const limit = Math.min(left, size)
    const page = await grants.listGrants({ ...filter, limit, after })
    if (page.length > 0) yield page
    if (page.length < limit) return
    after = page.at(-1)
  }
}

async function printTable(pages: AsyncGenerator<Grant[]>, at: number, world: World): Promise<void> {
  const table = growingColumns(['GRANT_ID', 'WALLET', 'CLIENT_ID', 'SCOPES', 'SINCE', 'STATE'])
  let isEmpty = true
  for await (const page of pages) {
    isEmpty = false
    for (const line of table(page.map((grant) => cellsOf(grant, at)))) world.print(line)
    if (world.isRead?.() === false) return
  }
  if (isEmpty) world.print('No grant matches.')
}

/** One array, a grant a line. */
async function printJson(pages: AsyncGenerator<Grant[]>, at: number, world: World): Promise<void> {
  // A line is held back until it is known whether a comma follows.
  let last = '['
  for await (const page of pages) {
    for (const grant of page) {
      world.print(last === '[' ? last : `${last},`)
      last = JSON.stringify(grantRecord(grant, at))
    }
    if (world.isRead?.() === false) return
  }
  world.print(last === '[' ? '[]' : `${last}\n]`)
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
