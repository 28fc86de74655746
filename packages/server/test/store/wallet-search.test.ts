/** The values of the searches for wallets. */
import { expect, test } from 'vitest'
import type { Address } from '../../src/protocol/wallet/address.ts'
import { pack } from '../../src/store/packed.ts'
import { endsOfAddresses, walletSearchOf, walletsWithEnds } from '../../src/store/wallet-search.ts'

const addressOf = (beginning: string, rest: string): Address => `0x${beginning}${rest.repeat(40 - beginning.length)}`
const isIn = ({ from, to }: { from: Uint8Array; to: Uint8Array }, wallet: string) =>
  Buffer.compare(pack(wallet), from) > 0 && Buffer.compare(pack(wallet), to) <= 0

test.each(['0x0', '0xf', '0xab', '0xabc', '0xfff', '0x00a'])(
  'The range of the beginning %s has exactly the addresses that begin with it, in any case of the letters',
  (prefix) => {
    const range = walletSearchOf({ prefix, limit: 1, after: '' })
    const digits = prefix.slice(2)
    const within = [digits, digits.toUpperCase()].flatMap((each) => [
      addressOf(each, '0'),
      addressOf(each, 'f'),
      addressOf(each, 'F'),
    ])
    expect(within.map((wallet) => isIn(range, wallet))).toEqual(within.map(() => true))
    const number = Number(prefix)
    const neighbours = [number - 1, number + 1].map((each) => each.toString(16).padStart(digits.length, '0'))
    for (const neighbour of neighbours.filter((each) => /^[0-9a-f]+$/.test(each) && each.length === digits.length))
      for (const rest of ['0', 'f', 'F'])
        expect({ neighbour, found: isIn(range, addressOf(neighbour, rest)) }).toEqual({ neighbour, found: false })
  },
)

test('The next page of a search begins after the last address, and a place before the first address is the first page', () => {
  const search = { prefix: '0xab', limit: 1 }
  const [first, second] = [addressOf('ab', '1'), addressOf('aB', '2')]
  const range = walletSearchOf({ ...search, after: first })
  expect([first, second].map((wallet) => isIn(range, wallet))).toEqual([false, true])
  expect(walletSearchOf({ ...search, after: addressOf('aa', 'f') })).toEqual(walletSearchOf({ ...search, after: '' }))
})

test('A shortened address matches its wallets in the case that the text has, and a text that is no shortened address matches none', () => {
  const wallets: Address[] = [`0x1F9a${'0'.repeat(32)}90C5`, `0x1F9A${'0'.repeat(32)}90C5`, `0x1f9a${'0'.repeat(32)}90c5`]
  const rows = [...wallets, ...wallets].map((wallet) => ({ wallet: pack(wallet) }))
  const [ends] = endsOfAddresses('0x1F9a…90C5')
  expect(ends && wallets.map((wallet) => isIn(ends, wallet))).toEqual([true, true, true])
  expect(ends && Buffer.from(ends.ending).toString('hex')).toBe('90c5')
  expect(walletsWithEnds('0x1F9a…90C5', rows)).toEqual([wallets[0]])
  expect(endsOfAddresses('0x1F9…90C5')).toEqual([])
})
