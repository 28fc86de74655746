import * as fc from 'fast-check'
import { redirectUriFault } from '../../../src/protocol/oauth/redirect-uri.ts'
import { isSignableResourceUri } from '../../../src/protocol/oauth/resource-uri.ts'
import { type Address, parseAddress } from '../../../src/protocol/wallet/address.ts'

/** A text of the given characters. */
export function drawnFrom(characters: string, minLength: number, maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...characters.split('')), minLength, maxLength })
}

export function hexDigits(length: number): fc.Arbitrary<string> {
  return drawnFrom('0123456789abcdefABCDEF', length, length)
}

const lower = 'abcdefghijklmnopqrstuvwxyz'
const digits = '0123456789'
const alphanumeric = lower + lower.toUpperCase() + digits

/** Any name that an app may be registered with: every script, lone surrogates, controls, direction marks, very long ones. */
export const clientNames: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 200 }),
  fc.string({ unit: 'binary', minLength: 500, maxLength: 3_000 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 }).map((units) => String.fromCharCode(...units)),
  fc.array(fc.constantFrom(...pieces()), { maxLength: 12 }).map((chosen) => chosen.join('')),
)

/** Parts of our own text and of the grammar, for combination in any order. */
function pieces(): string[] {
  const marks = `\n \r\n \u2028 \u202e \u2066 \u200b \0 ' " . %0a < > ’ ＇ ．`
  const words = `Evil Bank at bank.example until to use 'read' No gas URI: https://bank.example Version: 1`
  return [' ', ...marks.split(' '), ...words.split(' ')]
}

export const scopeLists: fc.Arbitrary<string[]> = fc.uniqueArray(drawnFrom(`${alphanumeric}._-`, 1, 64), { maxLength: 12 })

const hostNames = fc.oneof(
  fc.domain(),
  fc.constantFrom('localhost', 'xn--bcher-kva.example', 'xn--e1afmkfd.xn--p1ai', 'a'.repeat(63), '999.1.1.1'),
  fc.ipV4(),
  // In the form of the URL parser, because the configuration is parsed by it.
  fc.ipV6().map((ip) => new URL(`http://[${ip}]`).hostname),
)
const ports = fc.oneof(
  fc.constant(''),
  fc.integer({ min: 1, max: 65_535 }).map((port) => `:${port}`),
)

export const authorities: fc.Arbitrary<string> = fc.tuple(hostNames, ports).map(([host, port]) => host + port)

const privateSchemes = fc.constantFrom('com.example.app', 'net.example.my-app', 'com.example.app2')

/** Hosts of well-formed redirect URIs, and private-use schemes. */
export const clientHosts: fc.Arbitrary<string> = fc.oneof(authorities, privateSchemes)

const pathPart = fc.oneof(drawnFrom(`${alphanumeric}-._~!$&'()*+,;=:@`, 0, 8), fc.constantFrom('%20', '%C3%A9', 'callback'))
const tail = fc
  .tuple(fc.array(pathPart, { maxLength: 4 }), fc.option(pathPart), fc.option(pathPart))
  .map(([path, query, fragment]) => ({
    path: path.map((part) => `/${part}`).join(''),
    more: (query === null ? '' : `?${query}`) + (fragment === null ? '' : `#${fragment}`),
  }))

export const uris: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(fc.constantFrom('http', 'https'), authorities, tail)
    .map(([scheme, host, { path, more }]) => `${scheme}://${host}${path}${more}`),
  fc.tuple(privateSchemes, tail).map(([scheme, { path, more }]) => `${scheme}:/callback${path}${more}`),
  fc.tuple(privateSchemes, tail).map(([scheme, { path, more }]) => `${scheme}:callback${path}${more}`),
  fc.uuid().map((id) => `urn:uuid:${id}`),
)

export const nonces: fc.Arbitrary<string> = drawnFrom(alphanumeric, 22, 64)
export const requestIds: fc.Arbitrary<string> = fc.oneof(fc.uuid(), drawnFrom(`${alphanumeric}-._~`, 1, 64))
/** From 1970 to the last second of the year 9999. */
export const times: fc.Arbitrary<number> = fc.integer({ min: 0, max: 253_402_300_799 })

export const addresses: fc.Arbitrary<Address> = hexDigits(40).map((digits) => {
  const parsed = parseAddress(`0x${digits.toLowerCase()}`)
  return parsed.kind === 'address' ? parsed.address : '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
})

export const chainIds: fc.Arbitrary<number> = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

const uriCharacters = `${alphanumeric}-._~:/?#[]@!$&'()*+,;=%`
const uriParts = fc.oneof(
  { weight: 2, arbitrary: drawnFrom(uriCharacters, 0, 6) },
  fc.constantFrom(
    ...`// / ? : @ . .. % %41 %2e %00 [ ] [::1] [::] [1::2] [::ffff:1.2.3.4] [v1.a] 1.2.3.4 01.2.3.4 0x7f.1 :80 :00080 :0000000080`.split(
      ' ',
    ),
    ...`localhost a.example u@ u:p@ callback !$&'()*+,;=`.split(' '),
  ),
)
const uriStarts = `https:// https: HTTPS:// https://a.example https://a.example/ http://localhost http://127.0.0.1 http://[::1]`
const privateStarts = `com.example.app: com.example.app:/ com.example.app:// com.example.app:///`

function withStart(starts: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...starts.split(' ')), fc.array(uriParts, { maxLength: 6 }))
    .map(([start, parts]) => start + parts.join(''))
}

/** Every kind of web redirect URI that can be registered, unusual ones first. */
export const webRedirectUris: fc.Arbitrary<string> = fc
  .oneof(withStart(uriStarts), uris)
  .filter((uri) => /^https?:/i.test(uri) && redirectUriFault(uri, 'web') === null)

/** Private-use schemes of native apps (RFC 8252 §7.1), by the rules of redirect URIs alone. */
export const privateRedirectUris: fc.Arbitrary<string> = withStart(privateStarts).filter(
  (uri) => redirectUriFault(uri, 'private_use') === null,
)

/** Every kind of resource that can be registered. */
export const resourceUris: fc.Arbitrary<string> = fc
  .oneof(withStart(`${uriStarts} urn: a: tag:a.example,2026:`), uris)
  .filter(isSignableResourceUri)
