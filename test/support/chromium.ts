/**
 * The browser that tests drive: the one TEST_CHROMIUM names, else the system's, else the one from npm.
 *
 * The one from npm (`@sparticuz/chromium`) is an archive for Linux on x64 that brings its own libraries and fonts,
 * so that a bare machine needs nothing installed. It is unpacked once, below node_modules.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export type Chromium = { executablePath: string; environment: Record<string, string> }

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache/grantor')
const SYSTEM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Where Chromium is and what it needs in its environment; unpacks it if this is the first time. */
export async function findChromium(): Promise<Chromium> {
  const named = process.env.TEST_CHROMIUM
  if (named && !existsSync(named)) throw new Error(`TEST_CHROMIUM names ${named}, which does not exist`)
  const installed = named ?? SYSTEM_PATHS.find((path) => existsSync(path))
  if (installed) return { executablePath: installed, environment: {} }
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('The browser tests need Chromium or Google Chrome: install one, or set TEST_CHROMIUM to its path')
  }

  const folder = join(CACHE, `chromium-${packageVersion()}`)
  if (!existsSync(folder)) await unpack(folder)
  return {
    executablePath: join(folder, 'chromium'),
    environment: {
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
      HOME: join(folder, 'home'),
    },
  }
}

/** Unpacks into a folder of its own and renames it when it is whole: an interrupted run, or two at once, leave no half browser. */
async function unpack(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const unfinished = await mkdtemp(`${folder}.`)
  // The package unpacks into the temporary directory, and its libraries only where it believes to be on AWS Lambda. A child
  // process believes it for us; this process keeps its environment.
  await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', `await (await import('@sparticuz/chromium')).default.executablePath()`],
    { cwd: ROOT, env: { ...process.env, TMPDIR: unfinished, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' } },
  )
  await mkdir(join(unfinished, 'home'))
  await writeFile(join(unfinished, 'fonts.conf'), fontConfig(folder))
  try {
    await rename(unfinished, folder)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    if (!existsSync(folder)) throw error // else another run was faster
  }
}

/** Open Sans from the package, and what the system has beside it (for a monospaced face). */
function fontConfig(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${folder}/font-cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`
}

function packageVersion(): string {
  const manifest = readFileSync(join(ROOT, 'node_modules/@sparticuz/chromium/package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
