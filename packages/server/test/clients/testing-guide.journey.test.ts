/** The blocks of docs/guides/testing.md: the files run as they are, in a project of their own, with the packages of this checkout. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { startTestGrantor } from '@grantor/testing'
import { expect } from 'vitest'
import { parse } from 'yaml'
import { createBuilderApp } from '../../demo/builder-app/index.ts'
import { newFolder } from '../app/run.ts'
import { findChromium } from '../support/chromium.ts'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { blocksOf } from '../support/page-blocks.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const PACKAGES = ['resource', 'testing']
const TEST_ISSUER = join(ROOT, 'packages/testing/bin/test-issuer.js')
/** The mark of a block is the name of its file; a block of commands has none. */
const BLOCKS = blocksOf('guides/testing.md')
const PLAYWRIGHT = '@playwright/test@1.65.1'

function textOf(file: string): string {
  return BLOCKS.find((block) => block.mark === file)?.text ?? expect.fail(`the page has no block ${file}`)
}

/** A folder with the packages that the page installs, and with `npx test-issuer`. */
async function makeProject(): Promise<{ folder: string; env: NodeJS.ProcessEnv }> {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-testing-guide-'))
  mkdirSync(join(folder, 'node_modules/@grantor'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  for (const name of PACKAGES) symlinkSync(join(ROOT, 'packages', name), join(folder, 'node_modules/@grantor', name))
  symlinkSync(join(ROOT, 'node_modules/vitest'), join(folder, 'node_modules/vitest'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'bin/npx'), `#!/bin/sh\nshift\n"${process.execPath}" "${TEST_ISSUER}" "$@"\nexit $?\n`)
  chmodSync(join(folder, 'bin/npx'), 0o755)
  const path = [join(folder, 'bin'), dirname(process.execPath), OWN_ENVIRONMENT.PATH].join(delimiter)
  // In a checkout, `@grantor/testing` is the source.
  return {
    folder,
    env: {
      ...OWN_ENVIRONMENT,
      PATH: path,
      HOME: folder,
      NODE_OPTIONS: '--conditions=grantor-source',
      NO_COLOR: '1',
      TMPDIR: tmpdir(),
    },
  }
}

const test = base.extend(
  'project',
  FILE,
  started(makeProject, ({ folder }) => rmSync(folder, { recursive: true, force: true })),
)

type Project = Awaited<ReturnType<typeof makeProject>>

async function run(
  { folder, env }: Project,
  program: string,
  argv: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const child: ChildProcess = spawn(program, argv, { cwd: folder, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

/** Runs the file with Vitest. `text` is that of the page, with other ports. */
async function runVitest(project: Project, file: string, text: string): Promise<string> {
  writeFileSync(join(project.folder, file), text)
  const config = `export default { resolve: { conditions: ['grantor-source'] }, ssr: { resolve: { conditions: ['grantor-source'], externalConditions: ['grantor-source'] } }, test: { include: ['${file}'], pool: 'threads', testTimeout: 120_000, hookTimeout: 120_000 } }`
  writeFileSync(join(project.folder, 'vitest.config.js'), config)
  const { code, output } = await run(project, process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run'])
  expect([code, output]).toEqual([0, expect.stringContaining('passed')])
  return output
}

test('The file for Vitest passes as it is', async ({ project }) => {
  expect(await runVitest(project, 'my-api.test.js', textOf('my-api.test.js'))).toMatch(/Tests +3 passed/)
})

/** The app of the page: the demo app, which has the credentials of the page's client. */
async function startApp() {
  const [app = 0, auth = 0] = await freePorts(2)
  const baseUrl = `http://localhost:${app}`
  const text = textOf('sign-in.spec.js')
    .replaceAll('localhost:3000', `localhost:${app}`)
    .replaceAll('port: 4000', `port: ${auth}`)
  // Ids and secrets are the same in every issuer.
  const issuer = await startTestGrantor({ clients: [{ name: 'My app', redirect_uris: [`${baseUrl}/callback`] }] })
  const { clientId, clientSecret } = issuer.client()
  await issuer.stop()
  const server = createBuilderApp({
    issuer: `http://localhost:${auth}`,
    clientId,
    clientSecret: clientSecret ?? '',
    baseUrl,
    apiUrl: baseUrl,
  })
  await server.listen({ host: '127.0.0.1', port: app })
  return { text, close: () => server.close() }
}

/** `@playwright/test` in the place of which Vitest runs the file, with a page of the same browser. */
const STAND_IN = `import { expect, test as vitest, beforeAll, afterAll } from 'vitest'
import { launchBrowser, newPage } from ${JSON.stringify(join(ROOT, 'packages/server/test/support/browser.ts'))}
const withPage = vitest.extend('page', async ({}, { onCleanup }) => {
  const browser = await launchBrowser()
  onCleanup(() => browser.close())
  return newPage(browser)
})
export { expect }
export const test = Object.assign(withPage, { beforeAll, afterAll })
`

test('The file for Playwright passes with the pages of Playwright in a real browser', async ({ project }) => {
  const { text, close } = await startApp()
  try {
    writeFileSync(join(project.folder, 'playwright-stand-in.js'), STAND_IN)
    const adapted = text.replace("'@playwright/test'", "'./playwright-stand-in.js'")
    expect(await runVitest(project, 'sign-in.spec.js', adapted)).toMatch(/Tests +2 passed/)
  } finally {
    await close()
  }
})

test.skipIf(process.env.TEST_CLIENTS !== '1')(
  'The file for Playwright passes with the runner of Playwright',
  async ({ project }) => {
    const folder = newFolder()
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
    const { status, stderr } = spawnSync('npm', ['install', '--prefix', folder, ...options, PLAYWRIGHT], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, expect.any(String)])
    for (const name of ['@playwright', 'playwright', 'playwright-core'])
      cpSync(join(folder, 'node_modules', name), join(project.folder, 'node_modules', name), { recursive: true })
    const { executablePath, environment } = await findChromium()
    const launchOptions = { executablePath, args: ['--no-sandbox'], env: { ...process.env, ...environment } }
    writeFileSync(
      join(project.folder, 'playwright.config.js'),
      `export default { use: { launchOptions: ${JSON.stringify(launchOptions)} } }`,
    )
    const { text, close } = await startApp()
    try {
      writeFileSync(join(project.folder, 'sign-in.spec.js'), text)
      const cli = join(project.folder, 'node_modules/@playwright/test/cli.js')
      const { code, output } = await run(project, process.execPath, [cli, 'test', 'sign-in.spec.js'])
      expect([code, output]).toEqual([0, expect.stringMatching(/2 passed/)])
    } finally {
      await close()
    }
  },
)

/** The processes of this project, by its folder in their environment. */
function issuersOf({ folder }: Project): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const isIssuer = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('test-issuer')
        return isIssuer && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(folder)
      } catch {
        // The process has ended.
        return false
      }
    })
}

const hasPytest = spawnSync('python3', ['-m', 'pytest', '--version']).status === 0

test.skipIf(!hasPytest)('The file for pytest passes as it is; the test is skipped if pytest is missing', async ({ project }) => {
  writeFileSync(join(project.folder, 'test_tokens.py'), textOf('test_tokens.py'))
  const { code, output } = await run(project, 'python3', ['-m', 'pytest', '-p', 'no:cacheprovider'])
  expect([code, output]).toEqual([0, expect.stringContaining('2 passed')])
  expect(issuersOf(project)).toEqual([])
})

test.skipIf(!hasPytest)(
  'If pytest is killed, its issuer ends too; the test is skipped if pytest is missing',
  async ({ project }) => {
    const waiting = `${textOf('test_tokens.py')}\n\ndef test_waits(grantor):\n    import time\n    time.sleep(600)\n`
    writeFileSync(join(project.folder, 'test_tokens.py'), waiting)
    const argv = ['-m', 'pytest', '-p', 'no:cacheprovider', '-k', 'test_waits']
    const pytest = spawn('python3', argv, { cwd: project.folder, env: project.env, stdio: 'ignore' })
    await expect.poll(() => issuersOf(project).length, { timeout: 60_000 }).toBeGreaterThan(0)
    pytest.kill('SIGKILL')
    await expect.poll(() => issuersOf(project), { timeout: 20_000 }).toEqual([])
  },
)

type Step = { run?: string; uses?: string }

test('The file for CI is valid YAML, and runs each file of the page with the commands of this test', () => {
  const { jobs } = parse(textOf('.github/workflows/test.yml')) as { jobs: { test: { steps: Step[] } } }
  const commands = jobs.test.steps.flatMap(({ run: command }) => command ?? [])
  expect(commands).toEqual([
    'npm ci',
    'pip install pytest',
    'npx playwright install --with-deps chromium',
    'npx vitest run',
    'npx playwright test',
    'python3 -m pytest',
  ])
})

test('The command of the page starts an issuer at the port of the page, and the command for the image has options of the command', async ({
  project: { folder, env },
}) => {
  const commands = BLOCKS.filter(({ language }) => language === 'sh').map(({ text }) => text.trim())
  expect(commands).toHaveLength(3)
  const [, start = '', image = ''] = commands
  const [port = 0] = await freePorts(1)
  const child = spawn('sh', ['-c', start.replace('4000', String(port))], { cwd: folder, env, detached: true })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await expect.poll(() => output).toContain(`http://localhost:${port}\n`)
  const ended = once(child, 'close')
  // Ctrl-C of a terminal is a signal to all processes of the command.
  process.kill(-(child.pid ?? 0), 'SIGINT')
  await ended
  const [, argv = ''] = /grantor:[\d.]+ .*(test-issuer\.js .*)$/.exec(image) ?? []
  const { testIssuer } = await import('../../../testing/src/test-issuer.ts')
  const names = [...argv.matchAll(/--(\w+)/g)].map(([, name = '']) => name)
  expect(names).toEqual(['port', 'host'])
  expect(Object.keys(testIssuer.options)).toEqual(expect.arrayContaining(names))
})
