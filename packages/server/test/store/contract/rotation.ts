/**
 * Each engine against `decideRotation`: what a refresh does to the row of any grant equals what the function decides about the row. On PostgreSQL
 * this compares the condition of the update with the function.
 */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Grant } from '../../../src/domain/model/records.ts'
import type { RotateOutcome, Rotation } from '../../../src/domain/model/request-store.ts'
import { decideRotation, type RotationDecision } from '../../../src/domain/model/rotation.ts'
import type { Store } from '../../../src/domain/model/store.ts'
import { forAllAsync } from '../../support/property.ts'
import { NOW, newGrant, rotationOf, type Subject, someSession } from './subject.ts'

const [API, FILES] = ['https://api.example.com/', 'https://files.example.com/a?b=c']

const either = <Value>(...values: Value[]) => fc.constantFrom(...values)
const seconds = (...after: number[]) => fc.constantFrom(...after).map((each) => NOW + each)

const rows = fc.record({
  walletKind: either<'ordinary' | 'contract'>('ordinary', 'ordinary', 'contract'),
  dpopJkt: either<string | null>(null, null, 'key-1'),
  scopes: either(['enhancement', 'profile'], ['enhancement', 'profile'], ['profile'], []),
  scopesByResource: either<Record<string, string[]> | null>(null, { [API]: ['profile'], [FILES]: [] }),
  refreshExpiresAt: seconds(1200, 1200, 1200, 100, 101),
  /** the times of the earlier rotations; their number is the generation of the row */
  rotations: fc.array(seconds(0, 40, 41, 99, 100, 103, 104), { maxLength: 3 }),
  isEnded: either(false, false, false, false, false, true),
  isEpochRaised: fc.boolean(),
  isSessionEnded: fc.boolean(),
})

const USUAL = {
  client: 'its own',
  behind: 0,
  isRepeated: false,
  retryWindow: 60,
  scopes: [] as string[],
  clientScopes: ['enhancement', 'profile'],
  resources: [] as string[],
  walletChecked: true,
  dpopJkt: 'key-1' as string | null,
  keepsToken: false,
  onlyChecks: false,
  at: NOW + 100,
}
const unusual = fc.oneof(
  fc.record({ client: either('another') }),
  // the attempt of the last change of the row is repeated
  fc.record({ behind: either(1, 1, 2), isRepeated: fc.boolean(), retryWindow: either(0, 1, 60) }),
  fc.record({ behind: either(-1) }),
  fc.record({ scopes: either(['profile'], ['enhancement', 'profile'], ['admin']) }),
  fc.record({ clientScopes: either(['enhancement'], ['admin'], []) }),
  fc.record({ resources: either([API], [FILES], ['https://other.example/'], [API, 'https://other.example/']) }),
  fc.record({ resources: either([API], [FILES]), scopes: either([], ['profile'], ['enhancement']) }),
  fc.record({ resources: either([API], [FILES]), clientScopes: either(['enhancement'], ['profile']) }),
  fc.record({ walletChecked: either(false) }),
  fc.record({ dpopJkt: either<string | null>(null, 'key-2') }),
  fc.record({ keepsToken: either(true) }),
  fc.record({ onlyChecks: either(true) }),
  fc.record({ at: seconds(99, 101) }),
)
const requests = fc.array(unusual, { maxLength: 2 }).map((some) => Object.assign({ ...USUAL }, ...some) as typeof USUAL)

type Row = typeof rows extends fc.Arbitrary<infer Value> ? Value : never

export function rotationContract(subject: Subject): void {
  test('What a refresh does to the row of any grant is what the rule decides about that row (RFC 9700 §4.14.2)', async () => {
    const decided = new Set<string>()
    await forAllAsync(rows, fc.array(requests, { minLength: 4, maxLength: 8 }), async (row, sequence) => {
      const [store, other] = subject().nodes
      let { grant, lastAttempt } = await storeGrant(store, row)
      for (const request of sequence) {
        const rotation = requestFor(grant, lastAttempt, request)
        const decision = decideRotation(grant, lastAttempt, rotation)
        decided.add(decision.change === 'none' ? decision.outcome.kind : decision.change)

        const outcome = await other.grants.rotateRefreshToken(rotation)
        expect(outcome).toEqual(outcomeOf(decision, grant, rotation))
        if (decision.change === 'rotate' && !rotation.keepsToken) lastAttempt = rotation.attemptId
        grant = grantAfter(decision, grant, rotation)
        expect(await store.grants.readGrant(grant.id)).toEqual(grant)
      }
    })
    expect(decided.size, `only ${[...decided].join(', ')}`).toBeGreaterThan(8)
  })
}

/** Stores a grant with its history, and returns the grant as the store has it. */
async function storeGrant(store: Store, row: Row): Promise<{ grant: Grant; lastAttempt: string }> {
  const { rotations, isEnded, isEpochRaised, isSessionEnded, ...members } = row
  const session = someSession({ epoch: 0 })
  const fresh = newGrant({ ...members, wallet: session.wallet, sessionHash: session.hash })
  await store.sessions.startSession(session, 'start')
  await store.grants.redeemCode(fresh, 'redeem', NOW)
  let lastAttempt = 'redeem'
  for (const [generation, at] of rotations.entries()) {
    const attemptId = `attempt-${generation}`
    const { walletChecked, clientScopes } = { walletChecked: true, clientScopes: ['profile'] }
    const refreshExpiresAt = fresh.refreshExpiresAt
    const earlier = { walletChecked, clientScopes, dpopJkt: fresh.dpopJkt, refreshExpiresAt, attemptId, at }
    const { kind } = await store.grants.rotateRefreshToken(rotationOf(fresh, generation, earlier))
    if (kind !== 'rotated') break
    lastAttempt = attemptId
  }
  if (isEnded) await store.grants.endGrant(fresh.id, 'revoked', NOW + 50)
  if (isEpochRaised) await store.wallets.raiseEpoch(session.wallet)
  if (isSessionEnded) await store.sessions.endSession(session.hash, 'end', NOW + 50)
  const grant = await store.grants.readGrant(fresh.id)
  if (!grant) throw new Error('the grant was not stored')
  return { grant, lastAttempt }
}

function requestFor(grant: Grant, lastAttempt: string, request: typeof USUAL): Rotation {
  const { client, behind, isRepeated, ...members } = request
  return rotationOf({ ...newGrant(), id: grant.id, clientId: grant.clientId }, grant.generation - behind, {
    ...members,
    ...(client === 'another' && { clientId: 'another client' }),
    ...(isRepeated && { attemptId: lastAttempt }),
  })
}

function outcomeOf(decision: RotationDecision, grant: Grant, rotation: Rotation): RotateOutcome {
  return decision.change === 'rotate' ? { kind: 'rotated', grant: rotated(grant, rotation) } : decision.outcome
}

function grantAfter(decision: RotationDecision, grant: Grant, rotation: Rotation): Grant {
  if (decision.change === 'rotate') return rotated(grant, rotation)
  return decision.change === 'end' ? { ...grant, endedAt: rotation.at, endReason: decision.reason } : grant
}

function rotated(grant: Grant, { keepsToken, refreshKeyId, at, refreshExpiresAt: requested }: Rotation): Grant {
  const refreshExpiresAt = Math.min(requested, grant.expiresAt)
  if (keepsToken) return { ...grant, refreshExpiresAt }
  return { ...grant, generation: grant.generation + 1, refreshKeyId, rotatedAt: at, refreshExpiresAt }
}
