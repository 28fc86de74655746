/**
 * The text a wallet signs to sign in (ERC-4361), template 1.
 *
 * It is composed twice from the same fields, once to be shown and once to check the signature, and never parsed: so it depends on its fields
 * alone, and a template that was ever shown keeps its bytes.
 */

import { checkForm, forms } from './message-grammar.ts'
import { composeLines, type MessageHeader, writeApp, writeDay, writeHost } from './message-lines.ts'

/** What the text is made of. Times in epoch seconds. */
export type SignInFields = MessageHeader & {
  /** Number of the template; the challenge carries it. */
  template: number
  /** As registered, any Unicode. */
  clientName: string
  /** Host, and port if any, of the redirect URI; for a private-use scheme (RFC 8252 §7.1) the scheme. */
  clientHost: string
  /** Each `[A-Za-z0-9._-]{1,64}`. */
  scopes: string[]
  /** End of what is allowed. */
  until: number
  uri: string
  expiresAt: number
}

/** The template new challenges name. */
export const CURRENT_TEMPLATE = 1

/** A template is never edited: a new one gets the next number, and the old one stays for as long as a challenge lives. */
const templates: ReadonlyMap<number, (fields: SignInFields) => string> = new Map([[1, composePlainSignIn]])

/**
 * Composes the text, byte for byte the same for the same fields.
 *
 * @returns null when the template's number is not known here (any more): the caller answers 410, never "wrong signature".
 * @throws RangeError when a field of our own making does not fit the grammar. That is a defect: a wallet that cannot parse the text
 *   silently drops its warning about look-alike sites, and a line break in a field would write a field of its own.
 */
export function composeSignInMessage(fields: SignInFields): string | null {
  const compose = templates.get(fields.template)
  return compose === undefined ? null : compose(fields)
}

/** Template 1: one statement in plain words, no resources. */
function composePlainSignIn(fields: SignInFields): string {
  return composeLines({ ...fields, statement: composeStatement(fields) })
}

/** Which app, which host, what it may do, until when, and that signing moves nothing. */
function composeStatement(fields: SignInFields): string {
  const scopes = fields.scopes.map((scope) => `'${checkForm('scope', scope, forms.scope)}'`)
  const permission = scopes.length === 0 ? 'know your address' : `use ${scopes.join(', ')} on your behalf`
  return `Allow ${writeApp(fields.clientName)} at ${writeHost(fields.clientHost)} to ${permission} until ${writeDay('until', fields.until)} (UTC). Signing costs no gas and makes no transfer.`
}
