/**
 * Finds the browser of the tests: the one that TEST_CHROMIUM names, else the system's, else the one from npm.
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

const ROOT = join(import.meta.dirname, '../../../..')
const CACHE = join(ROOT, 'node_modules/.cache/grantor')
const SYSTEM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Returns the path of Chromium and its environment. Unpacks the one from npm at the first call. */
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

/** Unpacks into a separate folder, and renames the folder at the end, so that interrupted or simultaneous runs leave no partial browser. */
async function unpack(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const unfinished = await mkdtemp(`${folder}.`)
  // The package unpacks into the temporary directory, and its libraries only if the environment looks like AWS Lambda. A child
  // process gets such an environment, so this process keeps its own.
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
    if (!existsSync(folder)) throw error // Otherwise another run was faster.
  }
}

/** Open Sans from the package, and the fonts of the system (for a monospaced font). */
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
