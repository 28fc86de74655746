/**
 * A database of one version, with rows of every kind, and what a later version must read in it. `saveDatabase` fills the database through the
 * HTTP interface of the version that runs it, except for the receipt of a contract wallet.
 */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openReceipt, sealSignedMessage } from '../../src/domain/consent/receipt.ts'
import type { Grant, Receipt } from '../../src/domain/model/records.ts'
import { newFolder, run } from '../app/run.ts'
import { appOf, claimsOf, startApp, type Tokens } from '../support/app.ts'
import { pushed } from '../support/pushed.ts'
import { type StartOptions, startGrantor, TEST_SECRET, type TestClient, TestClock } from '../support/start.ts'
import { movingTo, parameterOf, Walk } from '../support/walk.ts'
import { testWallet } from '../support/wallet.ts'

/** In JSON, beside the database. */
export type Saved = {
  at: number
  authUrl: string
  loginUrl: string
  client: TestClient
  cookies: [name: string, value: string][]
  tokens: { refreshed: Tokens; revoked: Tokens; ended: Tokens }
  grants: Grant[]
  request: { client_id: string; request_uri: string }
  receipts: { wallet: Receipt['wallet']; id: string; message: string; signature: string }[]
  configuration: string
  trail: string
}

/** The database of a test: `options` open it in servers, and `url` is its GRANTOR_DATABASE_URL. */
export type Opened = { options: Pick<StartOptions, 'databasePath' | 'postgres' | 'postgresClock'>; url: string }

const AT = Date.UTC(2026, 10, 29) / 1000
/** Seconds between saving and the checks. A pushed request lives for longer. */
const LATER = 30

const CONFIGURATION = {
  resources: [{ resource: 'https://api.example.com/', name: 'API', scopes: [{ name: 'enhancement', description: 'enhance' }] }],
  clients: [{ name: 'Page', type: 'public', redirect_uris: ['https://page.example.com/callback'] }],
  operators: [{ operator: testWallet(1).address, role: 'owner' }],
  webhooks: [{ url: 'https://siem.example/grantor', events: ['grant_ended'] }],
}

export async function saveDatabase({ options, url }: Opened): Promise<Saved> {
  const clock = new TestClock()
  clock.at = AT
  const app = await startApp({ ...options, clock })
  const { grantor, walk, client } = app
  await command(url, ['apply', fileOf(CONFIGURATION), '--yes'])
  const [first, revoked, ended] = [await app.freshTokens(), await app.freshTokens(), await app.freshTokens()]
  const refreshed = { ...first, ...((await walk.refresh(client, first.refresh_token)).json() as Tokens) }
  await walk.revoke(client, revoked.access_token)
  await walk.revoke(client, ended.refresh_token)
  const request = await pushed(walk, client)

  const [receipt] = await grantor.store.receipts.listReceipts(walletOf(0), { limit: 1 })
  if (!receipt) throw new Error('the sign-in stored no receipt')
  const { message } = openReceipt(grantor.deps.keys, receipt) ?? { message: '' }
  const ofContract: Receipt = { ...receipt, id: randomUUID(), wallet: walletOf(2), walletKind: 'contract' }
  const sealed = sealSignedMessage(grantor.deps.keys, ofContract, { message, signature: `0x${'5a'.repeat(200)}` })
  await grantor.store.receipts.insertReceipt({ ...ofContract, sealed }, 0)

  await grantor.storeActivity()
  await grantor.moveWaiting()
  await grantor.keepTrail()
  const tokens = { refreshed, revoked, ended }
  const grants = await Promise.all(
    Object.values(tokens).map(({ access_token }) => grantor.store.grants.readGrant(grantOf(access_token))),
  )
  const receipts = [receipt, { ...ofContract, sealed }].map((each) => {
    const signed = openReceipt(grantor.deps.keys, each)
    if (!signed) throw new Error('a receipt does not open')
    return { wallet: each.wallet, id: each.id, ...signed }
  })
  const { authUrl, loginUrl } = grantor
  const saved = {
    at: AT,
    authUrl,
    loginUrl,
    client,
    cookies: [...walk.cookies],
    tokens,
    grants: grants as Grant[],
    request,
    receipts,
  }
  await app.close()
  return { ...saved, configuration: await command(url, ['export']), trail: await command(url, ['audit', 'export']) }
}

/** Checks that this version reads the database, and continues its grants and its session. Changes the database. */
export async function checkDatabase({ options, url }: Opened, saved: Saved): Promise<void> {
  const { authUrl, loginUrl, client, tokens } = saved
  await command(url, ['migrate'])
  expect(await command(url, ['apply', fileOf(saved.configuration), '--yes'])).toContain('Nothing to change')
  expect((await command(url, ['audit', 'export'])).startsWith(saved.trail)).toBe(true)
  expect(await command(url, ['audit', 'verify'])).toMatch(/\d+ lines/)

  const clock = new TestClock()
  clock.at = saved.at + LATER
  const grantor = await startGrantor({
    ...options,
    clock,
    environment: { GRANTOR_AUTH_URL: authUrl, GRANTOR_LOGIN_URL: loginUrl },
  })
  const walk = new Walk(grantor)
  for (const [name, value] of saved.cookies) walk.cookies.set(name, value)
  const app = appOf(grantor, client, walk)

  // Members that a later version added have no value.
  const added = { signedLimit: null, drawn: null }
  for (const grant of saved.grants) expect(await grantor.store.grants.readGrant(grant.id)).toEqual({ ...added, ...grant })
  for (const { wallet, id, ...signed } of saved.receipts) {
    const receipt = await grantor.store.receipts.readReceipt(wallet, id)
    expect(receipt && openReceipt(grantor.deps.keys, receipt)).toEqual(signed)
  }
  expect(await app.isActive(tokens.refreshed.access_token)).toBe(true)
  expect(await app.isActive(tokens.revoked.access_token)).toBe(false)
  expect(await app.isActive(tokens.ended.access_token)).toBe(false)
  const refresh = await walk.refresh(client, tokens.refreshed.refresh_token)
  expect([refresh.status, await app.isActive(refresh.json().access_token as string)]).toEqual([200, true])
  expect((await walk.refresh(client, tokens.ended.refresh_token)).json()).toMatchObject({ error: 'invalid_grant' })
  const answer = await walk.authorize(saved.request)
  expect((await walk.exchange(client, parameterOf(answer.location || movingTo(answer), 'code'))).status).toBe(200)
  await grantor.close()
}

/** Runs a command on the database and returns what it prints. */
async function command(url: string, argv: string[]): Promise<string> {
  const { exit, out, err } = await run(argv, { GRANTOR_DATABASE_URL: url, GRANTOR_SECRET: TEST_SECRET }, AT)
  if (exit !== 0) throw new Error(`grantor ${argv.join(' ')} failed: ${err}`)
  return out
}

/** A file with this text, or with this value in JSON. */
function fileOf(content: unknown): string {
  const path = join(newFolder(), 'grantor.yaml')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const walletOf = (index: 0 | 2) => testWallet(index).address as Receipt['wallet']
const grantOf = (accessToken: string): string => claimsOf(accessToken).grant_id
