import { expect, test } from 'vitest'
import { createRefusedSignIns, OF_NETWORK_AT_MOST, REFUSED_AT_MOST } from '../../../src/observability/metrics/refused-sign-ins.ts'
import { TestClock } from '../../support/start.ts'

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

function start() {
  const clock = new TestClock()
  clock.at = 1_800_000_000
  return { clock, refused: createRefusedSignIns(clock.now) }
}

test('The refused sign-ins of a wallet are counted by reason and network, the latest first, and forgotten after a day', () => {
  const { clock, refused } = start()
  const at = clock.at
  refused.count({ network: '203.0.113', wallet: WALLET, reason: 'signature_of_another' })
  refused.count({ network: '203.0.113', wallet: '0x1', reason: 'signature_of_another' })
  clock.advance(10)
  refused.count({ network: '198.51.100', wallet: WALLET, reason: 'challenge_expired' })
  clock.advance(10)
  refused.count({ network: '203.0.113', wallet: WALLET, reason: 'signature_of_another' })
  expect(refused.read(WALLET)).toEqual([
    { network: '203.0.113', reason: 'signature_of_another', at: at + 20, count: 2 },
    { network: '198.51.100', reason: 'challenge_expired', at: at + 10, count: 1 },
  ])
  clock.advance(86_395)
  expect(refused.read(WALLET).map(({ network }) => network)).toEqual(['203.0.113'])
  clock.advance(10)
  expect(refused.read(WALLET)).toEqual([])
})

test('A network that names 100,000 addresses displaces its own entries, and none of another network', () => {
  const { refused } = start()
  refused.count({ network: '203.0.113', wallet: WALLET, reason: 'signature_of_another' })
  for (let n = 0; n < 100_000; n++) refused.count({ network: '198.51.100', wallet: `0x${n}`, reason: 'signature_of_another' })
  expect(refused.read(WALLET)).toHaveLength(1)
  const last = Array.from({ length: 100 }, (_, n) => refused.read(`0x${99_900 + n}`).length)
  expect(last.filter((count) => count > 0)).toHaveLength(OF_NETWORK_AT_MOST)
  expect(last.at(-1)).toBe(1)
})

test('The entries of many networks are bounded, and a network with several entries makes room before one with one entry', () => {
  const { refused } = start()
  refused.count({ network: '203.0.113', wallet: WALLET, reason: 'signature_of_another' })
  const networks = REFUSED_AT_MOST / OF_NETWORK_AT_MOST + 50
  const wallets: string[] = []
  for (let network = 0; network < networks; network++) {
    for (let n = 0; n < OF_NETWORK_AT_MOST; n++) {
      const wallet = `0x${network}-${n}`
      wallets.push(wallet)
      refused.count({ network: `10.0.${network}`, wallet, reason: 'signature_of_another' })
    }
  }
  expect(refused.read(WALLET)).toHaveLength(1)
  expect(wallets.filter((wallet) => refused.read(wallet).length > 0)).toHaveLength(REFUSED_AT_MOST - 1)
})
