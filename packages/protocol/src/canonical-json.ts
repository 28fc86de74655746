/**
 * The canonical form of a JSON value (RFC 8785), and the digest of an action that a user approves.
 *
 * RFC 8785 writes numbers and strings as ECMAScript does, and orders members by UTF-16 code units, as `sort()` does.
 */

import { createHash } from 'node:crypto'

/** Bounds the recursion. Actions are small, flat objects. */
const DEEPEST = 64

/**
 * Values that JSON cannot contain are refused and never left out: a member that is missing in the digest would not be approved.
 *
 * @throws TypeError that names the path of the value, such as `$.items[2]`.
 */
export function canonicalJson(value: unknown): string {
  return write(value, '$', 1)
}

/** The SHA-256 of the canonical form, base64url: `digest` of an approval. Throws as `canonicalJson` does. */
export function digestOfAction(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}

function write(value: unknown, path: string, level: number): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return writeString(value, path)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (level > DEEPEST) throw new TypeError(`${path} is nested more than ${DEEPEST} levels deep`)
  if (Array.isArray(value)) return `[${Array.from(value, (each, i) => write(each, `${path}[${i}]`, level + 1)).join()}]`
  if (isPlainObject(value)) return writeObject(value, path, level)
  throw new TypeError(`${path} is no JSON value`)
}

function writeObject(value: Record<string, unknown>, path: string, level: number): string {
  const members = Object.keys(value)
    .sort()
    .map((name) => {
      const pathOfMember = `${path}[${JSON.stringify(name)}]`
      return `${writeString(name, pathOfMember)}:${write(value[name], pathOfMember, level + 1)}`
    })
  return `{${members.join()}}`
}

function writeString(text: string, path: string): string {
  // JSON.stringify would write the escape of a lone surrogate, for which UTF-8 has no bytes.
  if (!text.isWellFormed()) throw new TypeError(`${path} has a lone surrogate`)
  return JSON.stringify(text)
}

/** A `Date`, a `Map` or an instance of a class is refused: the members do not describe the value. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
