/**
 * The pictures of names, fetched from the addresses that the owners of the names chose (ENSIP-12).
 *
 * An owner can name any address, and can write anything there. So only https is called, through `FetchFromClient`, which checks the address and
 * limits size and time; only pictures are kept, by their first bytes; and each host has a budget of fetches.
 */
import { pictureTypeOf } from '../../config/look/picture-type.ts'
import type { AccountPicture, FetchFromClient } from '../model/deps.ts'
import { AnswerCache, type CachedAnswer } from './answer-cache.ts'

export type AvatarsOptions = {
  /** each character of the body is one byte */
  fetch: FetchFromClient
  /** counts one fetch; false if the host was called too often */
  countFetch: (host: string) => boolean
  now: () => number
}

/** Seconds for which a picture is kept, and for which an address without a usable picture is not called again. */
const FRESH_FOR = 3_600
const FAILED_FOR = 300
const PICTURES_AT_MOST = 1_000
const BYTES_AT_MOST = 16_777_216
const FETCHES_AT_ONCE = 16
/** Each kept answer has an address, and takes memory even without a picture. */
const ADDRESS_AT_MOST = 2_000

export class Avatars {
  readonly #options: AvatarsOptions
  readonly #kept: AnswerCache<AccountPicture | null>

  constructor(options: AvatarsOptions) {
    this.#options = options
    const { now } = options
    this.#kept = new AnswerCache({ entriesAtMost: PICTURES_AT_MOST, sizeAtMost: BYTES_AT_MOST, atOnce: FETCHES_AT_ONCE, now })
  }

  /** The picture of an avatar record; null if the record names none that can be shown. */
  async find(avatar: string): Promise<AccountPicture | null> {
    if (avatar.startsWith('data:')) return pictureOfDataUri(avatar)
    const url = httpsUrl(avatar)
    return url === null ? null : ((await this.#kept.read(url.href, () => this.#fetch(url))) ?? null)
  }

  async #fetch(url: URL): Promise<CachedAnswer<AccountPicture | null>> {
    const none = { value: null, freshFor: FAILED_FOR, size: url.href.length }
    if (!this.#options.countFetch(url.hostname)) return none
    const answer = await this.#options.fetch({ url: url.href })
    if (answer.kind === 'unavailable' || answer.status !== 200) return none
    const picture = pictureOf(Buffer.from(answer.body, 'latin1'))
    return picture === null ? none : { value: picture, freshFor: FRESH_FOR, size: url.href.length + picture.bytes.length }
  }
}

/** RFC 2397. The record itself contains the picture, so no server is called. */
function pictureOfDataUri(uri: string): AccountPicture | null {
  const base64 = /^data:image\/[a-z]{3,4};base64,([A-Za-z0-9+/]+={0,2})$/.exec(uri)?.[1]
  return base64 === undefined ? null : pictureOf(Buffer.from(base64, 'base64'))
}

/** Null for http, for ipfs and for records that name a token (ENSIP-12): a gateway would be a further party. */
function httpsUrl(text: string): URL | null {
  if (text.length > ADDRESS_AT_MOST || !URL.canParse(text)) return null
  const url = new URL(text)
  return url.protocol === 'https:' && url.username === '' && url.password === '' ? url : null
}

function pictureOf(bytes: Buffer): AccountPicture | null {
  const type = pictureTypeOf(bytes)
  return type === null ? null : { type, bytes }
}
