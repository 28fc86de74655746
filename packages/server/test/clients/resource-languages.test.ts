/**
 * The APIs of docs/guides/resource-languages.md, with real tokens. TEST_PYTHON names a Python that has `fastapi uvicorn httpx "pyjwt[crypto]"`. Go
 * downloads the two modules that the page names.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { blocksOf } from '../support/page-blocks.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { CODE_VERIFIER, PKCE, Walk } from '../support/walk.ts'
import { register } from './recipe.ts'

const PYTHON = process.env.TEST_PYTHON ?? '/usr/bin/python3'
const PAGE = blocksOf('guides/resource-languages.md')
const REDIRECT_URI = 'http://127.0.0.1:7777/callback'
const OTHER = 'https://api.example.com/other'
const MINUTES = 60_000

const textOf = (language: string, mark: string): string =>
  PAGE.find((block) => block.language === language && block.mark === mark)?.text ?? expect.fail(`no block ${language} ${mark}`)

type Api = { url: string; agent: { id: string; secret: string } }
type Start = (folder: string, port: number, env: NodeJS.ProcessEnv) => ChildProcess

/** Registers the API and an app as described on the page, and runs the API until the end of the test. */
async function startApi(grantor: Grantor, start: Start): Promise<Api> {
  const [port = 0] = await freePorts(1)
  const url = `http://127.0.0.1:${port}/notes`
  const places = { 'https://api.example.com/notes': url }
  const api = await register(grantor, 'api', places, 'protect-an-api')
  const alsoOther = { [`--resource ${url}`]: `--resource ${url} --resource ${OTHER}` }
  const agent = await register(grantor, 'agent', { ...places, ...alsoOther }, 'protect-an-api')
  const settings = { ISSUER: grantor.authUrl, RESOURCE: url, CLIENT_ID: api.client_id, CLIENT_SECRET: api.client_secret }
  const child = start(mkdtempSync(join(tmpdir(), 'grantor-api-')), port, { ...process.env, ...settings })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close')
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(output)
    await pause(100)
  }
  return { url, agent: { id: agent.client_id, secret: '' } }
}

async function tokenFor(grantor: Grantor, { agent }: Api, resource: string, scope: string): Promise<string> {
  const walk = new Walk(grantor)
  const request = { response_type: 'code', client_id: agent.id, redirect_uri: REDIRECT_URI, scope, resource, ...PKCE }
  const { code } = await walk.signIn(request)
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER }
  return String((await walk.token(agent, exchange)).json().access_token)
}

async function call(
  { url }: Api,
  method: string,
  token?: string,
): Promise<[status: number, body: unknown, challenge: string | null]> {
  const answer = await fetch(url, { method, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
  const text = await answer.text()
  return [answer.status, answer.ok ? JSON.parse(text) : null, answer.headers.get('www-authenticate')]
}

/** What the page promises of its two routes. Closes the service. */
async function expectProtected(grantor: Grantor, api: Api): Promise<void> {
  const wallet = new Walk(grantor).wallet.address
  expect(await call(api, 'GET')).toEqual([401, null, 'Bearer scope="notes.read"'])
  const reading = await tokenFor(grantor, api, api.url, 'notes.read')
  expect(await call(api, 'GET', reading)).toEqual([200, { of: wallet }, null])
  const more = 'Bearer error="insufficient_scope", scope="notes.read notes.write"'
  expect(await call(api, 'POST', reading)).toEqual([403, null, more])
  const writing = await tokenFor(grantor, api, api.url, 'notes.read notes.write')
  expect(await call(api, 'POST', writing)).toEqual([200, { by: wallet }, null])

  const invalid = [401, null, 'Bearer error="invalid_token"']
  const [head = '', claims = '', signature = ''] = reading.split('.')
  const unsigned = Buffer.from('{"typ":"at+jwt","alg":"none"}').toString('base64url')
  for (const bad of ['x', `${unsigned}.${claims}.`, `${head}.${claims}.${signature.slice(0, -4)}AAAA`])
    expect(await call(api, 'GET', bad)).toEqual(invalid)
  expect(await call(api, 'GET', await tokenFor(grantor, api, OTHER, 'notes.read'))).toEqual(invalid)

  expect((await new Walk(grantor).revoke(api.agent, writing)).status).toBe(200)
  expect(await call(api, 'POST', writing)).toEqual(invalid)
  expect((await call(api, 'GET', writing))[0]).toBe(200)
  const last = await tokenFor(grantor, api, api.url, 'notes.read notes.write')
  await grantor.close()
  expect((await call(api, 'POST', last))[0]).toBe(503)
}

const ASKED = Boolean(process.env.TEST_CLIENTS)

test.runIf(ASKED)(
  'The API of the page in FastAPI accepts and refuses tokens as described on the page',
  { timeout: 2 * MINUTES },
  async ({ skip }) => {
    if (spawnSync(PYTHON, ['-c', 'import fastapi, uvicorn, httpx, jwt']).status !== 0)
      return skip(`${PYTHON} lacks a package: install fastapi uvicorn httpx "pyjwt[crypto]", and set TEST_PYTHON`)
    const grantor = await startGrantor()
    const api = await startApi(grantor, (folder, port, env) => {
      writeFileSync(join(folder, 'main.py'), textOf('python', 'fastapi'))
      const [, ...argv] = textOf('sh', 'fastapi').trim().replace('8000', String(port)).split(' ')
      return spawn(PYTHON, ['-m', 'uvicorn', ...argv], { cwd: folder, env })
    })
    await expectProtected(grantor, api)
  },
)

test.runIf(ASKED)(
  'The API of the page in Go accepts and refuses tokens as described on the page',
  { timeout: 5 * MINUTES },
  async ({ skip }) => {
    if (spawnSync('go', ['version']).status !== 0) return skip('go is not on the PATH')
    const grantor = await startGrantor()
    const api = await startApi(grantor, (folder, port, env) => {
      const source = textOf('go', 'go')
      const [, modules = ''] = /^\/\/ main\.go: go get (.*)$/m.exec(source) ?? []
      writeFileSync(join(folder, 'main.go'), source.replace('127.0.0.1:8000', `127.0.0.1:${port}`))
      const steps: [string, string[]][] = [
        ['go', ['mod', 'init', 'example.com/api']],
        ['go', ['get', ...modules.split(' ')]],
        ['go', ['build', '-o', 'api', '.']],
      ]
      for (const [program, argv] of steps) {
        const { status, stderr } = spawnSync(program, argv, { cwd: folder, env, encoding: 'utf8' })
        if (status !== 0) throw new Error(stderr)
      }
      expect(spawnSync('gofmt', ['-l', '.'], { cwd: folder, encoding: 'utf8' }).stdout).toBe('')
      return spawn(join(folder, 'api'), { cwd: folder, env })
    })
    await expectProtected(grantor, api)
  },
)
