import * as fc from 'fast-check'

/** Runs of each property: few in `npm test`, many in `npm run test:long`. */
export const runs = Number(process.env.TEST_RUNS ?? 300)

/** Milliseconds a property may take that parses or signs in each run; many runs share two cores with other test files. */
export const patience = 20_000 + runs * 20

/** A text of the given characters, one by one. */
export function drawnFrom(characters: string, minLength: number, maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...characters.split('')), minLength, maxLength })
}

export function hexDigits(length: number): fc.Arbitrary<string> {
  return drawnFrom('0123456789abcdefABCDEF', length, length)
}

const lower = 'abcdefghijklmnopqrstuvwxyz'
const digits = '0123456789'
const alphanumeric = lower + lower.toUpperCase() + digits

/** Any name an app may be registered under: every script, lone surrogates, controls, direction marks, very long ones. */
export const clientNames: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 200 }),
  fc.string({ unit: 'binary', minLength: 500, maxLength: 3_000 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 }).map((units) => String.fromCharCode(...units)),
  fc.array(fc.constantFrom(...pieces()), { maxLength: 12 }).map((chosen) => chosen.join('')),
)

/** Of our own text and of the grammar, to be put together in any order. */
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
  // As a URL writes it: what an operator configures has been through the URL parser.
  fc.ipV6().map((ip) => new URL(`http://[${ip}]`).hostname),
)
const ports = fc.oneof(
  fc.constant(''),
  fc.integer({ min: 1, max: 65_535 }).map((port) => `:${port}`),
)

export const authorities: fc.Arbitrary<string> = fc.tuple(hostNames, ports).map(([host, port]) => host + port)

const privateSchemes = fc.constantFrom('com.example.app', 'net.example.my-app', 'com.example.app2')

/** Hosts of well-formed redirect URIs, private-use schemes included. */
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
