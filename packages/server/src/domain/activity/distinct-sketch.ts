/**
 * Counts distinct values in a fixed number of bytes (HyperLogLog). The standard error is 1.04 / sqrt(4096) = 1.6 %; small numbers are nearly
 * exact. Sketches are merged without an error of their own. A value cannot be read from a sketch.
 *
 * The estimate is the improved one of O. Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017), algorithm 6. It needs
 * no table of corrections.
 */
import { hash } from 'node:crypto'

const INDEX_BITS = 12
export const SKETCH_BYTES = 2 ** INDEX_BITS
/** The bits of the hash besides the index. The largest value of a register is one more. */
const REST_BITS = 32

/** One register for each byte. */
export type Sketch = Uint8Array

export function emptySketch(): Sketch {
  return new Uint8Array(SKETCH_BYTES)
}

/** Adds the value to each of the sketches. */
export function addValue(sketches: readonly Sketch[], value: string): void {
  const digest = hash('sha256', value, 'buffer')
  const index = digest.readUInt16BE(0) >>> (16 - INDEX_BITS)
  // `clz32` is 32 if all bits are zero.
  const rank = Math.clz32(digest.readUInt32BE(2)) + 1
  for (const sketch of sketches) if (rank > (sketch[index] ?? 0)) sketch[index] = rank
}

/** The sketch of the values of both. A sketch of another length, of a version that does not exist yet, counts nothing. */
export function mergedSketch(one: Sketch, other: Sketch): Sketch {
  const known = [one, other].filter(({ length }) => length === SKETCH_BYTES)
  return emptySketch().map((_, index) => Math.max(0, ...known.map((sketch) => sketch[index] ?? 0)))
}

/** The estimated number of distinct values. */
export function distinctValues(sketch: Sketch): number {
  const registers = sketch.length
  const counts = Array.from({ length: REST_BITS + 2 }, () => 0)
  for (const value of sketch) {
    const rank = Math.min(value, REST_BITS + 1)
    counts[rank] = (counts[rank] ?? 0) + 1
  }
  const share = (rank: number): number => (counts[rank] ?? 0) / registers
  let sum = registers * tau(1 - share(REST_BITS + 1))
  for (let rank = REST_BITS; rank >= 1; rank--) sum = 0.5 * (sum + (counts[rank] ?? 0))
  sum += registers * sigma(share(0))
  return Math.round(registers ** 2 / (2 * Math.LN2 * sum))
}

/** The share of registers that are empty. */
function sigma(share: number): number {
  if (share === 1) return Number.POSITIVE_INFINITY
  let [power, factor, sum] = [share, 1, share]
  for (let before = -1; sum !== before; factor *= 2) {
    power *= power
    before = sum
    sum += power * factor
  }
  return sum
}

/** The share of registers that are full. */
function tau(share: number): number {
  if (share === 0 || share === 1) return 0
  let [root, factor, sum] = [share, 1, 1 - share]
  for (let before = -1; sum !== before; ) {
    root = Math.sqrt(root)
    before = sum
    factor *= 0.5
    sum -= (1 - root) ** 2 * factor
  }
  return sum / 3
}
