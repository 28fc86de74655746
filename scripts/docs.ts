/**
 * The site of the documents (docs/site), and its generated pages.
 *
 *     npm run docs                 serves the site, and rewrites a page when its file changes
 *     npm run docs:build           writes the site to docs/site/dist; `-- --base /grantor/` for a folder of a host
 *     npm run docs:page -- NAME    prints a generated page, such as `settings`
 */
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, watch } from 'node:fs'
import { join } from 'node:path'
import { generatePage } from './docs/generated-pages.ts'
import { writeSitePage, writeSitePages } from './docs/site-pages.ts'

const ROOT = join(import.meta.dirname, '..')
const SITE = join(ROOT, 'docs/site')
const [command = '', ...rest] = process.argv.slice(2)

if (command === 'page') process.stdout.write(await generatePage(rest[0] ?? ''))
else {
  if (!existsSync(join(SITE, 'node_modules'))) run('npm', ['ci'])
  await writeSitePages()
  cpSync(join(SITE, 'node_modules/mermaid/dist/mermaid.min.js'), join(SITE, '.pages/public/mermaid.js'))
  cpSync(join(ROOT, 'packages/server/src/pages/browser/icon.svg'), join(SITE, '.pages/public/icon.svg'))
  run('node_modules/.bin/typedoc', [])
  if (command === 'serve') {
    watch(join(ROOT, 'docs'), { recursive: true }, (_, file) => void rewrite(`docs/${file}`))
    spawn('node_modules/.bin/vitepress', ['dev', ...rest], { cwd: SITE, stdio: 'inherit' }).on('exit', (code) =>
      process.exit(code ?? 1),
    )
  } else run('node_modules/.bin/vitepress', ['build', ...rest])
}

async function rewrite(file: string): Promise<void> {
  if (file.endsWith('.md') && existsSync(join(ROOT, file))) await writeSitePage(file)
}

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, args, { cwd: SITE, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
