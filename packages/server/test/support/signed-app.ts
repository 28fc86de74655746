/** An app with the consent rule `signed`, and the requests that its tests repeat. */

import type { ClientRegistration } from '../../src/domain/clients/register-client.ts'
import type { Receipt } from '../../src/domain/model/records.ts'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { type App, appOf } from './app.ts'
import type { Answer } from './send.ts'
import { type Grantor, type StartOptions, startGrantor, type TestClient } from './start.ts'
import { movingTo, parameterOf, redirectPath, requestOf, Walk } from './walk.ts'

export const API = 'https://api.example.com/'
export const FILES = 'https://files.example.com/'

/** Registers a client that may request two scopes, and two resources besides the default resource. */
export function signedClient(grantor: Grantor, registration: Partial<ClientRegistration> = {}): Promise<TestClient> {
  return grantor.createClient({
    consent: 'signed',
    scopes: ['enhancement', 'profile'],
    resources: [API, FILES],
    ...registration,
  })
}

/** Starts the service with such a client, without a login. */
export async function startSignedApp(options: StartOptions = {}): Promise<App> {
  const grantor = await startGrantor(options)
  return appOf(grantor, await signedClient(grantor), new Walk(grantor))
}

/** The result of an authorization request: `code`, `login`, or the error code of the response. */
export function outcomeOf({ status, location }: Answer): string {
  if (status !== 302) return `status ${status}`
  if (location.includes('/login?login_challenge=')) return 'login'
  return parameterOf(location, 'code') === '' ? parameterOf(location, 'error') : 'code'
}

/** Every receipt of a wallet, the newest first. */
export async function receiptsOf(grantor: Grantor, wallet: { address: string }): Promise<Receipt[]> {
  const list = (state: 'standing' | 'withdrawn') =>
    grantor.store.receipts.listReceipts(wallet.address as Address, { state, limit: 1000 })
  return [...(await list('standing')), ...(await list('withdrawn'))].toSorted((a, b) => b.issuedAt - a.issuedAt)
}

/** The number of a wallet's receipts that were not withdrawn. */
export async function standingReceipts(grantor: Grantor, wallet: { address: string }): Promise<number> {
  return (await receiptsOf(grantor, wallet)).filter(({ withdrawnAt }) => withdrawnAt === null).length
}

/** Changes a client's record, as an operator does, and lets every node notice. */
export async function changeClient(grantor: Grantor, client: TestClient, change: Partial<TestClient>): Promise<void> {
  const { secret: _, ...record } = { ...client, ...change }
  await grantor.store.clients.replaceClient(record)
  await grantor.noticeChanges()
}

/** Signs in to the account page. */
export async function signInToAccount(walk: Walk): Promise<Answer> {
  const { location } = await walk.browse({ path: '/account' })
  return walk.complete(await walk.prove(parameterOf(location, 'login_challenge')))
}

/** The challenge whose signature ends everything of the wallet that signs. */
export async function endingChallenge(walk: Walk): Promise<string> {
  return parameterOf(movingTo(await walk.postForm('/account/end-everything', {})), 'login_challenge')
}

/** Ends everything of this walk's wallet, by one signature. */
export async function endEverything(walk: Walk): Promise<Answer> {
  return walk.complete(await walk.prove(await endingChallenge(walk)))
}

/** A session that the platform's login server has vouched for. */
export async function vouchFor(walk: Walk, client: TestClient): Promise<Answer> {
  const { settings } = walk.grantor.deps
  settings.loginMayVouch = true
  const login_challenge = await walk.challenge(requestOf(client))
  const accepted = await walk.loginApi('/login/accept', { login_challenge, address: walk.wallet.address, chain_id: 1 })
  const answer = await walk.complete(redirectPath(accepted))
  settings.loginMayVouch = false
  return answer
}
