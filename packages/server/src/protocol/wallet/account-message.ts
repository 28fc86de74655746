/**
 * The texts that a wallet signs for itself, without an app (ERC-4361): to open its account page (template 3), and to
 * end everything (template 4). The statement of each text names its purpose, so neither can be obtained in place of the
 * other.
 */

import { composeLines, type MessageHeader } from './message-lines.ts'

/** The fields of the texts. Times in epoch seconds. */
export type AccountFields = MessageHeader & {
  /** Number of the template, from the challenge. */
  template: number
  /** The configured login URL: the text authorizes no other party. */
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
 * The text for signing in to the account page.
 *
 * @returns null if this version does not have the template: the caller responds with 410, never with "wrong signature".
 * @throws RangeError if a field that the service chose does not fit the grammar: a defect.
 */
export function composeAccountMessage(fields: AccountFields): string | null {
  return composeFor(accountStatements.get(fields.template), fields)
}

/**
 * The text that ends every app's access and every session of the address. Returns and throws as `composeAccountMessage`
 * does.
 */
export function composeEndEverythingMessage(fields: AccountFields): string | null {
  return composeFor(endEverythingStatements.get(fields.template), fields)
}

function composeFor(statement: string | undefined, fields: AccountFields): string | null {
  return statement === undefined ? null : composeLines({ ...fields, statement, uri: fields.loginUrl })
}

/** The purpose that the statement of a text names; null for any other statement. */
export function readAccountPurpose(message: string): 'account' | 'endEverything' | null {
  const statement = message.split('\n', 4)[3] ?? ''
  if ([...accountStatements.values()].includes(statement)) return 'account'
  return [...endEverythingStatements.values()].includes(statement) ? 'endEverything' : null
}
