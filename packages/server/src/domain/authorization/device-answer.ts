/** The answer of the user to the request of a device (RFC 8628 §3.3): the only row of the request that the device depends on. */
import type { Deps } from '../model/deps.ts'
import type { DeviceRequest } from '../model/device-request.ts'
import type { Session } from '../model/records.ts'
import { grantIdFor } from '../tokens/code.ts'
import { readAnswer, storeAnswer } from '../tokens/device-code.ts'
import { type CodeBasis, requireLimit } from './redirects.ts'

export async function isAnswered(deps: Deps, request: DeviceRequest): Promise<boolean> {
  return (await readAnswer(deps, request)) !== null
}

/** What the user allowed with a signature. */
export type DevicePermission = Pick<CodeBasis, 'session' | 'epoch' | 'receiptId' | 'grantExpiresAt' | 'first' | 'limit'> & {
  scopes: string[]
}

/** False if the request was answered before. */
export async function allowDevice(deps: Deps, request: DeviceRequest, permission: DevicePermission): Promise<boolean> {
  const { session, epoch, receiptId, grantExpiresAt, scopes, first } = permission
  const limit = requireLimit(request.limit, permission)
  const grantId = grantIdFor({ ...(limit && { limit }), receiptId }) ?? request.grantId
  const { clientId, resources, dpopJkt, expiresAt } = request
  const stored = await storeAnswer(deps, request, {
    grantId,
    clientId,
    redirectUri: '',
    ...answeringWallet(session),
    receiptId,
    sessionReceiptId: null,
    consented: true,
    epoch,
    scopes,
    resources,
    scopesByResource: null,
    codeChallenge: null,
    expiresAt,
    grantExpiresAt,
    nonce: null,
    dpopJkt,
    firstScopes: first.scopes,
    firstClaims: first.claims,
    ...(limit && { limit }),
  })
  if (stored) await deps.audit({ event: 'device_allowed', client_id: clientId, grant_id: grantId, wallet: session.wallet })
  return stored
}

function answeringWallet({ wallet, walletKind, hash, authTime, chainId }: Session) {
  return { wallet, walletKind, sessionHash: hash, authTime, chainId }
}

/** Needs no signature: every holder of the user code may stop the request. False if the request was answered before. */
export async function denyDevice(deps: Deps, request: DeviceRequest): Promise<boolean> {
  const stored = await storeAnswer(deps, request, 'denied')
  if (stored) deps.audit({ event: 'device_denied', reason: 'user_declined', client_id: request.clientId })
  return stored
}
