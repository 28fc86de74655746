/**
 * The older text with which a wallet gives access to a device (template 9; RFC 8628, ERC-4361 with an ERC-5573 ReCap).
 *
 * The text names the app and the code that the device shows, so that the signer can compare the code with the device. There is no redirect
 * URI: the authorized party, which the URI names, is the client itself.
 */

import { type ConsentFields, publisherOf } from './consent-message.ts'
import { checkForm, forms } from './message-grammar.ts'
import { composeLines, writeApp, writeDay, writeHost } from './message-lines.ts'
import { transliterateName } from './plain-words.ts'
import { encodeRecap, translateRecap } from './recap.ts'

/** The number among the templates of `consent-message.ts`. Like those, this template is never edited. */
export const DEVICE_GRANT_TEMPLATE = 9

export type DeviceConsentFields = Omit<ConsentFields, 'clientHost' | 'redirectUri'> & {
  /** As the device shows it: `WDJB-MJHT`. */
  userCode: string
}

/**
 * @returns null if this version does not have the template.
 * @throws RangeError if a field does not fit the grammar: a defect.
 */
export function composeDeviceConsent(fields: DeviceConsentFields): string | null {
  if (fields.template !== DEVICE_GRANT_TEMPLATE) return null
  const client = writeClient(fields.clientId)
  const { keyThumbprint: key } = fields
  const code = checkForm('userCode', fields.userCode, forms.userCode)
  const day = writeDay('until', fields.until)
  return composeLines({
    ...fields,
    statement: `Allow ${writeDeviceApp(fields)} to do only what follows, until ${day} (UTC). The access goes to the device that shows the code ${code}. Signing costs no gas and makes no transfer. ${translateRecap(fields)}`,
    uri: client,
    expiresAt: fields.until,
    resources: [
      client,
      // RFC 9278
      ...(key === undefined
        ? []
        : [`urn:ietf:params:oauth:jwk-thumbprint:sha-256:${checkForm('keyThumbprint', key, forms.sha256)}`]),
      encodeRecap(fields),
    ],
  })
}

/** As in template 6, an app that no operator registered is named by the host of its metadata document, which is proved. */
function writeDeviceApp({ clientId, clientName }: DeviceConsentFields): string {
  const name = transliterateName(clientName)
  const host = publisherOf(clientId)
  if (host !== null) {
    const own = name === '' ? '' : ` (it calls itself '${name}')`
    return `${host === '' ? 'an app that registered itself' : `the app of ${writeHost(host)}`}${own}`
  }
  return name === '' ? `the app with the id ${clientId}` : writeApp(clientName)
}

function writeClient(clientId: string): string {
  return publisherOf(clientId) === null
    ? `urn:uuid:${checkForm('clientId', clientId, forms.uuid)}`
    : checkForm('clientId', clientId, forms.uri)
}

const line = '[^\\n]*'
const word = '[^ \\n]*'
/** A pattern that matches every text of this template; `read-consent.ts` composes the text again and compares. */
export const DEVICE_CONSENT_FORM = `^${[
  `(?<domain>${line}) wants you to sign in with your Ethereum account:`,
  `(?<address>${line})`,
  '',
  `Allow (?:(?:the app of ${word}|an app that registered itself)(?: \\(it calls itself '(?<ownName>[^'\\n]*)'\\))?|the app with the id ${word}|'(?<clientName>[^'\\n]*)') to do only what follows, until ${word} \\(UTC\\)\\. The access goes to the device that shows the code (?<userCode>${word})\\. Signing costs no gas and makes no transfer\\. I further authorize the stated URI to perform the following actions on my behalf: (?<entries>${line})`,
  '',
  `URI: (?:urn:uuid:(?<clientId>${line})|(?<clientUrl>(?:https?|ni)://${line}))`,
  'Version: 1',
  `Chain ID: (?<chainId>${line})`,
  `Nonce: (?<nonce>${line})`,
  `Issued At: (?<issuedAt>${line})`,
  `Expiration Time: (?<until>${line})`,
  `Request ID: (?<requestId>${line})`,
  'Resources:',
  `- ${line}`,
  `(?:- urn:ietf:params:oauth:jwk-thumbprint:sha-256:(?<keyThumbprint>${line})\\n)?- urn:recap:${line}`,
].join('\\n')}$`
