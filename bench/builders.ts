/**
 * `npm run bench -- builders`: the time from `npm create grantor-app` to a wallet that is signed in, for each template, from the packed packages
 * and with the registries of npm and Python.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { atExit } from './at-exit.ts'
import { CHECKOUT } from './built.ts'
import { tell } from './measure.ts'
import { type Browser, makeBrowser } from './servers/browser.ts'
import { markdownTable } from './tables.ts'

/** The first test account of `grantor start`. */
const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
/** The requirement of a new builder: everything within two minutes. */
const AT_MOST_SECONDS = 120

/** How a user begins at the app of a template, and what shows that the user is signed in. */
type Steps = {
  /** the URL of the authorization request */
  begin(browser: Browser, url: string): Promise<string>
  /** a text with the address of the wallet */
  end(browser: Browser, url: string, callback: string): Promise<string>
}

const onServer: Steps = {
  begin: async (browser, url) => (await browser.open(`${url}/login`)).location,
  async end(browser, url, callback) {
    await browser.open(callback)
    return (await browser.open(`${url}/me`)).body
  },
}

const next: Steps = {
  async begin(browser, url) {
    const { csrfToken } = JSON.parse((await browser.open(`${url}/api/auth/csrf`)).body) as { csrfToken: string }
    const { body } = await browser.open(`${url}/api/auth/signin/grantor`, { csrfToken, json: 'true' })
    return (JSON.parse(body) as { url: string }).url
  },
  async end(browser, url, callback) {
    await browser.open(callback)
    return (await browser.open(`${url}/api/auth/session`)).body
  },
}

/** As the script of the page does. */
function onPage(): Steps {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const settingsOf = async (url: string) =>
    (await (await fetch(`${url}/settings.json`)).json()) as { issuer: string; clientId: string; api: string }
  return {
    async begin(_, url) {
      const { issuer, clientId, api } = await settingsOf(url)
      const redirect = `${url}/callback.html`
      const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
      const scope = 'openid wallet notes.read'
      const parameters = { response_type: 'code', client_id: clientId, redirect_uri: redirect, scope, resource: api, ...pkce }
      return `${issuer}/oauth/authorize?${new URLSearchParams(parameters).toString()}`
    },
    async end(_, url, callback) {
      const { issuer, clientId } = await settingsOf(url)
      const code = new URL(callback).searchParams.get('code') ?? ''
      const redirect = `${url}/callback.html`
      const form = {
        grant_type: 'authorization_code',
        client_id: clientId,
        code,
        redirect_uri: redirect,
        code_verifier: verifier,
      }
      const tokens = await fetch(`${issuer}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
      const { access_token } = (await tokens.json()) as { access_token: string }
      return (await fetch(`${url}/api/notes`, { headers: { authorization: `Bearer ${access_token}` } })).text()
    },
  }
}

const TEMPLATES: Readonly<Record<string, () => Steps>> = {
  express: () => onServer,
  hono: onPage,
  next: () => next,
  fastapi: () => onServer,
}

export async function measureBuilders(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { templates: { type: 'string', default: Object.keys(TEMPLATES).join(',') } } })
  const names = values.templates.split(',')
  const unknown = names.filter((name) => !Object.hasOwn(TEMPLATES, name))
  if (unknown.length > 0) throw new Error(`there is no template ${unknown.join(', ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'grantor-builders-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  tell('packing (npm run build:packages)')
  run(CHECKOUT, process.execPath, ['scripts/pack.ts', '--output', join(folder, 'packages')])
  const rows: string[][] = []
  for (const name of names) {
    tell(`template ${name}`)
    rows.push([name, ...(await measure(name, folder)).map((seconds) => seconds.toFixed(1))])
  }
  const head = ['template', 'create and install, s', 'start, s', 'sign-in, s', `all, s (at most ${AT_MOST_SECONDS})`]
  console.log(`\n${markdownTable(head, rows)}`)
}

/** Seconds of each step, and of all. */
async function measure(name: string, folder: string): Promise<number[]> {
  const place = join(folder, name)
  mkdirSync(place)
  const times = [performance.now()]
  const version = (JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')) as { version: string }).version
  const packed = join(folder, 'packages', `create-grantor-app-${version}.tgz`)
  const options = ['my-app', '--template', name, '--packages', join(folder, 'packages')]
  run(place, 'npm', ['exec', '--yes', `--package=${packed}`, '--', 'create-grantor-app', ...options])
  times.push(performance.now())
  const app = join(place, 'my-app')
  const url = appUrl(app)
  const stop = await startDev(app, url)
  times.push(performance.now())
  try {
    await signIn(TEMPLATES[name]?.() ?? onServer, url)
  } finally {
    await stop()
  }
  times.push(performance.now())
  const steps = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000)
  return [...steps, steps.reduce((sum, seconds) => sum + seconds, 0)]
}

function appUrl(folder: string): string {
  const { clients } = JSON.parse(readFileSync(join(folder, 'grantor.json'), 'utf8')) as { clients: [{ redirect_uris: [string] }] }
  return new URL(clients[0].redirect_uris[0]).origin
}

/** `npm run dev`, until the app answers. */
async function startDev(folder: string, url: string): Promise<() => Promise<void>> {
  const child = spawn('npm', ['run', 'dev'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let [output, hasEnded] = ['', false]
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  void ended.then(() => (hasEnded = true))
  const stop = async (): Promise<void> => {
    if (!hasEnded && child.pid !== undefined) process.kill(-child.pid, 'SIGINT')
    await ended
  }
  atExit(() => {
    if (!hasEnded && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  })
  for (;;) {
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return stop
    if (hasEnded) {
      writeFileSync(2, output)
      throw new Error('npm run dev ended')
    }
    await pause(100)
  }
}

async function signIn({ begin, end }: Steps, url: string): Promise<void> {
  const browser = makeBrowser()
  const { location } = await browser.open(await begin(browser, url))
  const login = new URL(location)
  const body = new URLSearchParams({ login_challenge: login.searchParams.get('login_challenge') ?? '', address: ACCOUNT })
  const headers = { accept: 'application/json' }
  const signed = await fetch(`${login.origin}/login/development-wallet`, { method: 'POST', headers, body })
  const { redirect_to } = (await signed.json()) as { redirect_to: string }
  const [, back = ''] = /;url=([^"]+)"/.exec((await browser.open(redirect_to)).body) ?? []
  const shown = await end(browser, url, back.replaceAll('&amp;', '&'))
  if (!shown.includes(ACCOUNT)) throw new Error(`the app does not show the wallet: ${shown.slice(0, 200)}`)
}

function run(folder: string, program: string, argv: readonly string[]): void {
  const { status, stderr } = spawnSync(program, argv, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${argv.join(' ')} failed: ${stderr}`)
}
