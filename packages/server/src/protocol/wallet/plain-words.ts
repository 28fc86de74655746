/**
 * An app's name in the few characters that a text to sign can contain (ERC-4361).
 *
 * The name is the only part of the text that an app chooses freely, so an app could use it to deceive: with a sentence
 * ("Evil. No permissions"), with a host ("Bank at bank.example"), with a quote that ends the name early, with invisible
 * or right-to-left marks. Only letters, digits, spaces and `&`, `+`, `-` are allowed: no full stop, no colon, no quote,
 * nothing invisible.
 */

const longestName = 40
/** Bounds the work. The first 200 characters contain forty usable ones unless most of the name is decoration. */
const longestRead = 200

/**
 * Writes a name of any script in ASCII, at most 40 characters; '' if that is not possible.
 *
 * If a letter or digit of the name has no ASCII form here, the whole name is left out: half a name could be another
 * app's name.
 */
export function transliterateName(name: string): string {
  // NFKD separates accents from letters and turns compatibility forms (full-width, mathematical bold) into ordinary
  // letters.
  const letters = name.slice(0, longestRead).normalize('NFKD').replace(unseen, '')
  const ascii = Array.from(letters, spell).join('')
  if (unspelled.test(ascii)) return ''
  const plain = ascii
    .replace(/[^A-Za-z0-9&+-]+/g, ' ')
    .trim()
    .slice(0, longestName)
    .trim()
  return /[A-Za-z0-9]/.test(plain) ? plain : ''
}

/** Accents, invisible and direction marks, and apostrophes: removed without a space in their place. */
const unseen = /[\p{M}\p{Cf}'\u2018\u2019\u02bc`\u00b4]/gu

/** Letters and digits that are still outside ASCII. All other remaining characters are decoration and become spaces. */
const unspelled = /(?![\0-\x7f])[\p{L}\p{N}]/u

function spell(letter: string): string {
  const lower = letter.toLowerCase()
  const spelling = spellings.get(lower)
  if (spelling === undefined) return letter
  return letter === lower ? spelling : spelling.charAt(0).toUpperCase() + spelling.slice(1)
}

/** Latin letters without a removable accent, then Greek, then Cyrillic. */
const spellings = new Map(
  `ß ss, æ ae, œ oe, ø o, đ d, ð d, þ th, ł l, ħ h, ı i, ŋ ng, ŧ t, ə e,
   α a, β v, γ g, δ d, ε e, ζ z, η i, θ th, ι i, κ k, λ l, μ m, ν n, ξ x, ο o, π p, ρ r, σ s, ς s, τ t, υ y, φ f, χ ch, ψ ps, ω o,
   а a, б b, в v, г g, ґ g, д d, е e, є ie, ж zh, з z, и i, і i, к k, л l, м m, н n, о o, п p, р r, с s, т t, у u, ф f, х kh, ц ts,
   ч ch, ш sh, щ shch, ъ ie, ы y, ь , э e, ю iu, я ia, ђ dj, ј j, љ lj, њ nj, ћ c, џ dz`
    .split(',')
    .map((pair) => pair.trim().split(' '))
    .map(([letter = '', spelling = '']) => [letter, spelling] as const),
)
