/**
 * A model of the grant store in memory, one operation at a time: what `domain/model/request-store.ts` specifies, without SQL
 * and without races.
 */

import type { EndReason, Grant } from '../../../src/domain/model/records.ts'
import {
  type GrantStore,
  LATE_BY_AT_MOST,
  type NewGrant,
  type RedeemOutcome,
  type RevokeTokenOutcome,
  type RotateOutcome,
  type Rotation,
} from '../../../src/domain/model/request-store.ts'

type Row = { grant: Grant; attemptId: string }
type Token = Parameters<GrantStore['revokeAccessToken']>[0]

export class LedgerModel {
  readonly #rows = new Map<string, Row>()

  redeemCode(grant: NewGrant, attemptId: string, at: number): RedeemOutcome {
    const row = this.#rows.get(grant.id)
    if (!row) return { kind: 'redeemed', grant: this.#put(grant, attemptId, at) }
    const ours = row.attemptId === attemptId && row.grant.endedAt === null
    return { kind: ours ? 'redeemed' : 'taken', grant: row.grant }
  }

  spendCode(grant: NewGrant, attemptId: string, at: number): void {
    if (this.#rows.has(grant.id)) return
    this.#put(grant, attemptId, at)
    this.#end(grant.id, 'code_spent', at)
  }

  rotateRefreshToken(rotation: Rotation): RotateOutcome {
    const { grantId, attemptId, at } = rotation
    const row = this.#rows.get(grantId)
    if (!row) return { kind: 'unknown' }
    const { grant } = row
    if (grant.clientId !== rotation.clientId) return { kind: 'foreign' }
    if (grant.endedAt !== null) return { kind: 'ended' }
    if (grant.dpopJkt !== null && grant.dpopJkt !== rotation.dpopJkt) return { kind: 'wrong_key' }
    const behind = grant.generation - rotation.generation
    if (behind === 1 && row.attemptId === attemptId) return { kind: 'rotated', grant }
    if (grant.refreshExpiresAt <= at) return { kind: 'expired' }
    const inWindow = grant.rotatedAt <= at + LATE_BY_AT_MOST && at < grant.rotatedAt + rotation.retryWindow
    if (behind < 0 || behind > 1 || (behind === 1 && !inWindow)) {
      this.#end(grantId, behind < 0 ? 'refresh_newer_than_row' : 'refresh_replayed', at)
      return { kind: behind < 0 ? 'newer_than_row' : 'replayed', grant }
    }
    if (rotation.resources.some((resource) => !grant.resources.includes(resource))) return { kind: 'resource_not_granted' }
    if (!grant.scopes.some((scope) => rotation.clientScopes.includes(scope))) return { kind: 'no_scope_left' }
    if (rotation.scopes.some((scope) => !grant.scopes.includes(scope))) return { kind: 'scope_not_granted' }
    if (grant.walletKind === 'contract' && !rotation.walletChecked) return { kind: 'wallet_unchecked', grant }
    if (rotation.onlyChecks) return { kind: 'may_rotate', grant }
    if (behind === 1) return { kind: 'repeated', grant }
    const moved: Grant = {
      ...grant,
      generation: grant.generation + 1,
      refreshKeyId: rotation.refreshKeyId,
      refreshExpiresAt: Math.min(rotation.refreshExpiresAt, grant.expiresAt),
      rotatedAt: at,
    }
    this.#rows.set(grantId, { grant: moved, attemptId })
    return { kind: 'rotated', grant: moved }
  }

  endGrant(grantId: string, reason: EndReason, at: number, clientId?: string): Awaited<ReturnType<GrantStore['endGrant']>> {
    const row = this.#rows.get(grantId)
    if (!row) return 'unknown'
    if (clientId !== undefined && row.grant.clientId !== clientId) return 'foreign'
    if (row.grant.endedAt !== null) return 'ended_before'
    this.#end(grantId, reason, at)
    return 'ended'
  }

  revokeAccessToken({ grantId, clientId, jti, expiresAt, at }: Token): RevokeTokenOutcome {
    const row = this.#rows.get(grantId)
    if (!row) return 'unknown'
    if (row.grant.clientId !== clientId) return 'foreign'
    if (row.grant.endedAt !== null) return 'grant_ended_before'
    if (jti in row.grant.revokedTokens) return 'revoked_before'
    const remembered = Object.entries(row.grant.revokedTokens).filter(([, exp]) => exp > at)
    const revokedTokens = { ...Object.fromEntries(remembered), [jti]: expiresAt }
    this.#rows.set(grantId, { ...row, grant: { ...row.grant, revokedTokens } })
    return 'revoked'
  }

  endGrants(of: { wallet?: string; clientId?: string }, reason: EndReason, at: number): number {
    const living = [...this.#rows.values()].filter(
      ({ grant }) =>
        grant.endedAt === null &&
        (of.wallet === undefined || of.wallet === grant.wallet) &&
        (of.clientId === undefined || of.clientId === grant.clientId),
    )
    for (const { grant } of living) this.#end(grant.id, reason, at)
    return living.length
  }

  readGrant(grantId: string): Grant | null {
    return this.#rows.get(grantId)?.grant ?? null
  }

  #put(grant: NewGrant, attemptId: string, at: number): Grant {
    const born = {
      ...grant,
      createdAt: at,
      rotatedAt: at,
      generation: 0,
      endedAt: null,
      endReason: null,
      revokedTokens: {},
      drawn: null,
    }
    this.#rows.set(grant.id, { grant: born, attemptId })
    return born
  }

  #end(grantId: string, endReason: EndReason, endedAt: number): void {
    const row = this.#rows.get(grantId)
    if (row) this.#rows.set(grantId, { ...row, grant: { ...row.grant, endedAt, endReason } })
  }
}
