import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares a presented secret with the expected one. The time depends on neither, also if the texts have different lengths. */
export function isSameSecret(presented: string, expected: string): boolean {
  return timingSafeEqual(digestOf(presented), digestOf(expected))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
