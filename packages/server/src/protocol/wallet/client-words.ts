/**
 * The client as a text to sign names it: as a URI for programs, and in words for people.
 *
 * Templates use these functions and must keep their bytes, so these functions must not change their output.
 */

import { hostOf, privateUseScheme, publisherOf } from './app-place.ts'
import { checkForm, forms } from './message-grammar.ts'
import { writeApp, writeHost } from './message-lines.ts'
import { transliterateName } from './plain-words.ts'

/** The client, and as a fragment the thumbprint of its key (RFC 7638), if the tokens are bound to one. No client id has a fragment. */
export function writeParty(clientId: string, keyThumbprint?: string): string {
  const client =
    publisherOf(clientId) === null
      ? `urn:uuid:${checkForm('clientId', clientId, forms.uuid)}`
      : checkForm('clientId', clientId, forms.absoluteUri)
  return keyThumbprint === undefined ? client : `${client}#${checkForm('keyThumbprint', keyThumbprint, forms.sha256)}`
}

/** Reads loosely what `writeParty` wrote. */
export function readParty(party: string): { clientId: string; keyThumbprint: string | undefined } {
  const [client = '', keyThumbprint] = party.split('#')
  return { clientId: client.replace(/^urn:uuid:/, ''), keyThumbprint }
}

/**
 * The name of an app that no operator registered is the app's own, so the host of its metadata document, which is proved, stands first.
 * Without `redirectUri` the app has no place, as on a device.
 */
export function writeClient({
  clientId,
  clientName,
  redirectUri,
}: {
  clientId: string
  clientName: string
  redirectUri?: string | undefined
}): string {
  const name = transliterateName(clientName)
  const publisher = publisherOf(clientId)
  if (publisher !== null) {
    const app = publisher === '' ? 'an app that registered itself' : `the app of ${writeHost(publisher)}`
    return name === '' ? app : `${app} (calls itself '${name}')`
  }
  if (redirectUri === undefined) return name === '' ? `the app with the id ${clientId}` : writeApp(clientName)
  const scheme = privateUseScheme(redirectUri)
  return `${writeApp(clientName)} ${scheme === null ? `at ${writeHost(hostOf(redirectUri))}` : `(an app that opens ${scheme}: links)`}`
}
