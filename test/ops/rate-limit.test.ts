import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { networkOf } from '../../src/ops/network.ts'
import { createRateLimit, unlimited } from '../../src/ops/rate-limit.ts'
import { runs } from '../support/runs.ts'

function limitAt(clock: { time: number }, more: { maxKeys?: number } = {}) {
  return createRateLimit({ perMinute: { failures: 3, sign_ins: 5 }, now: () => clock.time, ...more })
}

describe('a rate limit', () => {
  test('allows as many events a window as it says, then says when to come back', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 3; i++) expect(limit.count('failures', 'a')).toEqual({ allowed: true })
    clock.time = 1020
    expect(limit.count('failures', 'a')).toEqual({ allowed: false, retryAfter: 40 })
  })

  test('forgets when the window is over', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    clock.time = 1060
    expect(limit.count('failures', 'a')).toEqual({ allowed: true })
  })

  test("one network's failures are not another's", () => {
    const limit = limitAt({ time: 1000 })
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    expect(limit.count('failures', 'b')).toEqual({ allowed: true })
  })

  test('what has another name has a limit and a count of its own', () => {
    const limit = limitAt({ time: 1000 })
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    for (let i = 0; i < 5; i++) expect(limit.count('sign_ins', 'a')).toEqual({ allowed: true })
    expect(limit.count('sign_ins', 'a').allowed).toBe(false)
  })

  test('says beforehand what the next event would be answered, and does not count it', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 3; i++) {
      for (let asked = 0; asked < 5; asked++) expect(limit.check('failures', 'a')).toEqual({ allowed: true })
      limit.count('failures', 'a')
    }
    clock.time = 1015
    expect(limit.check('failures', 'a')).toEqual({ allowed: false, retryAfter: 45 })
    expect(limit.check('sign_ins', 'a')).toEqual({ allowed: true })
    clock.time = 1060
    expect(limit.check('failures', 'a')).toEqual({ allowed: true })
    expect(unlimited.check('failures', 'a')).toEqual({ allowed: true })
  })

  test('with several keys the one that is over decides, and the longest wait is told', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 3; i++) limit.count('failures', 'network')
    clock.time = 1030
    for (let i = 0; i < 3; i++) limit.count('failures', 'client')
    expect(limit.count('failures', 'network', 'client')).toEqual({ allowed: false, retryAfter: 60 })
    expect(limit.count('failures', 'network', 'fresh')).toEqual({ allowed: false, retryAfter: 30 })
  })

  test('a clock that jumps back does not lock anybody out for longer than a window', () => {
    const clock = { time: 1_000_000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    clock.time = 1000
    expect(limit.count('failures', 'a')).toEqual({ allowed: true })
  })

  test('remembers a bounded number of keys: what a flood of new ones pushes out is the oldest', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock, { maxKeys: 100 })
    for (let i = 0; i < 4; i++) limit.count('failures', 'first')
    for (let i = 0; i < 99; i++) limit.count('failures', `flood ${i}`)
    expect(limit.count('failures', 'first').allowed).toBe(false)
    limit.count('failures', 'one more')
    expect(limit.count('failures', 'first').allowed).toBe(true)
  })

  test('switched off, it allows everything', () => {
    for (let i = 0; i < 10_000; i++) expect(unlimited.count('failures', 'a')).toEqual({ allowed: true })
  })
})

describe('networks', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:0207', '192.0.2.7'],
    ['2001:db8:0:1:aaaa:bbbb:cccc:dddd', '2001:db8:0:1::/64'],
    ['2001:0DB8:0000:0001::1', '2001:db8:0:1::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:0:1::192.0.2.7', '2001:db8:0:1::/64'],
    ['', 'unknown'],
    ['not an address', 'unknown'],
    ['192.0.2.7:443', 'unknown'],
  ])('%s counts as %s', (ip, network) => {
    expect(networkOf(ip)).toBe(network)
  })

  test('every address of one /64 is one network, however it is written', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV6(), (ip, other) => {
        const network = networkOf(ip)
        if (!network.endsWith('::/64')) return
        const tail = expanded(other).slice(4)
        expect(networkOf([...expanded(ip).slice(0, 4), ...tail].join(':'))).toBe(network)
      }),
      { numRuns: runs },
    )
  })
})

/** The eight groups as the URL parser, an implementation that is not ours, understands them. */
function expanded(ip: string): string[] {
  const [head = '', tail] = new URL(`http://[${ip}]/`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
}
