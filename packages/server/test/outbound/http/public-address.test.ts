import { expect, test } from 'vitest'
import { isLoopbackAddress, isPublicAddress } from '../../../src/outbound/http/public-address.ts'

test.each([
  ['of this network', '0.0.0.0', '0.255.255.255'],
  ['private', '10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  ['shared by carriers', '100.64.0.0', '100.127.255.255'],
  ['loopback', '127.0.0.1', '127.255.255.255', '::1'],
  [
    'link-local, such as the metadata service of a cloud',
    '169.254.0.0',
    '169.254.169.254',
    '169.254.255.255',
    'fe80::1',
    'febf::1',
    'fe80::1%eth0',
  ],
  [
    'for protocol assignments or documentation',
    '192.0.0.1',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '2001:db8::1',
    '3fff::1',
    '100::1',
  ],
  ['for benchmarks or 6to4 relays', '198.18.0.1', '198.19.255.255', '192.88.99.1'],
  ['multicast, reserved and broadcast', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', 'ff02::1'],
  ['unspecified', '::', '0:0:0:0:0:0:0:0'],
  ['unique-local and site-local', 'fc00::1', 'fdff::1', 'fec0::1'],
  [
    'an IPv4 address in IPv6 form',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:93.184.215.14',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
  ],
  ['an IPv4 address inside a tunnel address', '2002:7f00:1::', '2002:a00:1::1', '2001:0:7f00:1::'],
  ['not an address', '', 'localhost', '127.1', '2130706433', '0x7f.0.0.1', '1.2.3.4.5', '2606:4700::1%1'],
])('An address is not public if it is %s', (_, ...addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([])
})

test('Addresses of the public internet are public, up to the boundaries of the special ranges', () => {
  const version4 =
    '1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 ' +
    '172.32.0.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255'
  const version6 = '2606:4700:4700::1111 2a00:1450::1 2001:4860:4860::8888 2001:200::1'
  const addresses = `${version4} ${version6}`.split(' ')
  expect(addresses.filter((address) => !isPublicAddress(address))).toEqual([])
})

test('Only 127.0.0.0/8 and ::1 are loopback addresses, and only in their usual notation', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1'].every(isLoopbackAddress)).toBe(true)
  expect(
    ['::ffff:127.0.0.1', '::ffff:7f00:1', '10.0.0.1', '169.254.169.254', '0.0.0.0', '::', 'localhost'].filter(isLoopbackAddress),
  ).toEqual([])
})
