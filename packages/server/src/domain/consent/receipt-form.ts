/**
 * The compressed form of a signed text, before it is sealed. The columns of the receipt repeat most of a text, so these columns and the words
 * of the templates are the preset dictionary of DEFLATE (RFC 1951): a consent takes about 100 bytes in place of 800.
 *
 * Compressing before encrypting reveals how well a text compresses by its length. Only a reader of the database sees this length, and the
 * columns beside it contain what was compressed.
 */

import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { writeTime } from '../../protocol/wallet/message-lines.ts'
import { encodeRecap, translateRecap } from '../../protocol/wallet/recap.ts'
import type { Receipt } from '../model/records.ts'

export type SignedMessage = { message: string; signature: string }

/** The columns of a receipt that never change after the insert. */
export type ReceiptColumns = Pick<
  Receipt,
  'wallet' | 'id' | 'chainId' | 'clientId' | 'redirectUri' | 'scopes' | 'resources' | 'issuedAt' | 'expiresAt'
>

/**
 * The first byte: the form, and the number of the dictionary. A change of the words, of their order or of `wordsOf` needs new forms, and the
 * earlier forms remain readable.
 */
const FORMS = {
  /** the 65 bytes of the signature, then the compressed text */
  ordinary: 1,
  /** any other signature: the signature as text, a line break, and the text, compressed together */
  contract: 2,
} as const

const ORDINARY = /^0x[0-9a-f]{130}$/
const ORDINARY_BYTES = 65
/** More bytes than any text and its signature. */
const MOST_BYTES = 262_144

/** @throws RangeError if the text could not be unpacked: a defect, because the fields of a text are bounded. */
export function packSigned({ message, signature }: SignedMessage, columns: ReceiptColumns): Uint8Array {
  const isOrdinary = ORDINARY.test(signature)
  const text = Buffer.from(isOrdinary ? message : `${signature}\n${message}`)
  if (text.length > MOST_BYTES) throw new RangeError('the signed text is too long')
  const compressed = deflateRawSync(text, { dictionary: dictionaryOf(columns) })
  return isOrdinary
    ? Buffer.concat([Buffer.from([FORMS.ordinary]), Buffer.from(signature.slice(2), 'hex'), compressed])
    : Buffer.concat([Buffer.from([FORMS.contract]), compressed])
}

/** Unpacks what `packSigned` returned for the same columns; undefined if a later version packed it. */
export function unpackSigned(packed: Uint8Array, columns: ReceiptColumns): SignedMessage | undefined {
  const [form] = packed
  if (form === FORMS.ordinary) {
    const message = inflate(packed.subarray(1 + ORDINARY_BYTES), columns)
    return { message, signature: `0x${Buffer.from(packed.subarray(1, 1 + ORDINARY_BYTES)).toString('hex')}` }
  }
  if (form !== FORMS.contract) return undefined
  const text = inflate(packed.subarray(1), columns)
  const end = text.indexOf('\n')
  return { message: text.slice(end + 1), signature: text.slice(0, end) }
}

function inflate(compressed: Uint8Array, columns: ReceiptColumns): string {
  return inflateRawSync(compressed, { dictionary: dictionaryOf(columns), maxOutputLength: MOST_BYTES }).toString()
}

function dictionaryOf(columns: ReceiptColumns): Buffer {
  return Buffer.from(WORDS + wordsOf(columns))
}

/**
 * The words of the templates 3, 4, 10, 11 and 12 that no column contains. An approval (template 13) takes about 300 bytes, of which the
 * signature, the digest, the nonce and the summary are most. Words for it would need new forms and would save fewer than 30 bytes.
 */
const WORDS = [
  'End everything: every app loses all access that this address gave it, and every session of this address is signed out.',
  'Sign in to see and end what apps may do for this address. This allows no app anything. Signing costs no gas and makes no transfer.',
  'http://127.0.0.1:http://localhost:https://www.app.com/login.org/auth.net/.io/',
  "an app that registered itself the app with the id the app of ' (calls itself '",
  ' (an app that opens : links) an app that opens : links. a program on that device. a program on this device.',
  ' Gives access to the device that shows the code  Gives access to the browser that shows the code . Answers go to ',
].join('\n')

/** The text that is most likely, in the order of template 10, without what no column contains. */
function wordsOf(columns: ReceiptColumns): string {
  const { wallet, chainId, clientId, redirectUri, scopes, resources, issuedAt, expiresAt } = columns
  const hasPermissions = scopes.length > 0 && resources.length > 0
  const capability = { scopes, resources, abilities: 'joined' } as const
  const host = /^[^:]*:\/\/([^/?#]*)/.exec(redirectUri)?.[1] ?? redirectUri.split(':', 1)[0]
  const until = writeTime('the end of a receipt', expiresAt)
  return [
    ` wants you to sign in with your Ethereum account:\n${wallet}\n\nAllow '`,
    `' at ${host} until ${until.slice(0, 10)}. No gas, no transfer. ${hasPermissions ? translateRecap(capability) : ''}`,
    `\n\nURI: ${redirectUri}\nVersion: 1\nChain ID: ${chainId}\nNonce: `,
    `\nIssued At: ${writeTime('the time of a receipt', issuedAt)}\nExpiration Time: ${until}\nResources:\n- ${clientId.includes(':') ? '' : 'urn:uuid:'}${clientId}`,
    hasPermissions ? `\n- ${encodeRecap(capability)}` : '',
  ].join('')
}
