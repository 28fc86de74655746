import type { Grant } from '../../grants/model.ts'
import { defineCommand, EXIT, UsageFailure } from '../command.ts'
import { withStore } from '../compose.ts'
import { columns, time } from '../print.ts'
import { dataOption, jsonOption, settingsFor } from '../settings.ts'
import { walletFrom } from '../wallet-option.ts'

export const grantsList = defineCommand({
  name: 'grants list',
  words: 'Lists who allowed what to whom.',
  options: {
    wallet: { value: 'ADDRESS', words: 'Only what this wallet allowed.' },
    client: { value: 'CLIENT_ID', words: 'Only what was allowed to this client.' },
    living: { words: 'Only grants that have neither ended nor expired.' },
    limit: { value: 'N', words: 'At most so many, the newest first: 100 unless given, at most 10000.' },
    data: dataOption,
    json: jsonOption,
  },
  examples: ['grantor grants list --living --client 0f8c9a3e-4f0b-4c8e-9a51-5b1c3e9d7a20'],
  program: 'grants',
  async run({ options }, world) {
    const at = world.now()
    const wallet = walletFrom(options.wallet)
    const filter = {
      ...(wallet ? { wallet } : {}),
      ...(options.client === undefined ? {} : { clientId: options.client }),
      ...(options.living ? { living: true } : {}),
      limit: limitFrom(options.limit ?? '100'),
      at,
    }
    const grants = await withStore(settingsFor('grants', world, options.data), world, (store) => store.grants.listGrants(filter))
    if (options.json) world.print(JSON.stringify(grants.map((grant) => grantRecord(grant, at))))
    else if (grants.length === 0) world.print('No grant matches.')
    else for (const line of grantTable(grants, at)) world.print(line)
    return EXIT.done
  },
})

function limitFrom(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (value >= 1 && value <= 10_000) return value
  throw new UsageFailure(`--limit must be a whole number from 1 to 10000, not "${text}"`)
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

function grantTable(grants: readonly Grant[], at: number): string[] {
  return columns(
    ['GRANT_ID', 'WALLET', 'CLIENT_ID', 'SCOPES', 'SINCE', 'STATE'],
    grants.map((grant) => [
      grant.id,
      grant.wallet,
      grant.clientId,
      grant.scopes.join(' '),
      time(grant.createdAt),
      stateOf(grant, at),
    ]),
  )
}
