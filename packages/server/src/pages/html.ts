/**
 * HTML in which every value is escaped unless it is marked as trusted (RFC 6749 §10.14).
 *
 * `html` is a tagged template: the template is markup, and every inserted value is text. Only another `Html` is
 * inserted unchanged. An `Html` can only be made by `html` and `trusted`: the class has a private field, so parsed JSON
 * cannot imitate it.
 */
export class Html {
  readonly #markup: string
  private constructor(markup: string) {
    this.#markup = markup
  }

  /** Marks markup of our own code as trusted. Never use it for a value from outside. */
  static trusted(markup: string): Html {
    return new Html(markup)
  }

  toString(): string {
    return this.#markup
  }
}

/** What may be inserted. `false`, `null` and `undefined` insert nothing, so `${condition && html`…`}` can be used. */
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

/** Safe as text and inside a quoted attribute. HTML parsers would silently change NUL, so it is replaced. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '').replaceAll('\0', '\uFFFD')
}
