/**
 * Builds docs/verify-receipt.html: one file that checks receipts in a browser, opened from disk, with no network.
 *
 * The page contains its script and its style, and its policy contains their hashes, so the browser runs no other script.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const root = join(import.meta.dirname, '..')
const parts = join(root, 'scripts/receipt-page')

/** The page is committed, so that users can download it from the repository. */
export const receiptPage = join(root, 'docs/verify-receipt.html')

/** The same sources always give the same bytes. */
export async function buildReceiptPage(): Promise<string> {
  const script = await bundle(join(parts, 'page.js'))
  const style = readFileSync(join(parts, 'page.css'), 'utf8')
  const icon = readFileSync(join(root, 'packages/server/src/pages/browser/icon.svg'), 'utf8').trim()
  const pieces: Record<string, string> = {
    script: `<script>${script}</script>`,
    style: `<style>${style}</style>`,
    'script-hash': hash(script),
    'style-hash': hash(style),
    licences: licences(['@noble/curves', '@noble/hashes']),
    icon: `data:image/svg+xml,${encodeURIComponent(icon)}`,
  }
  return readFileSync(join(parts, 'page.html'), 'utf8').replace(
    /<!-- \{\{([a-z-]+)\}\} -->|\{\{([a-z-]+)\}\}/g,
    (_, element: string, value: string) => {
      const name = element ?? value
      const piece = pieces[name]
      if (piece === undefined) throw new Error(`page.html asks for {{${name}}}, which there is not`)
      return piece
    },
  )
}

/** One classic script: a browser loads no modules from disk. */
async function bundle(input: string): Promise<string> {
  const build = await rolldown({ input, platform: 'browser' })
  const { output } = await build.generate({ format: 'iife', minify: true })
  await build.close()
  const [{ code }] = output
  if (/<\/script|<!--/i.test(code)) throw new Error('the script would end its own element')
  return code
}

/** The libraries in the script. Their licences require their notices in every copy. */
function licences(packages: string[]): string {
  const notices = packages.map((name) => `${name}\n\n${readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8').trim()}`)
  const text = `The script below contains these packages.\n\n${notices.join('\n\n')}\n`
  if (text.includes('--')) throw new Error('a licence would end its own comment')
  return `<!--\n${text}-->`
}

function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

if (import.meta.main) writeFileSync(receiptPage, await buildReceiptPage())
