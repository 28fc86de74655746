import { hasInvisible, mixesAlphabets, visibleText } from '../../protocol/oauth/visible-text.ts'

const CHARACTERS_AT_MOST = 40

/**
 * The fault of a name for the platform, which completes the sentence "The name …"; null if the name can be shown. With control characters or
 * marks of direction, a name could change how the page around it reads. With letters of two alphabets in one word, it could look like the
 * name of another platform.
 */
export function platformNameFault(name: string): string | null {
  if (visibleText(name) === '') return 'must have a visible character'
  if ([...name].length > CHARACTERS_AT_MOST) return `must have at most ${CHARACTERS_AT_MOST} characters`
  if (hasInvisible(name)) return 'must not have invisible characters, line breaks or marks of direction'
  if (name !== name.trim() || /[^\S ]| {2}/u.test(name)) return 'must have single, ordinary spaces between its words only'
  return name.normalize('NFKC').split(' ').some(mixesAlphabets) ? 'must not mix letters of two alphabets in one word' : null
}
