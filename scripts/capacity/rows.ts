/** The rows of the measurements: grants with their wallets, sessions and receipts, inserted by SQL. */
import { createHash } from 'node:crypto'
import { pack } from '../../packages/server/src/store/packed.ts'
import type { Sql } from '../../packages/server/test/support/sql.ts'

export const NOW = Math.floor(Date.now() / 1000)
export const DAY = 86_400
export const CLIENT = '7f9b1c1e-3c52-4f6e-9a53-0f4d2b8f6a11'

// Ids and addresses look random. SQL and this file compute them from a number.
const md5 = (text: string): string => createHash('md5').update(text).digest('hex')
export const idOf = (number: number): string =>
  md5(`grant ${number}`).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
export const walletOf = (number: number) => `0x${md5(`wallet ${number}`)}${md5(`more ${number}`).slice(0, 8)}` as const

export type Filling = { grants: number; perWallet: { grants: number; sessions: number } }

/** Inserts grants with their wallets and sessions, and a receipt for every tenth wallet, not in the order of their keys. */
export async function fill(sql: Sql, { grants, perWallet }: Filling): Promise<void> {
  const wallets = grants / perWallet.grants
  const numbers = (count: number) => `FROM generate_series(1, ${count}) AS n`
  const id = `decode(md5('grant ' || n), 'hex')`
  // Without capitals, the last five bytes are 0.
  const wallet = (number: string) =>
    `decode(md5('wallet ' || ${number}) || left(md5('more ' || ${number}), 8) || repeat('0', 10), 'hex')`
  const random = `uuid_send(gen_random_uuid())`
  const client = `'\\x${pack(CLIENT).toString('hex')}'::bytea`
  await sql.unsafe(`
    INSERT INTO grants (id, client_id, wallet, is_contract, receipt_id, consented, scopes, resources, created_at, expires_at,
                        refresh_expires_at, generation, refresh_key_id, rotated_at, attempt_id, auth_time, chain_id, epoch)
      SELECT ${id}, ${client}, ${wallet(`(n - 1) / ${perWallet.grants} + 1`)}, false, ${random}, true, 'enhancement', 'https://api.example.com/',
             ${NOW}, ${NOW + 30 * DAY} + n, ${NOW + 14 * DAY}, 0, 'abcdefghij', ${NOW - 3600}, ${random}, ${NOW - 3600}, 1, 0 ${numbers(grants)} ORDER BY hashtext(n::text)`)
  await sql.unsafe(`
    INSERT INTO sessions (hash, wallet, chain_id, is_vouched, is_contract, elsewhere, browser, receipt_id, epoch, auth_time, last_seen_at, expires_at, attempt_id)
      SELECT CASE WHEN n % 10 = 0 THEN '\\x00'::bytea || convert_to('session-' || n, 'UTF8') ELSE sha256(n::text::bytea) END,
             ${wallet(`(n - 1) / ${perWallet.sessions} + 1`)}, 1, false, false, false, 'Firefox/Windows',
             ${random}, 0, ${NOW}, ${NOW}, ${NOW + 14 * DAY} + n, ${random} ${numbers(wallets * perWallet.sessions)} ORDER BY hashtext(n::text)`)
  await sql.unsafe(
    `INSERT INTO wallets (address, epoch, proved_itself) SELECT ${wallet('n')}, 0, true ${numbers(wallets)} ORDER BY hashtext(n::text)`,
  )
  await sql.unsafe(`
    INSERT INTO receipts (wallet, id, is_contract, chain_id, client_id, redirect_uri, scopes, resources, issued_at, expires_at, checked_at, sealed)
      SELECT ${wallet('n')}, ${random}, false, 1, ${client}, 'https://app.example.net/callback', 'enhancement',
      'https://api.example.com/', ${NOW}, ${NOW + 30 * DAY} + n, ${NOW},
      (SELECT substr(string_agg(sha256((n * 100 + part)::text::bytea), ''::bytea), 1, 150) FROM generate_series(1, 5) AS part)
    ${numbers(wallets)} WHERE n % 10 = 0`)
}
