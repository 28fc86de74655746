/**
 * JSON that another party wrote. `JSON.parse` keeps the last of several members with one name, and another reader of the same text may keep
 * the first. So a text in which an object has two members with one name is refused (RFC 8259 §4: "The names within an object SHOULD be
 * unique").
 */
export type ParsedJson = { kind: 'parsed'; value: unknown } | { kind: 'malformed' } | { kind: 'member_twice' }

export function parseJson(text: string): ParsedJson {
  try {
    const value: unknown = JSON.parse(text)
    return countNames(text) === countMembers(value) ? { kind: 'parsed', value } : { kind: 'member_twice' }
  } catch {
    return { kind: 'malformed' }
  }
}

/** The member names in a valid JSON text: the strings before a colon. */
function countNames(text: string): number {
  let names = 0
  for (let quote = text.indexOf('"'); quote >= 0; ) {
    const after = skipSpaces(text, endOfString(text, quote))
    if (text[after] === ':') names++
    quote = text.indexOf('"', after)
  }
  return names
}

/** The place after the string that begins at `quote`. */
function endOfString(text: string, quote: number): number {
  let at = quote + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function skipSpaces(text: string, from: number): number {
  let at = from
  while (' \t\n\r'.includes(text[at] ?? '-')) at++
  return at
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
