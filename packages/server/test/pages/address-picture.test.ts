import { expect, test } from 'vitest'
import { addressPicture } from '../../src/pages/address-picture.ts'

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

test('The picture of an address is a PNG of 192 pixels and less than 1 kB, the same for each spelling of the address', () => {
  const picture = addressPicture(ADDRESS)
  expect(picture.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a')
  expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([192, 192])
  expect(picture.length).toBeLessThan(1_000)
  expect(addressPicture(ADDRESS.toLowerCase()).equals(picture)).toBe(true)
})

test('A thousand addresses, which differ in their last digits only, have a thousand pictures', () => {
  const pictures = Array.from({ length: 1_000 }, (_, i) =>
    addressPicture(`0x${i.toString(16).padStart(40, '0')}`).toString('base64'),
  )
  expect(new Set(pictures).size).toBe(1_000)
})
