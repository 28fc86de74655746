/** The visible part of a text that a client or an operator chose, such as a client's name. */

/**
 * Controls, format and direction characters, and every character that a renderer may ignore
 * (Default_Ignorable_Code_Point), such as the Hangul filler U+3164. The single code points are letters or symbols in
 * Unicode, but fonts draw nothing for them, such as the blank Braille pattern U+2800. U+FE0E and U+FE0F are kept: they
 * select how the emoji before them is drawn.
 */
const INVISIBLE =
  /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu

/** At least one visible character. Spaces, and marks that modify another character, are not visible alone. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u

/** The text without its invisible characters and outer spaces; '' if the result has no visible character. */
export function visibleText(text: string): string {
  const visible = text.replace(INVISIBLE, '')
  return VISIBLE.test(visible) ? visible.trim() : ''
}

/** Whether the text contains an invisible character. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) >= 0
}

const LATIN = /\p{Script=Latin}/u
/** Letters that are not used in one word with Latin letters. Chinese, Japanese and Korean are. */
const NOT_WITH_LATIN =
  /[^\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Common}\p{Script=Inherited}]/u

/** Whether a word has letters that could be taken for Latin letters beside Latin letters. */
export function mixesAlphabets(word: string): boolean {
  return LATIN.test(word) && NOT_WITH_LATIN.test(word)
}
