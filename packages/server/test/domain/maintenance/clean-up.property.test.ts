/** In any sequence of uses and sweeps, a code, refresh token or login that was used, or whose grant ended, never works again. */
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { challengeExpiresAt, newBrowserKey, openChallenge, sealChallenge } from '../../../src/domain/authorization/challenge.ts'
import { completeLogin } from '../../../src/domain/login/complete-login.ts'
import { acceptLogin, composeText } from '../../../src/domain/login/login.ts'
import { createSweeper } from '../../../src/domain/maintenance/clean-up.ts'
import { sealCode } from '../../../src/domain/tokens/code.ts'
import { exchangeCode } from '../../../src/domain/tokens/exchange-code.ts'
import { refresh } from '../../../src/domain/tokens/refresh.ts'
import { revoke } from '../../../src/domain/tokens/revoke.ts'
import type { Address } from '../../../src/protocol/wallet/address.ts'
import { someSession } from '../../store/contract/subject.ts'
import { runs } from '../../support/runs.ts'
import { type Grantor, startGrantor, type TestClient } from '../../support/start.ts'
import { testWallet } from '../../support/wallet.ts'

// The shortest lifetimes that can be set, so that rows are deleted as early as possible. The code has the longest.
const LIFETIMES = { code: 600, accessToken: 10, grant: 60, refreshIdle: 60, session: 60, sessionIdle: 60, refreshRetryWindow: 0 }
const HOUR = 3600
/** the hash of the session of every code; the session outlives the test */
const SESSION = 'session'
const wallet = testWallet(0)

let grantor: Grantor
let client: TestClient
beforeAll(async () => {
  grantor = await startGrantor({ lifetimes: LIFETIMES })
  client = await grantor.createClient()
  const expiresAt = grantor.clock.now() + 1_000_000_000
  await grantor.store.sessions.startSession(someSession({ hash: SESSION, expiresAt }), 'attempt')
})
afterAll(() => grantor.close())

