/**
 * The packed `@grantor/resource` on Node 20, Bun, Deno and Workers, each from npm, with the cases of .ci/token-cases.mjs. The runtimes have 400 MB, so
 * the test runs with TEST_CLIENTS=1 only. `.ci/try-package` runs the same cases on the pinned Node and on that of the machine.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { startTestGrantor } from '@grantor/testing'
import { rolldown } from 'rolldown'
import { expect } from 'vitest'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { freePorts } from '../support/free-ports.ts'
import { OWN_ENVIRONMENT } from '../support/own-environment.ts'
import { blockWith } from '../support/page-blocks.ts'
import { writeRecipe } from './recipe.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const RUNTIMES = ['node@20.20.2', 'bun@1.4.5', 'deno@2.9.6', 'workerd@1.20261117.1']
const AUDIENCE = 'http://localhost:4100/notes'
const MINUTES = 60_000

const run = promisify(execFile)

/** A project with the packed package and the runtimes, and a running issuer. */
async function makeProject() {
  const folder = mkdtempSync(join(tmpdir(), 'grantor-runtimes-'))
  const env = { ...OWN_ENVIRONMENT, HOME: process.env.HOME }
  const names = ['--workspace', '@grantor/protocol', '--workspace', '@grantor/resource']
  await run('npm', ['pack', '--silent', ...names, '--pack-destination', folder], { env, cwd: ROOT })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const packed = globSync('grantor-*.tgz', { cwd: folder }).map((name) => join(folder, name))
  const options = ['--no-audit', '--no-fund', '--loglevel', 'error', '--prefer-offline']
  await run('npm', ['install', ...options, ...RUNTIMES, ...packed], { cwd: folder })
  for (const name of ['token-cases.mjs', 'check-tokens.mjs']) copyFileSync(join(ROOT, '.ci', name), join(folder, name))
  const issuer = await startTestGrantor({
    clients: [
      {
        name: 'API',
        grant_types: ['client_credentials'],
        scopes: ['cases.read'],
        default_scopes: ['cases.read'],
        resources: [AUDIENCE],
        resource_server: AUDIENCE,
      },
    ],
  })
  const { clientId, clientSecret } = issuer.client()
  const credentials = { client_id: clientId, client_secret: clientSecret }
  return { folder, env, issuer, credentials }
}

const test = base.extend(
  'project',
  FILE,
  started(makeProject, async ({ folder, issuer }) => {
    await issuer.stop()
    rmSync(folder, { recursive: true, force: true })
  }),
)

const runtimeTest = test.runIf(process.env.TEST_CLIENTS)

runtimeTest.for<[string, string[]]>([
  ['Node 20', ['node_modules/node/bin/node']],
  ['Bun', ['node_modules/.bin/bun']],
  ['Deno', ['node_modules/.bin/deno', 'run', '--allow-net', '--allow-env']],
])(
  'The packed @grantor/resource passes its cases on %s',
  { timeout: 5 * MINUTES },
  async ([, [program = '', ...options]], { project }) => {
    const { folder, env, issuer, credentials } = project
    const argv = [...options, 'check-tokens.mjs', issuer.issuer, AUDIENCE, JSON.stringify(credentials)]
    const { stdout } = await run(join(folder, program), argv, { cwd: folder, env })
    expect(stdout.trim().split('\n')).toHaveLength(10)
  },
)

const WORKER = `import { checkTokens } from './token-cases.mjs'
export default {
  async fetch(request) {
    const { issuer, audience, credentials } = await request.json()
    try {
      return Response.json(await checkTokens(issuer, audience, credentials))
    } catch (error) {
      return new Response(error.stack, { status: 500 })
    }
  },
}
`

/** A Worker without flags, which may call the issuer on this machine. */
const configuration = (port: number) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "bundle.js")],
  compatibilityDate = "2026-11-01",
);
`

runtimeTest(
  'The packed @grantor/resource passes its cases in a Worker',
  { timeout: 5 * MINUTES },
  async ({ project, onTestFinished }) => {
    const { folder, env, issuer, credentials } = project
    const worker = join(folder, 'worker')
    mkdirSync(worker)
    writeFileSync(join(folder, 'worker.mjs'), WORKER)
    const bundle = await rolldown({ input: join(folder, 'worker.mjs'), platform: 'browser', external: /^node:/, cwd: folder })
    await bundle.write({ file: join(worker, 'bundle.js'), format: 'esm' })
    const [port = 0] = await freePorts(1)
    writeFileSync(join(worker, 'config.capnp'), configuration(port))
    const child = spawn(join(folder, 'node_modules/.bin/workerd'), ['serve', join(worker, 'config.capnp')], { cwd: worker, env })
    onTestFinished(async () => {
      const ended = once(child, 'close')
      child.kill()
      await ended
    })
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const ask = async (): Promise<Response> => {
      try {
        return await fetch(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          body: JSON.stringify({ issuer: issuer.issuer, audience: AUDIENCE, credentials }),
        })
      } catch (error) {
        if (child.exitCode !== null) throw new Error(output, { cause: error })
        await pause(100)
        return ask()
      }
    }
    const answer = await ask()
    const text = await answer.text()
    expect([answer.status, text]).toEqual([200, expect.any(String)])
    expect(JSON.parse(text)).toHaveLength(10)
  },
)

test('The code of docs/guides/protect-an-api.md accepts the token of a wallet', async () => {
  const audience = 'https://api.example.com/notes'
  await using issuer = await startTestGrantor({
    clients: [
      { name: 'App', redirect_uris: ['https://app.example/cb'], resources: [audience], scopes: ['notes.read'] },
      { name: 'API', grant_types: [], resource_server: audience },
    ],
  })
  const { access_token: token } = await issuer.tokenFor({ client: 'App', scope: 'notes.read' })
  const api = issuer.client('API')
  const source = pathToFileURL(join(ROOT, 'packages/resource/src/index.ts')).href
  const code = blockWith('guides/protect-an-api.md', 'console.log(token.wallet)')
    .replace("'@grantor/resource'", `'${source}'`)
    .replace('https://auth.example.com', issuer.issuer)
    .replace('process.env.CLIENT_ID', `'${api.clientId}'`)
    .replace('process.env.CLIENT_SECRET', `'${api.clientSecret}'`)
    .replace('const token =', 'export const token =')
  const request = `const request = new Request('${audience}', { headers: { authorization: 'Bearer ${token}' } })\n`
  const path = writeRecipe('resource-package.mjs', request + code)
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  expect(await import(pathToFileURL(path).href)).toMatchObject({
    token: { wallet: issuer.wallets[0]?.address, scopes: ['notes.read'] },
  })
})
