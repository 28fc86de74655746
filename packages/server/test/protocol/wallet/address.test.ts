import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAddress, shortenAddress } from '../../../src/protocol/wallet/address.ts'
import { forAll } from '../../support/property.ts'
import { hexDigits } from './arbitraries.ts'

// The examples of EIP-55.
const checksummed = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]

test.each(checksummed)('%s is accepted unchanged (EIP-55)', (address) => {
  expect(parseAddress(address)).toEqual({ kind: 'address', address })
})

test.each(checksummed)('%s in lower or upper case is accepted and returned in its EIP-55 form', (address) => {
  expect(parseAddress(address.toLowerCase())).toEqual({ kind: 'address', address })
  expect(parseAddress(`0x${address.slice(2).toUpperCase()}`)).toEqual({ kind: 'address', address })
})

test('A mixed-case address with one letter in the wrong case is refused (EIP-55)', () => {
  expect(parseAddress('0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')).toEqual({ kind: 'wrong_checksum' })
  expect(parseAddress('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD')).toEqual({ kind: 'wrong_checksum' })
})

test('Every address from 0x0 to 0xff is refused as keyless, in any case', () => {
  for (let n = 0; n <= 0xff; n++) {
    const digits = n.toString(16).padStart(40, '0')
    expect(parseAddress(`0x${digits}`)).toEqual({ kind: 'keyless' })
    expect(parseAddress(`0x${digits.toUpperCase()}`)).toEqual({ kind: 'keyless' })
  }
  expect(parseAddress(`0x${'0'.repeat(38)}aB`)).toEqual({ kind: 'keyless' })
})

test('Address 0x100, the first one after the keyless addresses, is accepted', () => {
  expect(parseAddress(`0x${'100'.padStart(40, '0')}`).kind).toBe('address')
})

test.each([
  '',
  '0x',
  'f39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0Xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb9226',
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb922666',
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb9226g',
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\n',
  ' 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  'vitalik.eth',
])('%j is malformed as an address', (text) => {
  expect(parseAddress(text)).toEqual({ kind: 'malformed' })
})

test('Any other text or value is malformed as an address, and parsing it never throws', () => {
  forAll(fc.oneof(fc.anything(), fc.string({ unit: 'binary' })), (text) => {
    expect(parseAddress(text as string)).toEqual({ kind: 'malformed' })
  })
})

test('An address has one form: parsing its result again changes nothing, and the case of the input does not matter', () => {
  forAll(hexDigits(40), (digits) => {
    const parsed = parseAddress(`0x${digits.toLowerCase()}`)
    if (parsed.kind !== 'address') return
    expect(parseAddress(parsed.address)).toEqual(parsed)
    expect(parseAddress(`0x${digits.toUpperCase()}`)).toEqual(parsed)
  })
})

test('A shortened address shows its first four and last four digits', () => {
  expect(shortenAddress('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')).toBe('0xf39F…2266')
})

test('A text that is not an address is shortened to an ellipsis, so that it cannot get into a log', () => {
  expect(shortenAddress('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\nsecret')).toBe('…')
  expect(shortenAddress('')).toBe('…')
})
