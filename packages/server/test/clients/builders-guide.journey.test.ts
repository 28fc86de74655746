/**
 * The blocks of docs/guides/builders.md, apps-in-detail.md, strict-clients.md, and those of protect-an-api.md for an API that calls another one: the
 * commands pasted one after another, and the code with the clients that the commands register.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as openid from 'openid-client'
import { expect } from 'vitest'
import { test as base, FILE, started } from '../support/fixtures.ts'
import { blocksOf } from '../support/page-blocks.ts'
import { Development, TEST_ACCOUNT } from './pasted-page.ts'
import { writeRecipe } from './recipe.ts'

const OF_THE_API = ['--name "My MCP server"', 'token-exchange', 'replays:']
const BLOCKS = [
  ...['builders', 'apps-in-detail', 'strict-clients'].flatMap((page) => blocksOf(`guides/${page}.md`)),
  ...blocksOf('guides/protect-an-api.md').filter(({ text }) => OF_THE_API.some((part) => text.includes(part))),
]
const COMMANDS = BLOCKS.filter(({ language }) => language === 'sh').map(({ text }) => text)
const APP = 'https://app.example.net/callback'
const API = 'https://api.example.com/'

/** What the blocks of commands print, in the order of the pages. Each block is found by a part of its text. */
const PRINTED: [part: string, printed: RegExp][] = [
  ['--name "My app"', /scopes +enhancement profile\n/],
  ['oauth-authorization-server', /^\{"issuer":"http:\/\/localhost:\d+"/],
  ['BROWSER=', /^\{"access_token":.*"scope":"enhancement"/],
  ['authorize scope=enhancement;', /^https:\/\/app\.example\.net\/callback\?code=/],
  ['enhancement+profile&prompt=consent', /^\{"access_token":.*"scope":"profile"/],
  ['(authorize "scope=enhancement+profile")', /^\{"access_token":.*"scope":"enhancement profile"/],
  ['clients update', /scopes +enhancement profile history\n/],
  ['grant_type=refresh_token', /^\{"access_token":.*"scope":"enhancement profile"/],
  ['/oauth/revoke', /^200\n\{"active":false\}\nGRANT_ID[^]*enhancement profile/],
  ['scope=history&prompt=none', /error=consent_required/],
  ['--name "My portal"', /scopes +openid wallet\n[^]*\{"issuer":/],
  ['--name "My phone app"', /type +native\n/],
  ['prompt=login', /^\{"status":"success","redirect_to":/],
  ['generateKeyPairSync', /public keys +2026-01\n/],
  ['/oauth/par', /^urn:ietf:params:oauth:request_uri:\S+\nhttps:\/\/app\.example\.net\/callback\?code=/],
  ['--profile fapi2 --jwks jwks.json\n', /profile +fapi2\n/],
  ['--response-mode query.jwt', /response modes +query\.jwt\n/],
  ['--name "My MCP server"', /^\{"client_id":/],
]

type Registered = { clientId: string; clientSecret: string }
type Guide = { development: Development; printed: string[]; registered(part: string): Registered }

async function pasteCommands(): Promise<Guide> {
  const development = await Development.start()
  const printed: string[] = []
  for (const command of COMMANDS) {
    printed.push(await development.paste(command))
    if (command.includes('clients update')) await development.noticeChanges()
  }
  await development.noticeChanges()
  const registered = (part: string) => clientIn(printed[COMMANDS.findIndex((text) => text.includes(part))] ?? '')
  return { development, printed, registered }
}

const test = base.extend(
  'guide',
  FILE,
  started(pasteCommands, ({ development }) => development.stop()),
)

/** The client in the output of `clients create`, with `--json` or without it. */
function clientIn(output: string): Registered {
  const valueOf = (name: string) => new RegExp(`\\b${name}(?:":"| +)([^\\s"]+)`).exec(output)?.[1] ?? ''
  return { clientId: valueOf('client_id'), clientSecret: valueOf('client_secret') }
}

test('Each command of the pages for builders works when the commands are pasted one after another', ({ guide }) => {
  expect(COMMANDS).toHaveLength(PRINTED.length)
  for (const [index, [part, printed]] of PRINTED.entries()) {
    expect(COMMANDS[index]).toContain(part)
    expect(guide.printed[index]).toMatch(printed)
  }
})

type Values = Record<string, unknown>

/** The exports of openid-client as the page's code needs them on this machine: the issuer of the page is the development service. */
function libraryFor({ development }: Guide) {
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it as deprecated only so that it is noticed; this is loopback
  const execute = [openid.allowInsecureRequests]
  const discovery: typeof openid.discovery = (_issuer, clientId, metadata, authentication, options) =>
    openid.discovery(new URL(development.issuer), clientId, metadata, authentication, { ...options, execute })
  return { ...openid, discovery }
}

const used = new Set<string>()
let written = 0

/**
 * Runs the block of code that contains `part`, with these values in scope, and returns the values that the block declares. If the block
 * uses `cameBack`, a wallet signs in at `to` before that line.
 */
async function runBlock(part: string, guide: Guide, given: Values): Promise<Values> {
  const [block, ...more] = BLOCKS.filter(({ language, text }) => language !== 'sh' && text.includes(part))
  if (!block || more.length > 0) throw new Error(`${more.length + 1} blocks contain ${part}`)
  used.add(block.text)
  const imports = block.text.match(/^import .*$/gm) ?? []
  const body = block.text
    .replaceAll(/^import .*$/gm, '')
    .replace(/^(?!\/\/)(?=.*\bcameBack\b)/m, 'const cameBack = await signIn(to)\n')
    .replaceAll('https://auth.example.com', guide.development.issuer)
  const declared = [...body.matchAll(/^const (?:\{([^}]*)\}|(\w+))/gm)].flatMap(([, names, name]) =>
    (names ?? name ?? '').split(',').map((each) => each.split(':').at(-1)?.trim() ?? ''),
  )
  const signIn = (to: URL) => guide.development.signIn(to)
  const scope: Values = { client: libraryFor(guide), signIn, ...given }
  const module = `${imports.join('\n')}
export default async ({ ${Object.keys(scope)
    .filter((name) => !declared.includes(name))
    .join(', ')} }) => {
${body}
return { ${declared.join(', ')} }
}`
  const path = writeRecipe(`builders.${written++}.mjs`, module)
  // oxlint-disable-next-line import/no-dynamic-require -- the test has just written this module from a block of the page
  const { default: run } = (await import(pathToFileURL(path).href)) as { default(values: Values): Promise<Values> }
  return run(scope)
}

/** The PKCS #8 bytes of the key that the page's command writes. */
function keyIn({ development }: Guide): Buffer {
  const pem = readFileSync(join(development.folder, 'client-key.pem'), 'utf8')
  return Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64')
}

/** Parameters of an authorization request, and the checks of its response. */
async function newRequest(redirectUri: string) {
  const [codeVerifier, state] = [openid.randomPKCECodeVerifier(), openid.randomState()]
  const code_challenge = await openid.calculatePKCECodeChallenge(codeVerifier)
  const parameters = { response_type: 'code', redirect_uri: redirectUri, scope: 'enhancement', state }
  return {
    parameters: { ...parameters, code_challenge, code_challenge_method: 'S256' },
    checks: { expectedState: state, pkceCodeVerifier: codeVerifier },
    state,
    codeVerifier,
  }
}

/** A wallet's token for a resource, of an app that is registered for it. */
async function tokenFor({ development }: Guide, resource: string): Promise<string> {
  const command = `npx grantor clients create --data ./data --name "Caller" --redirect-uri ${APP} --resource ${resource} --json`
  const { clientId, clientSecret } = clientIn(await development.paste(command))
  await development.noticeChanges()
  const { discovery } = libraryFor({ development } as Guide)
  const config = await discovery(new URL(API), clientId, {}, openid.ClientSecretBasic(clientSecret), { algorithm: 'oauth2' })
  const { parameters, checks } = await newRequest(APP)
  const to = openid.buildAuthorizationUrl(config, { ...parameters, resource })
  return (await openid.authorizationCodeGrant(config, await development.signIn(to), checks)).access_token
}

test('The code for a sign-in, for a pushed request, and for DPoP works with the client that the page registers', async ({
  guide,
}) => {
  const given = { ...guide.registered('--name "My app"'), redirectUri: APP }
  const { clientId } = given
  expect(clientId).not.toBe('')
  const app = { clientId, clientSecret: await guide.development.variable('CLIENT_SECRET'), redirectUri: APP }
  const { config, tokens } = await runBlock("algorithm: 'oauth2'", guide, app)
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'enhancement' })

  const url = new URL(`http://localhost:${guide.development.port + 3}/me`)
  const bound = await runBlock('randomDPoPKeyPair', guide, { config, url, ...(await newRequest(APP)) })
  expect(bound.again).toMatchObject({ token_type: 'dpop', scope: 'enhancement' })
  expect(await (bound.answer as Response).json()).toMatchObject({ wallet: TEST_ACCOUNT })
})

test('The code for OpenID Connect returns the wallet as `sub`, and the chain', async ({ guide }) => {
  const portal = guide.registered('--name "My portal"')
  const request = await newRequest('')
  const given = { ...portal, ...request, redirectUri: 'https://portal.example.net/callback' }
  expect(await runBlock('randomNonce', guide, given)).toMatchObject({ sub: TEST_ACCOUNT, chain_id: 1 })
})

test('The code for a key of the client, and for tokens of the client itself, works', async ({ guide }) => {
  const backEnd = guide.registered('generateKeyPairSync')
  const { key, config } = await runBlock('importKey', guide, { ...backEnd, pkcs8: keyIn(guide) })
  const { access_token } = await runBlock('clientCredentialsGrant', guide, { config })
  expect(access_token).toMatch(/^ey/)

  const create = `npx grantor clients create --data ./data --name "With a key" --redirect-uri ${APP} --token-endpoint-auth-method private_key_jwt --jwks jwks.json --json`
  const { clientId } = clientIn(await guide.development.paste(create))
  await guide.development.noticeChanges()
  const own = await runBlock('importKey', guide, { clientId, pkcs8: keyIn(guide) })
  const { parameters, checks } = await newRequest(APP)
  const { both } = await runBlock('const both =', guide, { key, config: own.config, parameters })
  const tokens = await openid.authorizationCodeGrant(
    own.config as openid.Configuration,
    await guide.development.signIn(both as URL),
    checks,
  )
  expect(tokens.scope).toBe('enhancement')
})

test('The code for FAPI 2.0 Message Signing works with the client that the page registers', async ({ guide }) => {
  const bank = guide.registered('--response-mode query.jwt')
  const { key, config } = await runBlock('importKey', guide, { ...bank, pkcs8: keyIn(guide) })
  const DPoP = openid.getDPoPHandle(config as openid.Configuration, await openid.randomDPoPKeyPair('ES256'))
  const request = await newRequest('https://bank.example/cb')
  const { tokens } = await runBlock('useJwtResponseMode', guide, { ...request, key, config, DPoP })
  expect(tokens).toMatchObject({ token_type: 'dpop', scope: 'enhancement' })
})

test('The code for an API that accepts DPoP refuses a call with a bound token and without a proof', async ({ guide }) => {
  const token = await tokenFor(guide, API)
  const { createTokenCheck } = await import('@grantor/resource')
  const given = { createTokenCheck, redis: {}, firstIn: async () => true }
  const { check } = await runBlock('replays:', guide, given)
  const unproved = { method: 'GET', url: '/', headers: { authorization: `DPoP ${token}` } }
  await expect((check as ReturnType<typeof createTokenCheck>)(unproved as never)).rejects.toMatchObject({ status: 401 })
})

test('The code for a call of another API exchanges the token of the call', async ({ guide }) => {
  const tokenOfTheCall = await tokenFor(guide, 'https://mcp.example.com/mcp')
  const { clientId, clientSecret } = guide.registered('--name "My MCP server"')
  const { discovery } = libraryFor(guide)
  const config = await discovery(new URL(API), clientId, {}, openid.ClientSecretBasic(clientSecret))
  const { access_token } = await runBlock('token-exchange', guide, { config, tokenOfTheCall })
  const [, claims = ''] = String(access_token).split('.')
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    sub: TEST_ACCOUNT,
    aud: API,
    client_id: clientId,
  })
})

test('No block of code of these pages is missing in the tests of this file', () => {
  expect(BLOCKS.filter(({ language, text }) => language !== 'sh' && !used.has(text))).toEqual([])
})
