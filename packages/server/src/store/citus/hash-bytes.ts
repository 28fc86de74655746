/**
 * PostgreSQL's hash of `bytea`, by which Citus assigns a row to a shard: Bob Jenkins's lookup3.
 * Source: `hash_bytes` in PostgreSQL's src/common/hashfn.c. The function is stable, because hash partitions depend on it.
 */

/** The hash as a signed 32-bit integer. */
export function hashBytes(bytes: Buffer): number {
  const state = new Uint32Array(3).fill(0x9e3779b9 + bytes.length + 3923095)
  let at = 0
  for (; bytes.length - at >= 12; at += 12) {
    add(state, bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4), bytes.readUInt32LE(at + 8))
    mixHash(state)
  }
  const rest = Buffer.alloc(12)
  // The algorithm reserves the lowest byte of the third word for the length.
  rest.set(bytes.subarray(at, at + 8))
  rest.set(bytes.subarray(at + 8), 9)
  add(state, rest.readUInt32LE(0), rest.readUInt32LE(4), rest.readUInt32LE(8))
  finish(state)
  return (state[2] ?? 0) | 0
}

type HashWords = Uint32Array

const word = (state: HashWords, index: number): number => state[index % 3] ?? 0
const rotateLeft = (value: number, by: number): number => (value << by) | (value >>> (32 - by))

function add(state: HashWords, ...values: number[]): void {
  for (const [index, value] of values.entries()) state[index] = word(state, index) + value
}

function mixHash(state: HashWords): void {
  for (const [step, by] of [4, 6, 8, 16, 19, 4].entries()) {
    // For a, b and c in rotation: a -= c; a ^= rotate(c); c += b.
    state[step % 3] = (word(state, step) - word(state, step + 2)) ^ rotateLeft(word(state, step + 2), by)
    state[(step + 2) % 3] = word(state, step + 2) + word(state, step + 1)
  }
}

function finish(state: HashWords): void {
  for (const [step, by] of [14, 11, 25, 16, 4, 14, 24].entries()) {
    // For c, a and b in rotation: c ^= b; c -= rotate(b).
    const [target, other] = [step + 2, step + 1]
    state[target % 3] = (word(state, target) ^ word(state, other)) - rotateLeft(word(state, other), by)
  }
}
