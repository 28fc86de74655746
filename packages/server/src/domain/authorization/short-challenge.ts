/**
 * A login challenge that is short enough for a QR code: the nonce, the browser, the place, and what the user must be able to compare and sign. Only
 * the pages for another device accept a short challenge, which has neither `state` nor `code_challenge`. Nothing is stored.
 *
 * The values of the request are mostly those of the client's registration. So the id of a registered client is in clear, and the registration is the
 * dictionary of the compression. The seal is bound to the dictionary: a link opens only while the registration is unchanged.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { PREFIXES, sealBytes, unsealBytes } from '../../protocol/keys/sealed.ts'
import { parseAddress } from '../../protocol/wallet/address.ts'
import type { AuthorizationRequest } from '../model/authorization-request.ts'
import { isClientId } from '../model/client-id.ts'
import type { Deps } from '../model/deps.ts'
import type { Client } from '../model/records.ts'
import { bytesOfUuid, uuidOfBytes } from '../model/uuid.ts'
import { type Challenge, openChallenge, type PackedRequest, packRequest, templateOf, unpackRequest } from './challenge.ts'

/** Bytes before the compression. A longer request is pushed, or the link has the whole challenge. */
const LONGEST = 2_000
/** The first byte. After `REGISTERED` comes the id of the client. */
const [OTHER, REGISTERED] = [0, 1]
const AFTER_ID = 17
/** The offsets of what follows the nonce: the hash of the browser's key, the id of the session's key, the time, and the values that do not compress. */
const [HASH_AT, KEY_ID_AT, TIME_AT, VALUES_AT] = [22, 38, 43, 47]
/** Texts of most links: the names of browsers, and the JSON around the values. */
const USUAL_TEXTS =
  'Brave/Opera/Vivaldi/Samsung Internet/Edge/Safari/iPhone Firefox/Linux Safari/macOS Edge/Windows Chrome/Android Chrome/Linux Chrome/macOS Chrome/Windows [2592000,["","https://","openid profile",["https://"],null,1,null]]'

type Packed = [lifetime: number, place: string | 0, clientId: string, name: string, PackedRequest]

/** Null if the challenge is not for an app, or is too long. */
export function shortenChallenge(deps: Deps, challenge: Challenge, client: Client): string | null {
  const { purpose, nonce, requestedBy, sessionKeyId, issuedAt, until, place, clientName } = challenge
  if (purpose.kind !== 'app') return null
  const registered = isClientId(client.id) ? client : null
  const where = place ? `${place.network} ${place.program}` : 0
  const packed: Packed = [
    until - issuedAt,
    where,
    registered ? '' : client.id,
    clientName,
    packRequest(withoutValues(purpose.request)),
  ]
  const json = Buffer.from(JSON.stringify(packed))
  if (json.length > LONGEST) return null
  const time = Buffer.alloc(4)
  time.writeUInt32BE(issuedAt)
  const dictionary = dictionaryOf(deps, registered)
  const plain = Buffer.concat([
    Buffer.from(nonce, 'latin1'),
    Buffer.from(requestedBy, 'base64url'),
    Buffer.from(sessionKeyId, 'hex'),
    time,
    ...writeValue(purpose.request.loginHint?.slice(2), 'hex'),
    ...writeValue(purpose.request.dpopJkt, 'base64url'),
    deflateRawSync(json, { level: 9, dictionary: Buffer.from(dictionary) }),
  ])
  const head = registered ? [Buffer.from([REGISTERED]), bytesOfUuid(client.id)] : [Buffer.from([OTHER])]
  return Buffer.concat([...head, sealBytes(deps.keys, contextOf(dictionary), plain)]).toString('base64url')
}

/** Why a link does not open. `broken`: not a link of this service, or the registration of the client has changed. `unknown_client`: the client is disabled or was deleted. */
export type LinkFault = 'broken' | 'unknown_client'

/** The challenge of a link: a short one, or a whole one if the request is long. */
export async function openLinkedChallenge(deps: Deps, text: string): Promise<Challenge | LinkFault> {
  return text.includes('.') ? ((await openChallenge(deps, text)) ?? 'broken') : openShortChallenge(deps, text)
}

async function openShortChallenge(deps: Deps, text: string): Promise<Challenge | LinkFault> {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return 'broken'
  const isRegistered = bytes[0] === REGISTERED
  const registeredId = isRegistered ? uuidOfBytes(bytes.subarray(1, AFTER_ID)) : ''
  const client = isRegistered ? await deps.clients.findEnabled(registeredId, null) : null
  if (isRegistered && !client) return 'unknown_client'
  const dictionary = dictionaryOf(deps, client)
  const plain = unsealBytes(deps.keys, contextOf(dictionary), bytes.subarray(isRegistered ? AFTER_ID : 1))
  return plain ? unpack(Buffer.from(plain), dictionary, registeredId) : 'broken'
}

function unpack(plain: Buffer, dictionary: string, registeredId: string): Challenge {
  const [hint, thumbprintAt] = readValue(plain, VALUES_AT)
  const [thumbprint, restAt] = readValue(plain, thumbprintAt)
  const json = inflateRawSync(plain.subarray(restAt), { dictionary: Buffer.from(dictionary), maxOutputLength: LONGEST })
  const [lifetime, where, id, clientName, packed] = JSON.parse(json.toString()) as Packed
  const [network = '', ...program] = where === 0 ? [] : where.split(' ')
  const browserHash = plain.subarray(HASH_AT, KEY_ID_AT).toString('base64url')
  const issuedAt = plain.readUInt32BE(TIME_AT)
  const parsed = parseAddress(`0x${hint.toString('hex')}`)
  const loginHint = parsed.kind === 'address' ? parsed.address : null
  const dpopJkt = thumbprint.length > 0 ? thumbprint.toString('base64url') : null
  const purpose = {
    kind: 'app' as const,
    request: { ...unpackRequest(packed), clientId: registeredId || id, loginHint, dpopJkt },
  }
  return {
    template: templateOf(purpose),
    nonce: plain.subarray(0, HASH_AT).toString('latin1'),
    issuedAt,
    until: issuedAt + lifetime,
    clientName,
    browserHash,
    requestedBy: browserHash,
    sessionKeyId: plain.subarray(KEY_ID_AT, TIME_AT).toString('hex'),
    elsewhere: false,
    place: where === 0 ? null : { network, program: program.join(' ') },
    purpose,
  }
}

/** What the link does not contain, or contains as bytes. */
function withoutValues(request: AuthorizationRequest): AuthorizationRequest {
  const useless = { state: null, codeChallenge: null, nonce: null, pushedId: null, uiLocale: null }
  return { ...request, ...useless, clientId: '', loginHint: null, dpopJkt: null }
}

/** The number of bytes, and the bytes. */
function writeValue(text: string | null | undefined, encoding: 'hex' | 'base64url'): Buffer[] {
  const bytes = Buffer.from(text ?? '', encoding)
  return [Buffer.from([bytes.length]), bytes]
}

/** The value, and the offset of the next one. */
function readValue(plain: Buffer, at: number): [Buffer, number] {
  const end = at + 1 + (plain[at] ?? 0)
  return [plain.subarray(at + 1, end), end]
}

function dictionaryOf({ settings }: Deps, client: Client | null): string {
  const own = client ? [client.id, client.name, client.resources, client.redirectUris, client.scopes.join(' ')] : []
  return JSON.stringify([settings.defaultResource, ...own, USUAL_TEXTS])
}

const contextOf = (bound: string) => ({ purpose: PREFIXES.crossDeviceLink, bound })
