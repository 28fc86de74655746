/**
 * The styles, the scripts and the icon of the pages. Each page contains what it needs, so that a browser makes one request: on a slow
 * phone network each further request delays the page by half a second (packages/server/test/flows/page-speed.journey.test.ts). A page and its script are also
 * never of two versions. The Content-Security-Policy names the hashes, so the browser runs no other script and applies no other style.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Html, html } from './html.ts'

export const styles = {
  page: readBrowserFile('grantor.css'),
  account: readBrowserFile('account.css'),
  noScript: readBrowserFile('no-script.css'),
  console: readBrowserFile('grantor.css') + readBrowserFile('console.css') + schemeClasses(readBrowserFile('grantor.css')),
}

export const scripts = {
  login: bundle('login.js'),
  hasWallet: bundle('has-wallet.js'),
  walletWindow: bundle('wallet-window.js'),
  formPost: bundle('form-post.js'),
  console: bundle('console.js'),
}

/** Only on a login page that offers WalletConnect, so that the policy of no other page names them. */
export const walletConnect = { script: bundle('walletconnect.js'), style: readBrowserFile('walletconnect.css') }

export const ICON = `data:image/svg+xml,${encodeURIComponent(readBrowserFile('icon.svg'))}`

export function styleElement(name: keyof typeof styles): Html {
  return html`<style>${Html.trusted(styles[name])}</style>`
}

/** Two are classic scripts: `form-post.js` also runs in browsers without modules, and `has-wallet.js` before the first paint. */
export function scriptElement(name: keyof typeof scripts): Html {
  const text = Html.trusted(scripts[name])
  return name === 'formPost' || name === 'hasWallet'
    ? html`<script>${text}</script>`
    : html`<script type="module">${text}</script>`
}

/** The sources of these elements in a Content-Security-Policy (CSP Level 3 §2.3.1). */
export function hashSources(texts: Record<string, string>): string {
  return Object.values(texts)
    .map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`)
    .join(' ')
}

/**
 * A module and those that it imports, as one module: each file after its imports. Each import is one line, `import { name } from
 * './file.js'`, and no two files declare the same name.
 */
function bundle(entry: string, included = new Set<string>()): string {
  if (included.has(entry)) return ''
  included.add(entry)
  const lines = readBrowserFile(entry).split('\n')
  const isImport = (line: string): boolean => line.startsWith('import ')
  const imported = lines.filter(isImport).map((line) => bundle(line.slice(line.indexOf('./') + 2, -1), included))
  const own = lines.filter((line) => !isImport(line)).map((line) => (line.startsWith('export ') ? line.slice(7) : line))
  return [...imported, ...own].filter((part) => part !== '').join('\n')
}

/**
 * Without comments, indentation, empty lines and the usual spaces, and of a style without most ends of lines: a fifth of the login page. No style and no
 * script has a text of several lines.
 */
function readBrowserFile(name: string): string {
  const text = readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8')
  if (name.endsWith('.svg')) return text
  const short = withoutSpaces(withoutComments(text))
  return name.endsWith('.css') ? short.replaceAll(/([{};,])\n/g, '$1') : short
}

/** The colours of the light and the dark scheme as two classes, so that one page can show both. */
function schemeClasses(style: string): string {
  const [, light = '', dark = ''] = style.split(':root{').map((part) => part.slice(0, part.indexOf('}')))
  return `.scheme-light{${light}color-scheme:light}\n.scheme-dark{${light}${dark}color-scheme:dark}\n`
}

/** The spaces before a line, after the name of a property, and before a bracket at the end. */
function withoutSpaces(text: string): string {
  return text
    .split('\n')
    .map((line) =>
      line
        .trimStart()
        .replace(/^([\w-]+): /, '$1:')
        .replace(/ \{$/, '{'),
    )
    .filter((line) => line !== '')
    .join('\n')
}

function withoutComments(text: string): string {
  let isInComment = false
  const isComment = (line: string): boolean => {
    const start = line.trimStart()
    const isPart = isInComment || start.startsWith('/*')
    isInComment = isPart && !line.endsWith('*/')
    return isPart || start.startsWith('//')
  }
  return text
    .split('\n')
    .filter((line) => !isComment(line))
    .join('\n')
}
