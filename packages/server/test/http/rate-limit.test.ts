import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRateLimit, ownLimitsOnly } from '../../src/http/rate-limit.ts'
import { networkOf } from '../../src/observability/log/network.ts'
import { forAll } from '../support/property.ts'

function limitAt(clock: { time: number }, more: { maxKeys?: number } = {}) {
  return createRateLimit({ perMinute: { failures: 3, sign_ins: 5 }, now: () => clock.time, ...more })
}

describe('The rate limit of one process', () => {
  test('A rate limit allows its number of events per minute, then refuses with the seconds until the window ends', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 3; i++) expect(limit.count('failures', 'a')).toEqual({ allowed: true })
    clock.time = 1020
    expect(limit.count('failures', 'a')).toEqual({ allowed: false, retryAfter: 40 })
  })

  test('A rate limit allows events again when the window has ended', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    clock.time = 1060
    expect(limit.count('failures', 'a')).toEqual({ allowed: true })
  })

  test('Events of one network do not count towards the limit of another network', () => {
    const limit = limitAt({ time: 1000 })
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    expect(limit.count('failures', 'b')).toEqual({ allowed: true })
  })

  test('Each name of a rate limit has its own number of events and its own count', () => {
    const limit = limitAt({ time: 1000 })
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    for (let i = 0; i < 5; i++) expect(limit.count('sign_ins', 'a')).toEqual({ allowed: true })
    expect(limit.count('sign_ins', 'a').allowed).toBe(false)
  })

  test('A check returns what the next event would get from the rate limit, and does not count as an event', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 3; i++) {
      for (let check = 0; check < 5; check++) expect(limit.check('failures', 'a')).toEqual({ allowed: true })
      limit.count('failures', 'a')
    }
    clock.time = 1015
    expect(limit.check('failures', 'a')).toEqual({ allowed: false, retryAfter: 45 })
    expect(limit.check('sign_ins', 'a')).toEqual({ allowed: true })
    clock.time = 1060
    expect(limit.check('failures', 'a')).toEqual({ allowed: true })
  })

  test('An event with several keys is refused if any of them is over the limit, with the longest of their waits', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 3; i++) limit.count('failures', 'network')
    clock.time = 1030
    for (let i = 0; i < 3; i++) limit.count('failures', 'client')
    expect(limit.count('failures', 'network', 'client')).toEqual({ allowed: false, retryAfter: 60 })
    expect(limit.count('failures', 'network', 'fresh')).toEqual({ allowed: false, retryAfter: 30 })
  })

  test('If the clock jumps back, a rate limit does not keep refusing events until the old window ends', () => {
    const clock = { time: 1_000_000 }
    const limit = limitAt(clock)
    for (let i = 0; i < 4; i++) limit.count('failures', 'a')
    clock.time = 1000
    expect(limit.count('failures', 'a')).toEqual({ allowed: true })
  })

  test('A rate limit stores a bounded number of keys, and a new key beyond that number replaces the oldest', () => {
    const clock = { time: 1000 }
    const limit = limitAt(clock, { maxKeys: 100 })
    for (let i = 0; i < 4; i++) limit.count('failures', 'first')
    for (let i = 0; i < 99; i++) limit.count('failures', `flood ${i}`)
    expect(limit.count('failures', 'first').allowed).toBe(false)
    limit.count('failures', 'one more')
    expect(limit.count('failures', 'first').allowed).toBe(true)
  })

  test('A rate limit that is switched off allows every event, but those of a key that has a limit of its own', () => {
    const off = ownLimitsOnly(limitAt({ time: 1000 }))
    for (let i = 0; i < 10_000; i++) expect(off.count('failures', 'a')).toEqual({ allowed: true })
    expect(off.check('failures', 'a')).toEqual({ allowed: true })
    const own = () => off.countWithin(2, 'sign_ins', 'client').allowed
    expect([own(), own(), own()]).toEqual([true, true, false])
  })
})

describe('The network of an address', () => {
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
  ])('The address "%s" is counted as the network "%s"', (ip, network) => {
    expect(networkOf(ip)).toBe(network)
  })

  test('All IPv6 addresses of one /64 are one network, in every notation', () => {
    forAll(fc.ipV6(), fc.ipV6(), (ip, other) => {
      const network = networkOf(ip)
      if (!network.endsWith('::/64')) return
      const tail = groupsOf(other).slice(4)
      expect(networkOf([...groupsOf(ip).slice(0, 4), ...tail].join(':'))).toBe(network)
    })
  })
})

/** The eight groups as the URL parser reads them, which is an independent implementation. */
function groupsOf(ip: string): string[] {
  const [head = '', tail] = new URL(`http://[${ip}]/`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  return [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
}
