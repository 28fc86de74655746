import { expect, test } from 'vitest'
import {
  addValue,
  distinctValues,
  emptySketch,
  mergedSketch,
  SKETCH_BYTES,
} from '../../../src/domain/activity/distinct-sketch.ts'

function sketchOf(count: number, prefix: string) {
  const sketch = emptySketch()
  for (let n = 0; n < count; n++) addValue([sketch], `${prefix}${n}`)
  return sketch
}

test.for([0, 1, 2, 10, 100])('%i distinct values are counted with an error of at most one', (count) => {
  const counted = distinctValues(sketchOf(count, `${count} values `))
  expect(Math.abs(counted - count)).toBeLessThanOrEqual(count < 100 ? 0 : 1)
})

/** The standard error of HyperLogLog (Flajolet and others, 2007). */
const ERROR = 1.04 / Math.sqrt(SKETCH_BYTES)

test('Over ten sets each, the error of the estimate has the size that HyperLogLog promises, for thousands and hundreds of thousands', () => {
  for (const count of [3000, 10_000, 200_000]) {
    const errors = Array.from({ length: 10 }, (_, set) => distinctValues(sketchOf(count, `set ${set} `)) / count - 1)
    const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length)
    expect(deviation).toBeLessThan(ERROR * 1.6)
    expect(Math.max(...errors.map(Math.abs))).toBeLessThan(ERROR * 4)
  }
})

test('A value that is added again changes nothing, and merged sketches count the values of both once', () => {
  const sketch = sketchOf(500, 'a')
  const again = sketch.slice()
  addValue([again], 'a7')
  expect(again).toEqual(sketch)
  const both = emptySketch()
  for (const prefix of ['a', 'b']) for (let n = 0; n < 500; n++) addValue([both], `${prefix}${n}`)
  expect(mergedSketch(sketch, sketchOf(500, 'b'))).toEqual(both)
  expect(mergedSketch(sketch, sketch)).toEqual(sketch)
})

test('A sketch of another length counts nothing', () => {
  const sketch = sketchOf(50, 'a')
  expect(mergedSketch(sketch, new Uint8Array(16).fill(33))).toEqual(sketch)
})
