import type { TokenCheck } from 'grantor/resource'
import { ResourceError } from 'grantor/resource'

/** The error a call was refused with; a call that is let in fails the test. */
export async function refusal(call: ReturnType<TokenCheck>): Promise<ResourceError> {
  try {
    await call
  } catch (error) {
    if (error instanceof ResourceError) return error
    throw error
  }
  throw new Error('the call was let in')
}

export function bearer(token: string) {
  return { headers: { authorization: `Bearer ${token}` } }
}
