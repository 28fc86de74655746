/**
 * The client in the row of a receipt that is no consent to an app. Such receipts cover no request, and the account page has lists of their own for them.
 */
import type { Receipt } from './records.ts'

/** of a sign-in to the account page */
export const OF_NO_APP = ''
/** of an approval, whatever API asked */
export const OF_APPROVALS = 'approvals'

export function isConsent({ clientId }: Pick<Receipt, 'clientId'>): boolean {
  return clientId !== OF_NO_APP && clientId !== OF_APPROVALS
}
