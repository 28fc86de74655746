/**
 * The URL of an account's picture, which the claim `picture` contains (OpenID Connect Core §5.1): `/oauth/picture/{address}`, and, if the
 * account may have a name, `/oauth/picture/{address}/{key id}.{MAC}`.
 *
 * The picture of a name is on another server. Only a URL with the MAC causes calls: anyone could otherwise make this service look up any
 * address. The URL stays the same until the key is rotated, and then still leads to the computed picture.
 */
import { macMatches, macOf } from '../../protocol/keys/mac.ts'
import { type Address, parseAddress } from '../../protocol/wallet/address.ts'
import type { Deps, SignedInAccount } from '../model/deps.ts'

export function makePictureUrl({ settings, keys, accountNames }: Deps, account: SignedInAccount): string {
  const { wallet } = account
  const computed = `${settings.authUrl}/oauth/picture/${wallet}`
  if (!accountNames?.mayHaveName(account)) return computed
  const key = keys.maker('mac')
  return `${computed}/${key.id}.${macOf(key, 'picture', Buffer.from(wallet)).toString('base64url')}`
}

/**
 * The account whose picture is requested; null if the path contains no address. `isOurs`: this service made the URL. `proof` is what follows
 * the address.
 */
export function readPictureLink({ keys }: Deps, address: string, proof: string): { wallet: Address; isOurs: boolean } | null {
  const parsed = parseAddress(address)
  if (parsed.kind !== 'address') return null
  const [, keyId = '', mac = ''] = PROOF.exec(proof) ?? []
  const key = keys.opener('mac', keyId)
  const isOurs = key !== undefined && macMatches(key, 'picture', Buffer.from(parsed.address), Buffer.from(mac, 'base64url'))
  return { wallet: parsed.address, isOurs }
}

const PROOF = /^([0-9a-f]{10})\.([A-Za-z0-9_-]{43})$/
