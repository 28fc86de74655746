/**
 * The name that a client gives itself. The login page and the signed text show the name beside the host that the client proved, so a name
 * must not read as another host.
 */
import { hasInvisible, mixesAlphabets, visibleText } from '../../protocol/oauth/visible-text.ts'

const NAME_AT_MOST = 80

/** Spaces that are narrower than a space, and that a reader may not see. NFKC turns them into spaces. */
const NARROW_SPACES = /[\u1680\u2000-\u200a\u202f\u205f]/gu
/** NFKC leaves hyphens and dashes apart. */
const DASHES = /[\p{Pd}\u2212]/gu
/**
 * Everything that may be drawn like a full stop: each character that is no letter, mark, digit, space, bracket or usual punctuation, and the
 * letters, marks and digits that Unicode's confusables list with the full stop and the middle dot.
 */
const LIKE_A_FULL_STOP =
  /[^\p{L}\p{M}\p{N}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Sc}\s\-_,\u3001\u060c:;!?/\\|&+@#%=*~^`"']|[\u0660\u06f0\u1427\ua4f8-\ua4fd\ua78f\u{1d16d}]/gu
/** The characters between two words. */
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}.\-_:]+/u

/** IPv6 in its shortest and longest forms: hexadecimal groups with at least two colons. */
const LIKE_IPV6 = /^[0-9a-f]{0,4}:[0-9a-f:.]*:[0-9a-f.]*$/
/** A browser reads `2130706433` and `0x7f000001` as IPv4 addresses. */
const LIKE_A_NUMBERED_ADDRESS = /^(?:\d{8,}|0x[0-9a-f]{7,})$/
const NUMBER = /^\p{Nd}+$/u
const HEXADECIMAL = /^0x[0-9a-f]*$/

/**
 * The visible name; an empty name if the client has none. Null for a name that could deceive: with invisible characters, with another
 * host, or with letters of several alphabets in one word. `ownHost` is the host that the client proved; null if it proved none.
 */
export function readClientName(name: unknown, ownHost: string | null): string | null {
  if (name === undefined) return ''
  if (typeof name !== 'string' || [...name].length > NAME_AT_MOST || hasInvisible(name)) return null
  const visible = visibleText(name)
  if (visible === '') return null
  const isAcceptable = (word: string): boolean => {
    return !mixesAlphabets(word) && (labelsOf(word).join('.') === ownHost || !readsAsHost(word))
  }
  return wordsOf(visible).every(isAcceptable) ? visible : null
}

/** The words with `.` for everything that looks like a full stop. */
function wordsOf(name: string): string[] {
  const plain = name.replace(NARROW_SPACES, '').normalize('NFKC').toLowerCase()
  const dotted = plain.replace(DASHES, '-').replace(LIKE_A_FULL_STOP, '.')
  return dotted.split(BETWEEN_WORDS)
}

/** Every label, dot, label that is not a version or a set of initials, and every form of an IP address. */
function readsAsHost(word: string): boolean {
  const parts = word.split(':')
  return (
    word.includes('xn--') || LIKE_IPV6.test(word) || parts.some((part) => isDotted(part) || LIKE_A_NUMBERED_ADDRESS.test(part))
  )
}

function labelsOf(text: string): string[] {
  return text.split('.').filter((label) => label !== '')
}

function isDotted(text: string): boolean {
  const labels = labelsOf(text)
  if (labels.length < 2 || labels.every((label) => [...label].length === 1 && !NUMBER.test(label))) return false
  // The last label of a host is never a number, so `gpt-4.1` is a version. Four numbers are an IPv4 address, and so is `0x7f.1`.
  const [first = '', ...rest] = labels
  const isVersion = rest.every((label) => NUMBER.test(label))
  return !isVersion || HEXADECIMAL.test(first) || (NUMBER.test(first) && rest.length >= 3)
}
