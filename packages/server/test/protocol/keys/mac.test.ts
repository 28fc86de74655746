import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { macMatches, macOf } from '../../../src/protocol/keys/mac.ts'
import { openSecretKey } from '../../../src/protocol/keys/secret-key.ts'

const material = randomBytes(32)
const key = openSecretKey(material, 'mac', '0123456789', 0)
const message = Buffer.from('a message')

test('A MAC is HMAC-SHA-256 with a subkey of its purpose (RFC 2104, RFC 5869), the same on every node', () => {
  const subkey = Buffer.from(hkdfSync('sha256', material, '', 'grantor mac refresh token', 32))
  expect(macOf(key, 'refresh token', message)).toEqual(createHmac('sha256', subkey).update(message).digest())
  expect(macOf(openSecretKey(material, 'mac', '0123456789', 0), 'refresh token', message)).toEqual(
    macOf(key, 'refresh token', message),
  )
})

test('A MAC is valid only for its own purpose, key and message', () => {
  const mac = macOf(key, 'refresh token', message)
  expect(macMatches(key, 'refresh token', message, mac)).toBe(true)
  expect(macMatches(key, 'session id', message, mac)).toBe(false)
  expect(macMatches(openSecretKey(randomBytes(32), 'mac', '0123456789', 0), 'refresh token', message, mac)).toBe(false)
  expect(macMatches(openSecretKey(material, 'seal', '0123456789', 0), 'refresh token', message, mac)).toBe(false)
  expect(macMatches(key, 'refresh token', Buffer.from('a message '), mac)).toBe(false)
})

test('A MAC is refused if any one of its bits or its length is changed', () => {
  const mac = macOf(key, 'session id', message)
  for (let bit = 0; bit < 256; bit++) {
    const changed = Buffer.from(mac)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(macMatches(key, 'session id', message, changed), `bit ${bit}`).toBe(false)
  }
  for (const other of [mac.subarray(0, 31), Buffer.concat([mac, Buffer.alloc(1)]), Buffer.alloc(0)]) {
    expect(macMatches(key, 'session id', message, other)).toBe(false)
  }
})

test('Keys for sealing and for MACs derive different subkeys for every tested purpose', () => {
  const exported = (kind: 'seal' | 'mac', purpose: string) =>
    openSecretKey(material, kind, 'id', 0).subkey(purpose).export().toString('hex')
  const subkeys = [exported('seal', 'grc'), exported('seal', 'grl'), exported('mac', 'grc'), exported('mac', 'session id')]
  expect(new Set([...subkeys, material.toString('hex')]).size).toBe(5)
})
