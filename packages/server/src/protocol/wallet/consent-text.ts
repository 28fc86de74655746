/** The text of a consent, in any template: the older ones, and the short ones of new challenges. */

import { type ConsentFields, composeConsentMessage, hostOf } from './consent-message.ts'
import { composeDeviceConsent } from './device-consent.ts'
import { composeShortConsent, type ShortConsentFields } from './short-consent.ts'

/** `requestId` is in templates 2 to 9 only. */
export type ConsentTextFields = ShortConsentFields & Pick<ConsentFields, 'requestId'>

/**
 * @returns null if this version does not have the template, or if the template is not for these fields: the caller responds with 410,
 * never with "wrong signature".
 * @throws RangeError if a field does not fit the grammar: a defect.
 */
export function composeConsentText(fields: ConsentTextFields): string | null {
  const { redirectUri, userCode } = fields
  const short = composeShortConsent(fields)
  if (short !== null || (redirectUri !== undefined && userCode !== undefined)) return short
  if (redirectUri !== undefined) return composeConsentMessage({ ...fields, redirectUri, clientHost: hostOf(redirectUri) })
  return userCode === undefined ? null : composeDeviceConsent({ ...fields, userCode })
}
