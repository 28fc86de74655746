/** The key sets of clients that no operator registered: whose calls fetch them, and which of them stay in memory. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { type ClaimedJwt, readClientJwt } from '@grantor/protocol/client-jwt'
import { expect, test } from 'vitest'
import { PublishedKeys } from '../../../src/domain/clients/published-keys.ts'
import type { FetchFromClient } from '../../../src/domain/model/deps.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const KEY_SET = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1', use: 'sig', alg: 'ES256' }] })
const NETWORK = '192.0.2.0/24'
const GOOD = 'https://good.example/keys'
const failing = (index: number) => `https://failing-${index % 50}.example/${index}`

function signedJwt(): ClaimedJwt {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode({ alg: 'ES256', kid: '1' })}.${encode({ iss: 'client' })}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const jwt = readClientJwt(`${input}.${signature.toString('base64url')}`)
  if (!jwt) throw new Error('the JWT cannot be read')
  return jwt
}

/** Addresses that begin with `failing` have no keys. */
const answer: FetchFromClient = async ({ url }) =>
  url.startsWith('https://failing')
    ? { kind: 'unavailable', why: 'timed_out' }
    : { kind: 'answered', status: 200, headers: {}, body: KEY_SET }

function open(fetch: { first: FetchFromClient; again: FetchFromClient }) {
  const clock = { now: 1_800_000_000 }
  const keys = new PublishedKeys({
    fetch,
    rules: 'rs256',
    requireBudget: () => undefined,
    setsAtMost: 1_000,
    now: () => clock.now,
  })
  const jwt = signedJwt()
  /** the verdict, or the reason of the refusal */
  const check = (uri: string) => keys.check(uri, jwt, NETWORK).catch(({ reason }: { reason: string }) => reason)
  return { clock, check }
}

test('Keys of which a set is in memory are fetched again by calls of their own, which addresses without keys cannot use up', async () => {
  const [first, again]: [string[], string[]] = [[], []]
  const noteIn =
    (urls: string[]): FetchFromClient =>
    (call) => {
      urls.push(call.url)
      return answer(call)
    }
  const { clock, check } = open({ first: noteIn(first), again: noteIn(again) })
  expect(await check(GOOD)).toBe('holds')
  expect(await check(failing(0))).toBe('client_keys_unavailable')
  clock.now += 301
  expect(await check(GOOD)).toBe('holds')
  expect(await check(failing(0))).toBe('client_keys_unavailable')
  clock.now += 3600
  expect(await check(GOOD)).toBe('holds')
  expect(first).toEqual([GOOD, failing(0), failing(0), GOOD])
  expect(again).toEqual([GOOD])
})

test('Addresses whose keys cannot be fetched evict no key set, however many are named', async () => {
  const fetched: string[] = []
  const fetch: FetchFromClient = (call) => {
    fetched.push(call.url)
    return answer(call)
  }
  const { check } = open({ first: fetch, again: fetch })
  await check(GOOD)
  for (let index = 0; index < 3000; index++) await check(failing(index))
  expect(await check(GOOD)).toBe('holds')
  expect(fetched.filter((url) => url === GOOD)).toHaveLength(1)
})
