/** What an engine passes to the contract, and the records that the contract stores. */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { CLIENT_DEFAULTS } from '../../../src/domain/model/client-record.ts'
import { pagesOf } from '../../../src/domain/model/pages.ts'
import type { Client, EndReason, Grant, Receipt, Session } from '../../../src/domain/model/records.ts'
import type { NewGrant, Rotation } from '../../../src/domain/model/request-store.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import type { KeyRecord } from '../../../src/protocol/keys/key-ring.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'

/** One engine on data of its own, empty at first, as two nodes see it. */
export type StoreUnderTest = {
  nodes: [Store, Store]
  /** closes both nodes and opens the same data again */
  restart(): Promise<Store>
  /** makes every write fail, as a full disk or a lost connection does, until the returned function is called */
  refuseWrites(): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** Returns the engine under test of the current test. */
export type Subject = () => StoreUnderTest

/** A time in epoch seconds. The store gets the time from its callers. */
export const NOW = 1_800_000_000
export const DAY = 86_400

/** Makes `count` calls at once, half of them on each node. */
export function race<Outcome>(
  { nodes }: StoreUnderTest,
  count: number,
  ask: (store: Store, index: number) => Promise<Outcome>,
): Promise<Outcome[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => ask(nodes[index % 2 === 0 ? 0 : 1], index)))
}

export function someWallet(): Address {
  return `0x${randomBytes(20).toString('hex')}`
}

export function newGrant(grant: Partial<NewGrant> = {}): NewGrant {
  return {
    id: randomUUID(),
    clientId: randomUUID(),
    wallet: someWallet(),
    walletKind: 'ordinary',
    receiptId: null,
    consented: false,
    scopes: ['enhancement', 'profile'],
    resources: ['https://api.example.com/', 'https://files.example.com/a?b=c'],
    scopesByResource: null,
    expiresAt: NOW + 30 * DAY,
    refreshExpiresAt: NOW + 14 * DAY,
    refreshKeyId: 'aaaaaaaaaa',
    dpopJkt: null,
    authTime: NOW - 5,
    chainId: 8453,
    // belongs to a session: a test that redeems a code with a session starts the session first
    sessionHash: null,
    sessionReceiptId: null,
    signedLimit: null,
    epoch: 0,
    ...grant,
  }
}

/** A refresh with a grant's token of one generation. Each call has an attempt id of its own. */
export function rotationOf(grant: NewGrant, generation: number, rotation: Partial<Rotation> = {}): Rotation {
  return {
    grantId: grant.id,
    clientId: grant.clientId,
    generation,
    refreshKeyId: 'bbbbbbbbbb',
    refreshExpiresAt: NOW + 15 * DAY,
    retryWindow: 60,
    scopes: [],
    clientScopes: ['enhancement', 'profile'],
    resources: [],
    walletChecked: false,
    dpopJkt: null,
    attemptId: randomUUID(),
    at: NOW + 100,
    ...rotation,
  }
}

/** Stores a grant that has not ended, and returns it. */
export async function livingGrant(store: Store, grant: Partial<NewGrant> = {}): Promise<NewGrant> {
  const born = newGrant(grant)
  await store.grants.redeemCode(born, randomUUID(), NOW)
  return born
}

export function someSession(session: Partial<Session> = {}): Session {
  return {
    hash: randomBytes(32).toString('base64url'),
    wallet: someWallet(),
    chainId: 8453,
    method: 'signature',
    walletKind: 'ordinary',
    receiptId: null,
    epoch: 3,
    authTime: NOW,
    lastSeenAt: NOW,
    expiresAt: NOW + 14 * DAY,
    elsewhere: false,
    browser: 'Firefox/Windows',
    endedAt: null,
    replacedBy: null,
    ...session,
  }
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

export function someReceipt(receipt: Partial<Receipt> = {}): Receipt {
  return {
    id: randomUUID(),
    wallet: someWallet(),
    walletKind: 'ordinary',
    chainId: 1,
    clientId: randomUUID(),
    redirectUri: 'https://app.example.net/callback',
    scopes: ['enhancement'],
    resources: ['https://api.example.com/'],
    issuedAt: NOW,
    expiresAt: NOW + 30 * DAY,
    withdrawnAt: null,
    checkedAt: NOW,
    sealed: bytesOf('sealed'),
    ...receipt,
  }
}

export function someClient(client: Partial<Client> = {}): Client {
  return {
    id: randomUUID(),
    ...CLIENT_DEFAULTS,
    name: 'Zoë’s “app” 🎈',
    type: 'confidential',
    redirectUris: ['https://app.example.net/callback?a=%20b', 'http://127.0.0.1/'],
    scopes: ['enhancement', 'profile'],
    defaultScopes: ['enhancement'],
    resources: ['https://api.example.com/'],
    resourceServer: null,
    exchangeResources: [],
    consent: 'session',
    requirePkce: true,
    authMethod: 'client_secret_basic',
    grantTypes: ['authorization_code', 'refresh_token'],
    profile: 'default',
    jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'one', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }] },
    jwksUri: null,
    requirePushedRequests: true,
    requestObjectSigned: false,
    dpopBound: true,
    assertionAudience: 'issuer',
    idTokenAlgorithm: 'RS256',
    introspectionSigned: 'ES256',
    authorizationAlgorithm: 'EdDSA',
    responseModes: ['query.jwt'],
    postLogoutRedirectUris: ['https://app.example.net/bye'],
    backchannelLogoutUri: 'https://app.example.net/logout',
    backchannelLogoutSessionRequired: false,
    logo: null,
    secrets: [{ secretHash: randomBytes(32).toString('base64url'), expiresAt: null, createdAt: NOW }],
    createdAt: NOW,
    disabledAt: null,
    ...client,
  }
}

export function someKey(key: Partial<KeyRecord> = {}): KeyRecord {
  return {
    id: randomBytes(5).toString('hex'),
    kind: 'sign',
    number: randomInt(1, 2 ** 40),
    algorithm: 'ES256',
    wrapped: new Uint8Array(randomBytes(100)),
    createdAt: NOW,
    startsAt: NOW + 60,
    retiredAt: null,
    ...key,
  }
}

/** Ends every grant of a wallet, of a client, or of both, as the domain does. Returns how many grants ended. */
export async function endAll(
  { grants }: Pick<Store, 'grants'>,
  { wallet, clientId }: { wallet?: Address; clientId?: string },
  reason: EndReason,
  at: number,
): Promise<number> {
  const pages = pagesOf<Grant>((page) =>
    wallet === undefined
      ? grants.listGrants({ clientId: clientId ?? '', unended: true, order: 'oldest', ...page })
      : grants.listUnendedGrants({ wallet, clientId, ...page }),
  )
  let ended = 0
  for await (const page of pages) {
    const ids = page.map(({ id }) => id)
    ended += (await grants.endGrants(ids, { reason, attemptId: randomUUID(), at })).length
  }
  return ended
}
