import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSettings } from '../../src/config/settings.ts'
import { RSA, TEST_CERTIFICATE, TEST_CERTIFICATE_KEY, WEAK } from '../support/certificates.ts'

const folder = mkdtempSync(join(tmpdir(), 'grantor-certificates-'))
function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const CERT = file('cert.pem', TEST_CERTIFICATE)
const KEY = file('key.pem', TEST_CERTIFICATE_KEY)

function faultsOf(more: Record<string, string>, program: 'serve' | 'login-server' | 'migrate' = 'serve'): string[] {
  const reading = readSettings(program, {
    GRANTOR_AUTH_URL: 'https://auth.example.com',
    GRANTOR_LOGIN_URL: 'https://login.example.com',
    GRANTOR_DATABASE_URL: 'sqlite:x',
    GRANTOR_SECRET: 'correct-horse-battery-staple-4711',
    GRANTOR_LOGIN_SECRET: 'between-the-servers-correct-horse',
    ...more,
  })
  return reading.kind === 'faults' ? reading.faults : []
}

test('An EC certificate and an RSA certificate with a chain are accepted, each with its key', () => {
  expect(faultsOf({ GRANTOR_TLS_CERT_FILE: CERT, GRANTOR_TLS_KEY_FILE: KEY })).toEqual([])
  const chain = file('chain.pem', RSA.cert + TEST_CERTIFICATE)
  expect(faultsOf({ GRANTOR_TLS_CERT_FILE: chain, GRANTOR_TLS_KEY_FILE: file('rsa.key', RSA.key) })).toEqual([])
})

test.each([
  [{ GRANTOR_TLS_CERT_FILE: CERT }, /belong together/],
  [{ GRANTOR_TLS_KEY_FILE: KEY }, /belong together/],
  [{ GRANTOR_TLS_CERT_FILE: '/nowhere/cert.pem', GRANTOR_TLS_KEY_FILE: KEY }, /^GRANTOR_TLS_CERT_FILE .*ENOENT/],
  [{ GRANTOR_TLS_CERT_FILE: CERT, GRANTOR_TLS_KEY_FILE: folder }, /^GRANTOR_TLS_KEY_FILE .*EISDIR/],
  [{ GRANTOR_TLS_CERT_FILE: KEY, GRANTOR_TLS_KEY_FILE: KEY }, /^GRANTOR_TLS_CERT_FILE .*holds no certificate/],
  [{ GRANTOR_TLS_CERT_FILE: CERT, GRANTOR_TLS_KEY_FILE: CERT }, /^GRANTOR_TLS_KEY_FILE .*holds no private key/],
  [{ GRANTOR_TLS_CERT_FILE: CERT, GRANTOR_TLS_KEY_FILE: file('other.key', RSA.key) }, /does not belong to the certificate of/],
  [
    { GRANTOR_TLS_CERT_FILE: file('weak.pem', WEAK.cert), GRANTOR_TLS_KEY_FILE: file('weak.key', WEAK.key) },
    /1024 bits; the minimum is 2048 \(RFC 9325/,
  ],
  [
    { GRANTOR_TLS_CERT_FILE: CERT, GRANTOR_TLS_KEY_FILE: KEY, GRANTOR_AUTH_URL: 'http://localhost:4000' },
    /^GRANTOR_AUTH_URL must be https/,
  ],
] as [Record<string, string>, RegExp][])(
  'A wrong combination of certificate, key and URL is reported as one fault: case %#',
  (more, words) => {
    expect(faultsOf(more)).toEqual([expect.stringMatching(words)])
  },
)

test('A wrong certificate file and a wrong key file are two faults, and no fault repeats the content of a file', () => {
  const faults = faultsOf({ GRANTOR_TLS_CERT_FILE: file('a', 'no pem'), GRANTOR_TLS_KEY_FILE: file('b', 'my secret') })
  expect(faults).toHaveLength(2)
  expect(faults.join()).not.toMatch(/no pem|my secret/)
})

test('A program that does not listen, such as migrate, does not read the certificate and key files', () => {
  expect(faultsOf({ GRANTOR_TLS_CERT_FILE: '/nowhere', GRANTOR_TLS_KEY_FILE: '/nowhere' }, 'migrate')).toEqual([])
})
