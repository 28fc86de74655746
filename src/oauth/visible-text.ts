/** What a reader can see of a text that a client or an operator chose, such as a client's name. */

/**
 * Controls, format and direction characters, and all that Unicode lets a renderer ignore (Default_Ignorable_Code_Point), such as the Hangul
 * filler U+3164. The single code points are letters or symbols to Unicode, but fonts draw nothing for them, as for the blank Braille
 * pattern U+2800. U+FE0E and U+FE0F stay: they choose how the emoji before them is drawn.
 */
const INVISIBLE =
  /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu

/** Spaces, and marks that change another character, show nothing by themselves. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u

/** The text without its invisible characters and outer spaces; '' if nothing in it can be seen. */
export function visibleText(text: string): string {
  const visible = text.replace(INVISIBLE, '')
  return VISIBLE.test(visible) ? visible.trim() : ''
}

/** Whether the text has characters that cannot be seen, anywhere. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) >= 0
}
