/** Authorization codes (RFC 6749 §1.3.1): sealed, so that issuing one writes nothing. */
import { randomUUID } from 'node:crypto'
import type { KeyRing } from '../keys/key-ring.ts'
import { seal, unseal } from '../keys/sealed.ts'
import type { Address } from '../wallet/address.ts'

/** What a code carries; everything its redemption will need, the grant's own id included. */
export type Code = {
  grantId: string
  clientId: string
  redirectUri: string
  wallet: Address
  /** of the wallet when the code was issued; raised since means the code is void */
  epoch: number
  scopes: string[]
  resources: string[]
  codeChallenge: string | null
  sessionHash: string
  expiresAt: number
  grantExpiresAt: number
}

export function sealCode(ring: KeyRing, code: Omit<Code, 'grantId'>): string {
  return seal(ring, 'grc', { ...code, grantId: randomUUID() })
}

export function openCode(ring: KeyRing, text: string): Code | undefined {
  return unseal(ring, 'grc', text) as Code | undefined
}
