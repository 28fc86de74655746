/**
 * HTML that escapes unless told otherwise: what comes from outside is text (RFC 6749 §10.14).
 *
 * `html` is a tagged template: what stands in the template is markup, what is filled in is text. Only another `Html` goes in
 * as it is, and an `Html` comes only from `html` and `trusted` (a class with a private field: no parsed JSON can pose as one).
 */
export class Html {
  readonly #markup: string
  private constructor(markup: string) {
    this.#markup = markup
  }

  /** Markup that we wrote ourselves. Never anything that came from outside. */
  static trusted(markup: string): Html {
    return new Html(markup)
  }

  toString(): string {
    return this.#markup
  }
}

/** What may be filled in. `false`, `null` and `undefined` leave nothing, so `${condition && html`…`}` reads well. */
export type Fillable = string | number | Html | false | null | undefined | readonly Fillable[]

export function html(template: TemplateStringsArray, ...fillings: Fillable[]): Html {
  return Html.trusted(template.reduce((markup, part, i) => markup + fillIn(fillings[i - 1]) + part))
}

function fillIn(filling: Fillable): string {
  if (filling === false || filling === null || filling === undefined) return ''
  if (filling instanceof Html) return filling.toString()
  if (Array.isArray(filling)) return filling.map(fillIn).join('')
  return escapeHtml(String(filling))
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '`': '&#96;' }

/** Safe as text and inside a quoted attribute. NUL is what a parser would silently change, so it goes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '').replaceAll('\0', '\uFFFD')
}
