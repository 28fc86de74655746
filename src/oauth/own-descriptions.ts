/**
 * What the scopes allow that the service itself describes: the end of the sentence "The app may …" on the login page. An operator can
 * describe them differently (`GRANTOR_SCOPE_DESCRIPTIONS`). The pages have a translation of each of these descriptions, and of no other.
 */
export const OWN_DESCRIPTIONS = {
  openid: 'know that it is you, by your wallet’s address',
  wallet: 'know on which network your wallet signed in',
  profile: 'see your public name and picture',
  enhancement: "use the platform's enhancement features for you",
} as const

export type DescribedByService = keyof typeof OWN_DESCRIPTIONS

/** Whether this is the description of the service, and not one that the operator wrote. */
export function isOwnDescription(scope: {
  name: string
  description: string
}): scope is { name: DescribedByService; description: string } {
  return Object.entries<string>(OWN_DESCRIPTIONS).some(([name, words]) => name === scope.name && words === scope.description)
}
