/** A style or script element as the pages contain them, with its name and its text. */
export const STYLE_OR_SCRIPT = /<(style|script)(?: type="module")?>([^]*?)<\/\1>/g

/** The markup of a page without its styles and scripts. */
export function contentOf(page: string): string {
  return page.replaceAll(STYLE_OR_SCRIPT, '')
}
