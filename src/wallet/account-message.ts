/**
 * The texts a wallet signs for itself, with no app in them (ERC-4361): to open its account page (template 3), and to end everything
 * (template 4). Each says in its statement what it is for, so that neither can be obtained in place of the other.
 */

import { composeLines, type MessageHeader } from './message-lines.ts'

/** What the texts are made of. Times in epoch seconds. */
export type AccountFields = MessageHeader & {
  /** Number of the template; the challenge carries it. */
  template: number
  /** The configured login URL: nobody else is authorized to anything. */
  loginUrl: string
  /** A few minutes after `issuedAt`. */
  expiresAt: number
}

export const ACCOUNT_TEMPLATE = 3
export const END_EVERYTHING_TEMPLATE = 4

const accountStatements: ReadonlyMap<number, string> = new Map([
  [
    ACCOUNT_TEMPLATE,
    'Sign in to see and end what apps may do for this address. This allows no app anything. Signing costs no gas and makes no transfer.',
  ],
])

const endEverythingStatements: ReadonlyMap<number, string> = new Map([
  [
    END_EVERYTHING_TEMPLATE,
    'End everything: every app loses all access that this address gave it, and every session of this address is signed out. This allows no app anything. Signing costs no gas and makes no transfer.',
  ],
])

/**
 * The text to sign in to the account page.
 *
 * @returns null when the template's number is not known here (any more): the caller answers 410, never "wrong signature".
 * @throws RangeError when a field of our own making does not fit the grammar: a defect.
 */
export function composeAccountMessage(fields: AccountFields): string | null {
  return composeFor(accountStatements.get(fields.template), fields)
}

/** The text that ends every app's access and every session of the address. Returns and throws as above. */
export function composeEndEverythingMessage(fields: AccountFields): string | null {
  return composeFor(endEverythingStatements.get(fields.template), fields)
}

function composeFor(statement: string | undefined, fields: AccountFields): string | null {
  return statement === undefined ? null : composeLines({ ...fields, statement, uri: fields.loginUrl })
}
