/** What an API may send about one action that a user approves. The package of the API checks early, and the server always. */

/** Words of the characters of a statement (ERC-4361), except for the quotation mark, which ends the summary in the signed text. */
const summary = /^[A-Za-z0-9._~\-!$&()*+,;=:/?#[\]@]+(?: [A-Za-z0-9._~\-!$&()*+,;=:/?#[\]@]+)*$/
const LONGEST_SUMMARY = 120

/** The name that an API gives an action or an attempt. */
const name = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Whether a text to sign can contain this summary of an action: 1 to 120 characters of an ERC-4361 statement without `'`, and without a
 * space at an end or beside another space. Such a text has one line, and nothing in it is invisible or looks like another character.
 */
export function isSummary(text: string): boolean {
  return text.length <= LONGEST_SUMMARY && summary.test(text)
}

/** Whether a text can be the key of an action, or an attempt to carry out the action. */
export function isActionName(text: string): boolean {
  return name.test(text)
}
