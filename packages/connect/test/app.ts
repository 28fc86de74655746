/** A page of a builder that signs users in with `@grantor/connect` and React, on a port of its own. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { recipeOf } from '../../server/test/clients/recipe.ts'
import { freePorts } from '../../server/test/support/free-ports.ts'
import type { Project } from './package.ts'

/** The page of the app shows the button, and the outcome of each function in `#result`. */
const SCRIPT = `
import { handleCallback, signInSilently, signInWithPopup, signInWithRedirect } from '@grantor/connect'
import { SignInButton, useSignIn } from '@grantor/connect/react'
import { createElement as h, Fragment } from 'react'
import { createRoot } from 'react-dom/client'

const connection = { issuer: settings.issuer, clientId: settings.clientId }

function App() {
  const signIn = useSignIn(connection, { silent: location.search === '?silent' })
  return h(Fragment, null,
    h(SignInButton, { signIn }),
    h('p', { id: 'status' }, signIn.status, ' ', signIn.user?.wallet ?? '', signIn.error?.reason ?? '', ' ', signIn.error?.error ?? ''))
}

/** The button in each state, under each other. */
function States() {
  const user = { wallet: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' }
  const states = ['signed_out', 'checking', 'waiting', 'failed', 'signed_in']
  return states.map((status) => h('p', { key: status }, h(SignInButton, { signIn: { status, user: status === 'signed_in' ? user : null } })))
}

const show = (outcome) => { document.querySelector('#result').textContent = JSON.stringify(outcome) }
globalThis.connect = { connection, handleCallback, signInSilently, signInWithPopup, signInWithRedirect }

if (location.pathname === '/callback') handleCallback().then((outcome) => show(outcome), (error) => show({ error: error.reason }))
else createRoot(document.querySelector('#root')).render(h(location.search === '?states' ? States : App))
`
const HTML = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>My app</title><body style="font-family: system-ui; margin: 2rem; background: light-dark(#fff, #121412)"><div id="root"></div><p id="result"></p>
<script type="module" src="/app.js"></script></body></html>`

/**
 * The same from the blocks of docs/guides/connect-package.md: the component at `/`, the page without React at `/plain`, and the page of the
 * redirect URI.
 */
export const GUIDE = {
  'account.jsx': block('jsx react'),
  'callback.js': block('js callback'),
  'plain.js': block('js pages'),
  'app.js': `
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'
if (location.pathname === '/callback') await import('./callback.js')
else if (location.pathname === '/plain') {
  document.querySelector('#root').innerHTML = '<button id="sign-in">Sign in</button><p id="wallet"></p>'
  await import('./plain.js')
} else {
  const { Account } = await import('./account.jsx')
  createRoot(document.querySelector('#root')).render(h(Account))
}
`,
}

/** The components of the page for Vue and Svelte, at `/vue` and `/svelte`. Their compilers are in the project. */
export function frameworkFiles({ folder }: Project): Record<string, string> {
  const load = createRequire(join(folder, 'package.json'))
  const vue = load('vue/compiler-sfc') as VueCompiler
  const { compile } = load('svelte/compiler') as { compile: (text: string, options: object) => { js: { code: string } } }
  const component = vue.compileScript(vue.parse(block('vue framework')).descriptor, { id: 'account', inlineTemplate: true })
  return {
    'sign-in.js': block('js framework'),
    'account-vue.js': component.content,
    'account-svelte.js': compile(block('svelte framework'), { generate: 'client' }).js.code,
    'callback.js': block('js callback'),
    'app.js': `
const target = document.querySelector('#root')
if (location.pathname === '/callback') await import('./callback.js')
else if (location.pathname === '/vue') {
  const [{ createApp }, { default: Account }] = [await import('vue'), await import('./account-vue.js')]
  createApp(Account).mount(target)
} else {
  const [{ mount }, { default: Account }] = [await import('svelte'), await import('./account-svelte.js')]
  mount(Account, { target })
}
`,
  }
}

/** The part of `vue/compiler-sfc` that is used here. */
type VueCompiler = {
  parse(text: string): { descriptor: object }
  compileScript(descriptor: object, options: object): { content: string }
}

function block(mark: string): string {
  const [language = '', name = ''] = mark.split(' ')
  // The page of this test gets the issuer and the client when it runs.
  return recipeOf(language, name, 'connect-package')
    .replace("'http://localhost:4000'", 'globalThis.settings.issuer')
    .replace("'CLIENT_ID'", 'globalThis.settings.clientId')
}

export type App = { url: string; close(): void }

/** The script of the app, with the packages of the project in it. */
export async function bundle({ folder }: Project, files: Record<string, string> = { 'app.js': SCRIPT }): Promise<string> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const build = await rolldown({
    input: join(folder, 'app.js'),
    platform: 'browser',
    logLevel: 'silent',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false })
  await build.close()
  return `globalThis.settings = await (await fetch('/settings.json')).json()\n${output[0].code}`
}

/** `settings` are read by the page: the issuer and the id of the client. */
export async function startApp(script: string, register: (url: string) => Promise<object>): Promise<App> {
  const [port] = await freePorts(1)
  const url = `http://localhost:${port}`
  const settings = await register(url)
  const server = createServer(({ url: path = '' }, reply) => {
    const [type, body] = path.startsWith('/app.js')
      ? ['text/javascript', script]
      : path.startsWith('/settings.json')
        ? ['application/json', JSON.stringify(settings)]
        : ['text/html', HTML]
    reply.setHeader('content-type', `${type}; charset=utf-8`).end(body)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { url, close: () => server.close() }
}
