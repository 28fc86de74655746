/** The blocks of code of the pages in docs/guides and docs/operating. */
import { readFileSync } from 'node:fs'

const docs = new URL('../../../../docs/', import.meta.url)

/** `mark` is what follows the language, as in ```js openid-client. */
export type Block = { language: string; mark: string; text: string }

/** The blocks of a page such as `guides/builders.md`, in the order of the page. A block of a list is shifted to the left. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(new URL(page, docs), 'utf8')
  return [...text.matchAll(/^( *)```(\w*) ?([^\n]*)\n([\s\S]*?)^ *```$/gm)].map(
    ([, shift = '', language = '', mark = '', block = '']) => ({
      language,
      mark,
      text: block.replaceAll(new RegExp(`^${shift}`, 'gm'), ''),
    }),
  )
}

/** The text of the only block of the page that contains `part`. */
export function blockWith(page: string, part: string): string {
  const [found, ...more] = blocksOf(page).filter(({ text }) => text.includes(part))
  if (!found || more.length > 0) throw new Error(`${found ? more.length + 1 : 0} blocks of docs/${page} contain ${part}`)
  return found.text
}
