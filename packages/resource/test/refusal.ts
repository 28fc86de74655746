import type { TokenCheck } from '@grantor/resource'
import { ResourceError } from '@grantor/resource'

/** The error of a refused call. A call that is accepted fails the test. */
export async function refusal(call: ReturnType<TokenCheck>): Promise<ResourceError> {
  try {
    await call
  } catch (error) {
    if (error instanceof ResourceError) return error
    throw error
  }
  throw new Error('the call was accepted')
}

export function bearer(token: string) {
  return { headers: { authorization: `Bearer ${token}` } }
}
