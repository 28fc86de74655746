/** A receipt with a limit: one signature has one grant, so the receipt covers no later request. */
import { expect, test } from 'vitest'
import { findCoveringReceipt, sealSignedMessage } from '../../../src/domain/consent/receipt.ts'
import type { AuthorizationRequest } from '../../../src/domain/model/authorization-request.ts'
import type { Deps } from '../../../src/domain/model/deps.ts'
import type { Client, Session } from '../../../src/domain/model/records.ts'
import type { ShortConsentFields } from '../../../src/protocol/wallet/short-consent.ts'
import { ringOf } from '../../protocol/keys/rings.ts'
import { composeShort, shortFields } from '../../protocol/wallet/consent-example.ts'
import { usualLimit } from '../../protocol/wallet/limit-example.ts'
import { openTwoNodes } from '../../store/sqlite-file.ts'

const ring = ringOf()

test('A receipt with a limit covers no later request, and the same receipt without a limit does', async () => {
  const [store] = await openTwoNodes()
  const { address: wallet, chainId, clientId, redirectUri = '', issuedAt, until: expiresAt } = shortFields
  const scopes = ['enhancement', 'openid']
  const resources = [...shortFields.resources]
  const deps = { store, keys: ring, now: () => issuedAt } as unknown as Deps
  const client = { id: clientId, type: 'confidential', redirectUris: [redirectUri] } as unknown as Client
  const keep = async (id: string, changes: Partial<ShortConsentFields>): Promise<void> => {
    const columns = { wallet, id, chainId, clientId, redirectUri, scopes, resources, issuedAt, expiresAt }
    const signed = { message: composeShort({ scopes, ...changes }), signature: `0x${'5a'.repeat(64)}1b` }
    const sealed = sealSignedMessage(ring, columns, signed)
    const receipt = { ...columns, walletKind: 'ordinary' as const, withdrawnAt: null, checkedAt: issuedAt, sealed }
    expect(await store.receipts.insertReceipt(receipt, 0)).toBe('inserted')
  }
  const find = (requested: string[]) => {
    const request = { redirectUri, scopes: requested, resources, scopesByResource: null, dpopJkt: null }
    return findCoveringReceipt(deps, { wallet } as Session, client, request as unknown as AuthorizationRequest)
  }
  const limit = { resource: resources[0] ?? '', scope: 'enhancement', limit: usualLimit }
  await keep('a'.repeat(43), { template: 14, limit })
  for (const requested of [scopes, ['enhancement'], ['openid']]) expect(await find(requested)).toBeNull()
  await keep('b'.repeat(43), {})
  expect(await find(scopes)).toMatchObject({ id: 'b'.repeat(43) })
})
