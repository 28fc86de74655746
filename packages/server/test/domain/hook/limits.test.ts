import { describe, expect, test } from 'vitest'
import type { HookAnswer } from '../../../src/domain/hook/answer.ts'
import { Circuit } from '../../../src/domain/hook/circuit.ts'
import { KnownAnswers } from '../../../src/domain/hook/known-answers.ts'
import { Places } from '../../../src/domain/hook/places.ts'

const YES: HookAnswer = { kind: 'allowed', scopes: null, claims: null, note: '', validFor: 0 }

describe('The calls of the hook that are under way', () => {
  test('One client has 64 places, one wallet eight and all together 128, and each place is free again after its call', () => {
    const places = new Places()
    const taken = (count: number, client: string, wallet: (index: number) => string) =>
      Array.from({ length: count }, (_, index) => places.take(client, wallet(index))).filter((free) => free !== null)
    const ofWallet = taken(20, 'a', () => 'w')
    expect(ofWallet).toHaveLength(8)
    const ofClient = taken(100, 'a', (index) => `w${index}`)
    expect(ofWallet.length + ofClient.length).toBe(64)
    expect(taken(100, 'b', (index) => `v${index}`)).toHaveLength(64)
    expect(places.take('c', 'u')).toBe(null)
    ofClient[0]?.()
    ofWallet[0]?.()
    expect(places.take('a', 'w')).not.toBe(null)
    expect(places.take('c', 'u')).not.toBe(null)
    expect(places.take('c', 'u')).toBe(null)
  })
})

describe('The pause of the hook', () => {
  test('Five lost calls in a row begin a pause, and a response in between begins the count again', () => {
    let at = 1000
    const circuit = new Circuit(() => at)
    const lose = (count: number) => {
      for (let each = 0; each < count; each++) circuit.note('lost')
    }
    lose(4)
    circuit.note('responded')
    lose(4)
    expect(circuit.admit()).toBe(0)
    lose(1)
    expect(circuit.admit()).toBe(5)
    at += 5
    expect(circuit.admit(), 'one call tries').toBe(0)
    expect(circuit.admit(), 'alone').toBe(1)
    lose(1)
    expect(circuit.admit(), 'a lost attempt begins another pause').toBe(5)
    at -= 60
    expect(circuit.admit(), 'a clock that was set back does not lengthen the pause').toBe(0)
    circuit.note('responded')
    expect(circuit.admit()).toBe(0)
    expect(circuit.admit()).toBe(0)
  })
})

describe('Answers that count again', () => {
  test('An answer counts until its end, not before its beginning, and at most 10,000 answers are kept', () => {
    const known = new KnownAnswers()
    known.add('a', YES, { from: 100, seconds: 10 })
    known.add('never', YES, { from: 100, seconds: 0 })
    expect([99, 100, 109, 110].map((at) => known.find('a', at) !== null)).toEqual([false, true, true, false])
    expect(known.find('never', 100)).toBe(null)
    for (let count = 0; count < 9_999; count++) known.add(`b${count}`, YES, { from: 100, seconds: 10 })
    expect(known.find('a', 105)).not.toBe(null)
    known.add('a', YES, { from: 104, seconds: 10 })
    known.add('one more', YES, { from: 104, seconds: 10 })
    expect([known.find('b0', 105), known.find('a', 105), known.find('b1', 105)].map((each) => each !== null)).toEqual([
      false,
      true,
      true,
    ])
  })
})
