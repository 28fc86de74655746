/**
 * JSON that another party wrote. `JSON.parse` keeps the last of several members with one name, and another reader of the same text may keep
 * the first. So a text in which an object has two members with one name is refused (RFC 8259 §4: "The names within an object SHOULD be
 * unique").
 */
export type ParsedJson = { kind: 'parsed'; value: unknown } | { kind: 'malformed' } | { kind: 'member_twice' }

/** A string, and the colon after the string if the string is the name of a member. */
const STRING = /"(?:[^"\\]|\\.)*"\s*(:?)/g

export function parseJson(text: string): ParsedJson {
  try {
    const value: unknown = JSON.parse(text)
    return countNames(text) === countMembers(value) ? { kind: 'parsed', value } : { kind: 'member_twice' }
  } catch {
    return { kind: 'malformed' }
  }
}

/** The member names in a valid JSON text. */
function countNames(text: string): number {
  let names = 0
  for (const [, colon] of text.matchAll(STRING)) if (colon === ':') names++
  return names
}

/** The members of all objects of a value. The loop needs no recursion, however deep the value is. */
function countMembers(value: unknown): number {
  const left = [value]
  let members = 0
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const values: unknown[] = Object.values(next)
    if (!Array.isArray(next)) members += values.length
    left.push(...values.filter((each) => typeof each === 'object'))
  }
  return members
}