const which = fc.nat({ max: 5 })
const moves = fc.oneof(
  { weight: 3, arbitrary: fc.record({ move: fc.constant('code' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ move: fc.constantFrom('exchange' as const, 'refresh' as const, 'revoke' as const), which }),
  },
  { weight: 1, arbitrary: fc.record({ move: fc.constant('login' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      move: fc.constant('later' as const),
      // Also backwards, as clocks may be set.
      seconds: fc.constantFrom(1, 30, 60, 600, HOUR, 24 * HOUR, 25 * HOUR, 26 * HOUR, 30 * 24 * HOUR, -60, -600),
    }),
  },
)
type Move = typeof moves extends fc.Arbitrary<infer Value> ? Value : never

/** Everything that one run created, and what must never work again. */
type Made = {
  codes: { code: string; used: boolean; refreshTokens: string[]; ended: boolean }[]
  logins: { challenge: string; verifier: string; browserKey: string; signature: string }[]
}

const works = (attempt: Promise<unknown>): Promise<boolean> =>
  attempt.then(
    () => true,
    () => false,
  )

function newCode(): string {
  const at = grantor.clock.now()
  return sealCode(grantor.deps.keys, {
    clientId: client.id,
    redirectUri: client.redirectUris[0] ?? '',
    wallet: wallet.address as Address,
    walletKind: 'ordinary',
    receiptId: null,
    consented: false,
    epoch: 0,
    scopes: ['enhancement'],
    resources: [],
    scopesByResource: null,
    codeChallenge: null,
    sessionHash: SESSION,
    sessionReceiptId: null,
    expiresAt: at + LIFETIMES.code,
    // Longer than the code, as usual. A shorter grant would only end sooner.
    grantExpiresAt: at + LIFETIMES.grant,
    authTime: at,
    chainId: 1,
    nonce: null,
    dpopJkt: null,
    firstScopes: null,
  })
}

const exchange = (code: string) =>
  exchangeCode(grantor.deps, client, {
    code,
    redirectUri: client.redirectUris[0] ?? '',
    codeVerifier: null,
    resources: [],
    proof: null,
  })
const refreshWith = (refreshToken: string) =>
  refresh(grantor.deps, client, { refreshToken, scope: null, resources: [], proof: null })

async function logIn(): Promise<Made['logins'][number]> {
  const browserKey = newBrowserKey()
  const challenge = sealChallenge(grantor.deps, { kind: 'account' }, null, { browserKey }) ?? ''
  const claim = { challenge, address: wallet.address, chainId: 1, scope: null, limit: null }
  const signature = wallet.sign(await composeText(grantor.deps, claim))
  const to = new URL(await acceptLogin(grantor.deps, { claim, signature, admitContractCheck: () => null }))
  const verifier = to.searchParams.get('login_verifier') ?? ''
  const outcome = await completeLogin(grantor.deps, { challenge, verifier, browserKey, sessionId: null, browser: '' })
  expect(outcome.kind).toBe('signed_in')
  return { challenge, verifier, browserKey, signature }
}

async function play(made: Made, move: Move): Promise<void> {
  if (move.move === 'later') grantor.clock.advance(move.seconds)
  else if (move.move === 'code') made.codes.push({ code: newCode(), used: false, refreshTokens: [], ended: false })
  else if (move.move === 'login') made.logins.push(await logIn())
  else {
    const each = made.codes[move.which % Math.max(1, made.codes.length)]
    const [last] = each?.refreshTokens.slice(-1) ?? []
    if (!each || (move.move !== 'exchange' && last === undefined)) return
    if (move.move === 'exchange') {
      if (each.used) return
      const answer = await exchange(each.code).catch(() => null)
      each.used = answer !== null
      if (answer) each.refreshTokens.push(answer.refresh_token ?? '')
    } else if (move.move === 'refresh') {
      const answer = each.ended ? null : await refreshWith(last ?? '').catch(() => null)
      if (answer) each.refreshTokens.push(answer.refresh_token ?? '')
    } else {
      await revoke(grantor.deps, client, last ?? '', () => undefined)
      each.ended = true
    }
  }
}

/** Repeats what was used or ended. A replay ends a valid grant, as required. */
async function replay(made: Made): Promise<void> {
  for (const each of made.codes.filter(({ used }) => used)) {
    if (each.ended) for (const token of each.refreshTokens) expect(await works(refreshWith(token)), 'an ended grant').toBe(false)
    for (const token of each.refreshTokens.slice(0, -1)) {
      expect(await works(refreshWith(token)), 'a refresh token used before').toBe(false)
      each.ended = true
    }
  }
  for (const { challenge, verifier, browserKey, signature } of made.logins) {
    const again = await completeLogin(grantor.deps, { challenge, verifier, browserKey, sessionId: null, browser: '' })
    expect(again.kind, 'a verifier used before').not.toBe('signed_in')
    const claim = { challenge, address: wallet.address, chainId: 1, scope: null, limit: null }
    expect(
      await works(acceptLogin(grantor.deps, { claim, signature, admitContractCheck: () => null })),
      'a challenge used before',
    ).toBe(false)
  }
}

test('In any sequence of uses and sweeps, no used code, refresh token or login works again', {
  timeout: 30_000 + runs * 200,
}, async () => {
  let swept = 0
  await fc.assert(
    fc.asyncProperty(fc.array(moves, { minLength: 10, maxLength: 40, size: 'max' }), async (sequence) => {
      const { store, clock } = grantor
      const sweep = createSweeper({
        cleaning: store.cleaning,
        lifetimes: LIFETIMES,
        now: clock.now,
        pause: () => Promise.resolve(),
        note: (_, rows) => void (swept += rows),
      })
      const made: Made = { codes: [], logins: [] }
      for (const move of sequence) {
        await play(made, move)
        await sweep()
        // Codes are checked after every step, because a deleted row could let a used code in.
        for (const each of made.codes.filter(({ used, ended }) => used && ended))
          expect(await works(exchange(each.code)), 'a code used before').toBe(false)
      }
      await replay(made)
      for (const each of made.codes.filter(({ used }) => used))
        expect(await works(exchange(each.code)), 'a code used before').toBe(false)
      // The rows of this run must not affect the next one.
      clock.advance(100 * 24 * HOUR)
    }),
    { numRuns: Math.ceil(runs / 3) },
  )
  expect(swept, 'rows did leave').toBeGreaterThan(50)
})

test('A login challenge expires 600 seconds after it was issued', async () => {
  const sealed = sealChallenge(grantor.deps, { kind: 'account' }, null, { browserKey: newBrowserKey() }) ?? ''
  const challenge = await openChallenge(grantor.deps, sealed)
  expect(challenge && challengeExpiresAt(challenge) - challenge.issuedAt).toBe(600)
})
