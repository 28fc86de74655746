/**
 * What the scopes allow that the service itself describes: the end of the sentence "The app may …" on the login page. An operator can
 * describe them differently (`GRANTOR_SCOPE_DESCRIPTIONS`). The pages have a translation of each of these descriptions, and of no other.
 */
import english from '../../../locales/en.json' with { type: 'json' }

export const OWN_DESCRIPTIONS = english.scopes

export type DescribedByService = keyof typeof OWN_DESCRIPTIONS

/** Whether this is the description of the service, and not one that the operator wrote. */
export function isOwnDescription(scope: {
  name: string
  description: string
}): scope is { name: DescribedByService; description: string } {
  return Object.entries(OWN_DESCRIPTIONS).some(([name, words]) => name === scope.name && words === scope.description)
}
