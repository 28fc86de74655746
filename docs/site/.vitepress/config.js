/** The site of the documents. scripts/docs.ts writes its pages to .pages before each build. */
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseArgs } from 'node:util'
import { defineConfig } from 'vitepress'

const PAGES = join(import.meta.dirname, '../.pages')
const { base = '/' } = parseArgs({ options: { base: { type: 'string' } }, strict: false }).values

/** Each reader's pages, in the order in which the reader needs them. */
const READERS = {
  People: 'guides/users guides/wallets guides/languages',
  Builders: `start guides/create-app guides/builders guides/apps-in-detail guides/connect-package guides/clients guides/strict-clients
    guides/devices guides/testing guides/coming-from-elsewhere guides/own-login-server`,
  'API owners': 'guides/protect-an-api guides/approvals guides/checking-tokens guides/resource-languages',
  Operators: `operating/production operating/install operating/init-and-doctor operating/operations operating/postgresql operating/keys
    operating/clients-and-grants operating/upgrade operating/recover operating/incident operating/watch operating/console operating/admin-api
    operating/apply operating/hook operating/audit operating/branding operating/walletconnect operating/capacity operating/scaling
    operating/citus`,
  'Look up': `reference/protocol reference/settings reference/errors reference/events reference/admin-openapi reference/api/index
    reference/feed reference/statements reference/not-included changelog`,
  Contributors: 'contributing/index reference/reading-order reference/architecture contributing/release security',
  Evidence: 'evidence/conformance evidence/wallet-rules evidence/reliability evidence/model evidence/performance decisions/index',
}

function titleOf(page) {
  const [, title = page] = /^# (.+)$/m.exec(readFileSync(join(PAGES, `${page}.md`), 'utf8')) ?? []
  return title.replaceAll('`', '')
}

const sidebar = Object.entries(READERS).map(([text, pages]) => ({
  text,
  collapsed: true,
  items: pages.split(/\s+/).map((page) => ({ text: titleOf(page), link: `/${page.replace(/index$/, '')}` })),
}))

/** The ids that code hosts give to headings, so that a link works there and here. */
const slugify = (title) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/** Shows a link to a file of the source as text, unless DOCS_SOURCE names a code host, and the title of a page in place of its file name. */
function adaptLinks({ tokens, env }) {
  for (const { children } of tokens)
    for (const [index, token] of (children ?? []).entries()) {
      if (token.type !== 'link_open') continue
      const href = token.attrGet('href')
      const words = children[index + 1]
      if (href.startsWith('source:')) {
        Object.assign(token, { tag: 'span', attrs: [['title', href.slice('source:/'.length)]] })
        children.slice(index).find(({ type }) => type === 'link_close').tag = 'span'
      } else if (/^[\w./-]+\.md$/.test(words.content)) {
        words.content = titleOf(posix.join(posix.dirname(env.relativePath), href.replace(/\.md(#.*)?$/, '')))
      }
    }
}

export default defineConfig({
  title: 'Grantor',
  description: 'An OAuth 2.0 and OpenID Connect authorization server whose login is a wallet',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  themeConfig: {
    logo: '/icon.svg',
    sidebar,
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // invalid_grant is one word
        miniSearch: { options: { tokenize: (text) => text.toLowerCase().split(/[^\p{L}\p{N}_]+/u) } },
      },
    },
  },
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      md.core.ruler.push('links', adaptLinks)
      const fence = md.renderer.rules.fence
      md.renderer.rules.fence = (tokens, index, ...rest) =>
        tokens[index].info.trim() === 'mermaid'
          ? `<Mermaid code="${encodeURIComponent(tokens[index].content)}" />`
          : fence(tokens, index, ...rest)
    },
  },
  // The pages of reference tables are long.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
})
